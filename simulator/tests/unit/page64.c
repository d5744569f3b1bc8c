/* Imitates a system with pages of 64 KiB, as on some arm64 machines, for a program that is started
 * with this library in LD_PRELOAD: sizes that are no multiple are rejected, as there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES (64ul << 10)

static uintptr_t up(uintptr_t n) { return (n + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1); }

/* The next library's function of that name. */
#define NEXT(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

long sysconf(int name)
{
    static long (*next)(int);
    if (name == _SC_PAGESIZE)
        return PAGE_BYTES;
    if (!next)
        next = NEXT(long (*)(int), "sysconf");
    return next(name);
}

typedef void *map(void *, size_t, int, int, int, off_t);

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    static map *next;
    if (!next)
        next = NEXT(map *, "mmap");
    if (offset % (off_t)PAGE_BYTES
        || (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) && (uintptr_t)at % PAGE_BYTES)) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        return next(at, up(bytes), protection, flags, file, offset);
    char *room = next(NULL, bytes + 2 * PAGE_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return room;
    return next((void *)up((uintptr_t)room), bytes, protection, flags | MAP_FIXED, file, offset);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

int mprotect(void *at, size_t bytes, int protection)
{
    static int (*next)(void *, size_t, int);
    if (!next)
        next = NEXT(int (*)(void *, size_t, int), "mprotect");
    if ((uintptr_t)at % PAGE_BYTES) {
        errno = EINVAL;
        return -1;
    }
    return next(at, up(bytes), protection);
}

/* One byte for each page, as the system does for its smaller pages. */
int mincore(void *at, size_t bytes, unsigned char *there)
{
    static int (*next)(void *, size_t, unsigned char *);
    unsigned char small[PAGE_BYTES / 4096];
    if (!next)
        next = NEXT(int (*)(void *, size_t, unsigned char *), "mincore");
    for (size_t done = 0; done < bytes; done += PAGE_BYTES) {
        size_t piece = bytes - done < PAGE_BYTES ? bytes - done : PAGE_BYTES;
        if (next((char *)at + done, piece, small))
            return -1;
        there[done / PAGE_BYTES] = small[0];
    }
    return 0;
}
