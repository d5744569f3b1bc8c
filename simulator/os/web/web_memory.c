/* Memory in a web page: one linear memory of at most 4 GiB, in which nothing can be protected.
 * Addresses of a device are numbers far above it, and the storage of the lowest bytes of such a
 * range is a window of the linear memory. The page guard closes nothing here, so early touches of
 * the host are not reported. */
#include "os/os.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* A function that a page lacks ignores its parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The storage of a range, and the number of ranges at a time. A program that needs more ends with a
 * message. Together they leave 256 MiB of the linear memory for everything else. */
#define WINDOW_BYTES (960 * MiB)
#define WINDOWS      4

/* Ranges begin at an odd multiple of this, each below the previous one, as on Linux. */
#define RANGE_ALIGNMENT (32 * MiB)
#define RANGES_END      ((uintptr_t)0x7f0000000000)

struct window {
    /* The range that uses it, or NULL if it is free and all zeros. */
    char *base;
    /* Its memory, which is kept for the next range, or NULL if it was never allocated. */
    char *storage;
    size_t bytes;
    /* The end of the bytes that may not be zero. */
    size_t used;
};

static struct {
    struct window windows[WINDOWS];
    uintptr_t lowest;
} ranges = {.lowest = RANGES_END};

static struct window *window_of_base(const char *base)
{
    for (size_t i = 0; i < WINDOWS; i++)
        if (ranges.windows[i].base == base)
            return &ranges.windows[i];
    return NULL;
}

static struct window *window_of_storage(const char *storage)
{
    for (size_t i = 0; i < WINDOWS; i++) {
        struct window *w = &ranges.windows[i];
        if (w->base && storage >= w->storage && storage < w->storage + w->bytes)
            return w;
    }
    return NULL;
}

/* Allocates memory for a window: less if the browser provides less. */
static void take_memory(struct window *w)
{
    for (w->bytes = WINDOW_BYTES; !w->storage && w->bytes > 32 * MiB; w->bytes /= 2)
        w->storage = memalign(PAGE, w->bytes);
    w->bytes *= 2;
}

char *os_reserve(size_t bytes)
{
    struct window *w = window_of_base(NULL);
    if (w && !w->storage)
        take_memory(w);
    if (!w || !w->storage)
        os_fatal("a page keeps the contents of at most %d pools at a time, and this program needs "
                 "more. Run it outside of the browser.",
                 WINDOWS);
    ranges.lowest = (ranges.lowest - bytes) / (2 * RANGE_ALIGNMENT) * (2 * RANGE_ALIGNMENT);
    w->base = (char *)(ranges.lowest + RANGE_ALIGNMENT);
    return w->base;
}

void os_unreserve(char *base, size_t bytes)
{
    struct window *w = window_of_base(base);
    memset(w->storage, 0, w->used);
    w->base = NULL;
    w->used = 0;
}

/* Ends the program, because memory cannot have two views in a page. */
char *os_reserve_host_visible(size_t bytes)
{
    os_fatal("a page has no memory that host and device share: managed memory, and pools of the "
             "host. Run this program outside of the browser.");
}

char *os_storage(char *base, size_t bytes) { return window_of_base(base)->storage; }

void os_commit(char *storage, size_t bytes)
{
    struct window *w = window_of_storage(storage);
    size_t end = w ? (size_t)(storage - w->storage) + bytes : 0;
    if (!w || end > w->bytes)
        os_fatal("a page keeps the contents of at most %zu MiB of each pool, and this program "
                 "needs more. Use smaller sizes, or run it outside of the browser.",
                 ranges.windows[0].bytes / MiB);
    if (end > w->used)
        w->used = end;
}

bool os_find_touched(const char *storage, size_t from, size_t to, size_t *first, size_t *end)
{
    *first = from;
    *end = to;
    return from < to;
}

uint64_t os_page_faults(void) { return 0; }

bool os_protect(char *address, size_t bytes, enum os_protection protection) { return true; }

bool os_has_mappings_left(void) { return true; }

void os_hint_hugepages(char *address, size_t bytes) {}

void os_discard(char *address, size_t bytes)
{
    struct window *w = window_of_storage(address);
    memset(address, 0, bytes);
    if (address + bytes == w->storage + w->used)
        w->used -= bytes;
}

void os_discard_host_visible(char *address, size_t bytes) { memset(address, 0, bytes); }

/* Returns one address for both views. */
void *os_allocate_pages(size_t bytes, char **storage)
{
    *storage = memalign(PAGE, bytes);
    if (*storage)
        memset(*storage, 0, bytes);
    return *storage;
}

bool os_has_memory(const void *address, size_t bytes)
{
    return (uintptr_t)address + bytes <= __builtin_wasm_memory_size(0) * ((size_t)64 * KiB);
}

/* ---- records of the simulation ---- */

static void *not_null(void *p, size_t bytes)
{
    if (!p)
        os_fatal("the page has no memory left for %zu bytes of the simulation's own records.",
                 bytes);
    return p;
}

void *os_allocate(size_t bytes) { return not_null(calloc(1, bytes ? bytes : 1), bytes); }
void *os_grow(void *old, size_t bytes) { return not_null(realloc(old, bytes), bytes); }
void *os_allocate_table(size_t bytes) { return os_allocate(bytes); }
void os_free(void *p) { free(p); }
