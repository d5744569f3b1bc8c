/* Memory: the address ranges of devices, and the simulation's own records. If memory for the
 * records fails, the process ends with a message; if memory for the program fails, the program gets
 * an error. */
#define _GNU_SOURCE
#include "os/os.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "os/needs_lock.h"
#include "os/proc.h"

/* ---- ranges of addresses ---- */

/* A range begins at an odd multiple of this, as does a process's first pool (measured: one-gpu.txt,
 * "growth and used rounding"). So no program gets a larger alignment by luck. */
#define RANGE_ALIGNMENT (32 * MiB)
/* Ranges take whole multiples of this, so that each part of one begins where a range may begin. */
#define RANGE_UNIT (2 * RANGE_ALIGNMENT)

struct span {
    char *from, *to;
};

/* Needs the lock. The ranges that were given back. Nothing can touch their addresses until a new
 * range reuses them. Invariant: they ascend, and no two overlap or touch. */
static struct {
    struct span *free;
    size_t count, capacity;
    /* The base of the newest range with addresses that no range had before, or NULL. */
    char *newest;
} ranges;

/* Returns the number of free spans that begin at or below the address. */
static size_t count_up_to(const char *address)
{
    size_t low = 0, high = ranges.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges.free[middle].from <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remove_span(size_t at)
{
    ranges.count--;
    memmove(ranges.free + at, ranges.free + at + 1, (ranges.count - at) * sizeof *ranges.free);
}

static void add_span(struct span span)
{
    size_t at = count_up_to(span.from);
    if (at < ranges.count && ranges.free[at].from == span.to) {
        span.to = ranges.free[at].to;
        remove_span(at);
    }
    if (at && ranges.free[at - 1].to == span.from) {
        ranges.free[at - 1].to = span.to;
        return;
    }
    OS_MAKE_ROOM(ranges.free, ranges.count, ranges.capacity)
    memmove(ranges.free + at + 1, ranges.free + at, (ranges.count++ - at) * sizeof *ranges.free);
    ranges.free[at] = span;
}

/* Returns a part of the first free span that is large enough, or NULL. */
static char *take_span(size_t bytes)
{
    for (size_t i = 0; i < ranges.count; i++) {
        struct span *span = &ranges.free[i];
        char *base = span->from;
        if ((size_t)(span->to - base) < bytes)
            continue;
        span->from += bytes;
        if (span->from == span->to)
            remove_span(i);
        return base;
    }
    return NULL;
}

/* Maps memory that nothing can touch, at `at` or, if NULL, anywhere. */
static char *map_closed(char *at, size_t bytes, int fixed)
{
    char *all =
        mmap(at, bytes, PROT_NONE, fixed | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return all == MAP_FAILED ? NULL : all;
}

/* Returns a new range, directly below the newest one if possible, so that neighbors that are given
 * back become one span. */
static char *reserve_new(size_t bytes)
{
    char *wanted = ranges.newest ? ranges.newest - bytes : NULL;
    char *base = wanted ? map_closed(wanted, bytes, 0) : NULL;
    if (base && base == wanted)
        return ranges.newest = base;
    if (base)
        munmap(base, bytes);
    char *all = map_closed(NULL, bytes + RANGE_UNIT, 0);
    if (!all)
        return NULL;
    base = (char *)(round_up((uintptr_t)all, RANGE_ALIGNMENT) | RANGE_ALIGNMENT);
    if (base > all)
        munmap(all, (size_t)(base - all));
    if (all + RANGE_UNIT > base)
        munmap(base + bytes, (size_t)(all + RANGE_UNIT - base));
    return ranges.newest = base;
}

static char *reserve(size_t bytes)
{
    char *base = take_span(round_up(bytes, RANGE_UNIT));
    return base ? base : reserve_new(round_up(bytes, RANGE_UNIT));
}

/* Closes a range, even if a part was never mapped, and keeps its addresses. */
static void give_back(char *base, size_t bytes)
{
    size_t whole = round_up(bytes, RANGE_UNIT);
    if (map_closed(base, whole, MAP_FIXED))
        add_span((struct span){base, base + whole});
}

/* Runs before everything else in the library. */
__attribute__((constructor(101))) static void ask_page_size(void)
{
    long bytes = sysconf(_SC_PAGESIZE);
    if (bytes > 0)
        os_page_bytes = (size_t)bytes;
}

bool os_has_memory(const void *address, size_t bytes)
{
    NEEDS_LOCK();
    unsigned char there[1024];
    const size_t most = sizeof there * PAGE;
    uintptr_t from = page_down((uintptr_t)address), to = (uintptr_t)address + bytes;
    size_t spans = count_up_to((const char *)to - 1);
    if (spans && ranges.free[spans - 1].to > (const char *)address)
        return false;
    for (; from < to; from += most)
        if (mincore((void *)from, to - from < most ? to - from : most, there))
            return false;
    return true;
}

/* Returns whether the page was touched. mincore does not report a page in swap, so where there is
 * swap, a page that does not read as zeros counts as touched, too. */
static bool is_touched(const char *page, unsigned char there)
{
    static int swaps = -1;
    struct sysinfo info;
    if (swaps < 0)
        swaps = sysinfo(&info) || info.totalswap;
    return there & 1 || (swaps && (*page || memcmp(page, page + 1, PAGE - 1) != 0));
}

bool os_find_touched(const char *storage, size_t from, size_t to, size_t *first, size_t *end)
{
    NEEDS_LOCK();
    unsigned char there[1024];
    const size_t most = sizeof there * PAGE;
    bool found = false;
    for (size_t at = from; at < to; at += most) {
        const size_t bytes = to - at < most ? to - at : most;
        if (mincore((void *)(uintptr_t)(storage + at), bytes, there))
            memset(there, 1, sizeof there);
        for (size_t n = 0; n * PAGE < bytes; n++) {
            const bool touched = is_touched(storage + at + n * PAGE, there[n]);
            if (touched == found)
                continue;
            *(found ? end : first) = at + n * PAGE;
            if (found)
                return true;
            found = true;
        }
    }
    *end = to;
    return found;
}

uint64_t os_page_faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

char *os_reserve(size_t bytes)
{
    NEEDS_LOCK();
    char *base = reserve(2 * bytes);
    if (!base)
        return NULL;
    if (mmap(base + bytes, bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        == MAP_FAILED) {
        give_back(base, 2 * bytes);
        return NULL;
    }
    madvise(base, 2 * bytes, MADV_DONTDUMP);
    return base;
}

/* The storage comes directly after the addresses. */
char *os_storage(char *base, size_t bytes) { return base + bytes; }

void os_commit(char *storage, size_t bytes)
{
    (void)storage;
    (void)bytes;
}

void os_unreserve(char *base, size_t bytes) { give_back(base, 2 * bytes); }

/* Maps the file from its start. Returns NULL on failure. */
static char *map_file(char *at, size_t bytes, int fixed, int file)
{
    char *view =
        mmap(at, bytes, PROT_READ | PROT_WRITE, fixed | MAP_SHARED | MAP_NORESERVE, file, 0);
    return view == MAP_FAILED ? NULL : view;
}

/* Maps a second view of the shared, untouched mapping at `first`, at `at` or, if NULL, anywhere.
 * Returns NULL on failure. On Linux, mremap with old size 0 makes such a view. valgrind refuses
 * that, so there both become views of a file. */
static char *map_second_view(char *first, size_t bytes, char *at)
{
    char *second = mremap(first, 0, bytes, at ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE, at);
    if (second != MAP_FAILED)
        return second;
    int file = memfd_create("second view", MFD_CLOEXEC);
    if (file < 0)
        return NULL;
    if (!ftruncate(file, (off_t)bytes) && map_file(first, bytes, MAP_FIXED, file))
        second = map_file(at, bytes, at ? MAP_FIXED : 0, file);
    else
        second = NULL;
    close(file);
    return second;
}

char *os_reserve_host_visible(size_t bytes)
{
    char *base = reserve(2 * bytes);
    if (!base)
        return NULL;
    if (mmap(base + bytes, bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
            == MAP_FAILED
        || !map_second_view(base + bytes, bytes, base) || mprotect(base, bytes, PROT_NONE)) {
        give_back(base, 2 * bytes);
        return NULL;
    }
    madvise(base, 2 * bytes, MADV_DONTDUMP);
    return base;
}

bool os_protect(char *address, size_t bytes, enum os_protection protection)
{
    static const int flags[] = {[OS_PROT_NONE] = PROT_NONE,
                                [OS_PROT_READ] = PROT_READ,
                                [OS_PROT_READ_WRITE] = PROT_READ | PROT_WRITE};
    return !mprotect(address, bytes, flags[protection]);
}

bool os_has_mappings_left(void)
{
    static char text[1 << 16];
    bool is_known = proc_read("/proc/sys/vm/max_map_count", text, sizeof text);
    size_t allowed = is_known ? strtoul(text, NULL, 10) : 65530, used = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return true;
    for (ssize_t length; (length = read(file, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < length; i++)
            used += text[i] == '\n';
    close(file);
    return used < allowed / 4 * 3;
}

void os_hint_hugepages(char *address, size_t bytes)
{
    uintptr_t page = OS_LARGE_PAGE, from = round_up((uintptr_t)address, page),
              to = ((uintptr_t)address + bytes) / page * page;
    if (from < to)
        madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void os_discard_host_visible(char *address, size_t bytes) { madvise(address, bytes, MADV_REMOVE); }
void os_discard(char *address, size_t bytes) { madvise(address, bytes, MADV_DONTNEED); }

/* ---- records of the simulation ---- */

static void die_without_memory(size_t bytes)
{
    os_fatal("this machine has no memory left for %zu bytes of the simulation's own records.",
             bytes);
}

void *os_allocate(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        die_without_memory(bytes);
    return p;
}

void *os_allocate_table(size_t bytes)
{
    if (bytes < OS_LARGE_PAGE)
        return os_allocate(bytes);
    size_t whole = round_up(bytes, OS_LARGE_PAGE);
    char *p = aligned_alloc(OS_LARGE_PAGE, whole);
    if (!p)
        die_without_memory(bytes);
    os_hint_hugepages(p, whole);
    return memset(p, 0, whole);
}

void *os_grow(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (!p)
        die_without_memory(bytes);
    return p;
}

void os_free(void *p) { free(p); }

void *os_allocate_pages(size_t bytes, char **storage)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    *storage = map_second_view(p, bytes, NULL);
    if (*storage && !mprotect(p, bytes, PROT_NONE))
        return p;
    if (*storage)
        munmap(*storage, bytes);
    munmap(p, bytes);
    return NULL;
}
