/* Loads libraries of the system only when they are needed, and finds what others have loaded. */
#include <dlfcn.h>

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

void *os_symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }
