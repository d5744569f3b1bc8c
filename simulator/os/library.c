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

/* The folder of the own library, with a slash. It is found before the program can leave the folder
 * in which a relative LD_LIBRARY_PATH begins. */
static char own_folder[PATH_MAX];

__attribute__((constructor(101))) static void find_own_folder(void)
{
    Dl_info own;
    char *slash = NULL;
    if (dladdr(own_folder, &own) && realpath(own.dli_fname, own_folder))
        slash = strrchr(own_folder, '/');
    *(slash ? slash + 1 : own_folder) = 0;
}

void *os_load_neighbor(const char *file, const char *symbol)
{
    NEEDS_LOCK();
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s%s", own_folder, file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, symbol) : NULL;
}

void *os_symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }
