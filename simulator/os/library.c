/* Loads libraries of the system only when they are needed, and finds what others have loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

typedef size_t zstd_decompress(void *to, size_t bytes, const void *from, size_t compressed);

bool os_read_zstd(const void *from, size_t compressed, void *to, size_t bytes)
{
    NEEDS_LOCK();
    static zstd_decompress *decompress;
    if (!decompress) {
        void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "ZSTD_decompress") : NULL;
        if (!symbol)
            return false;
        *(void **)&decompress = symbol;
    }
    return decompress(to, bytes, from, compressed) == bytes;
}

void *os_load_neighbor(const char *file, const char *symbol)
{
    NEEDS_LOCK();
    static const char of_own_library;
    Dl_info own;
    char path[PATH_MAX];
    if (!dladdr(&of_own_library, &own) || !realpath(own.dli_fname, path))
        return NULL;
    char *name = strrchr(path, '/') + 1;
    snprintf(name, (size_t)(path + sizeof path - name), "%s", file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, symbol) : NULL;
}

void *os_symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }
