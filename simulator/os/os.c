/* The one door to the operating system. Rule: a failure of the simulation's own bookkeeping ends
 * the process with a sentence; a failure of what the program asked for is returned to it. */
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define KNOWN_TO_SANITIZER(start, bytes) __lsan_register_root_region(start, bytes)
#else
#define KNOWN_TO_SANITIZER(start, bytes) ((void)0)
#endif

const char *os_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *os_environment_entry(size_t at) { return environ ? environ[at] : NULL; }

/* ---- messages ---- */

static bool write_all(int descriptor, const char *text, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = write(descriptor, text + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char line[4608];
    int used = snprintf(line, sizeof line - 1, "%s", prefix);
    int more = vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    write_all(STDERR_FILENO, line, length);
}

void diag(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("simulated device: ", format, arguments);
    va_end(arguments);
}

void diag_report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

void os_fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("simulated device: ", format, arguments);
    va_end(arguments);
    fflush(NULL);
    _exit(1);
}

void os_exit(int status)
{
    fflush(NULL);
    _exit(status);
}

/* ---- memory ---- */

/* Where a range of addresses begins: at an odd multiple of this. Measured: so does a process's
 * first pool; a larger alignment would be luck. */
#define RANGE_ALIGNMENT (32 * MiB)

static char *reserve(size_t bytes)
{
    char *all = mmap(NULL, bytes + 2 * RANGE_ALIGNMENT, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    char *base = (char *)(round_up((uintptr_t)all, RANGE_ALIGNMENT) | RANGE_ALIGNMENT);
    if (base > all)
        munmap(all, (size_t)(base - all));
    if (all + 2 * RANGE_ALIGNMENT > base)
        munmap(base + bytes, (size_t)(all + 2 * RANGE_ALIGNMENT - base));
    return base;
}

char *os_reserve(size_t bytes)
{
    char *base = reserve(2 * bytes);
    if (!base)
        return NULL;
    if (mmap(base + bytes, bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        == MAP_FAILED) {
        munmap(base, 2 * bytes);
        return NULL;
    }
    madvise(base, 2 * bytes, MADV_DONTDUMP);
    return base;
}

void os_unreserve(char *base, size_t bytes) { munmap(base, 2 * bytes); }

/* A second view, at `at` or (NULL) anywhere, of the shared and untouched mapping at `first`; NULL
 * when there is none. Old size 0 of a shared mapping is Linux's word for it. valgrind refuses that;
 * so there both become views of a file. */
static char *map_second_view(char *first, size_t bytes, char *at)
{
    char *second = mremap(first, 0, bytes, at ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE, at);
    if (second != MAP_FAILED)
        return second;
    int file = memfd_create("second view", MFD_CLOEXEC), fixed = at ? MAP_FIXED : 0;
    if (file >= 0 && !ftruncate(file, (off_t)bytes)
        && mmap(first, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_NORESERVE, file,
                0)
               != MAP_FAILED)
        second =
            mmap(at, bytes, PROT_READ | PROT_WRITE, fixed | MAP_SHARED | MAP_NORESERVE, file, 0);
    if (file >= 0)
        close(file);
    return second != MAP_FAILED ? second : NULL;
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
        munmap(base, 2 * bytes);
        return NULL;
    }
    madvise(base, 2 * bytes, MADV_DONTDUMP);
    return base;
}

void os_protect(char *address, size_t bytes, enum os_protection protection)
{
    mprotect(address, bytes,
             protection == OS_PROT_READ_WRITE ? PROT_READ | PROT_WRITE
             : protection == OS_PROT_READ     ? PROT_READ
                                              : PROT_NONE);
}

void os_hint_hugepages(char *address, size_t bytes)
{
    uintptr_t page = 2 * MiB, from = round_up((uintptr_t)address, page),
              to = ((uintptr_t)address + bytes) / page * page;
    if (from < to)
        madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void os_discard_host_visible(char *address, size_t bytes) { madvise(address, bytes, MADV_REMOVE); }
void os_discard(char *address, size_t bytes) { madvise(address, bytes, MADV_DONTNEED); }

void *os_allocate(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        os_fatal("this machine has no memory left for %zu bytes of the simulation's own records.",
                 bytes);
    return p;
}

void *os_grow(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (!p)
        os_fatal("this machine has no memory left for %zu bytes of the simulation's own records.",
                 bytes);
    return p;
}

void os_free(void *p) { free(p); }

void *os_allocate_slab(size_t bytes)
{
    size_t page = 2 * MiB, extra = bytes < page ? 0 : page;
    char *all =
        mmap(NULL, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        os_fatal("this machine has no memory left for %zu bytes of the simulation's own records.",
                 bytes);
    if (!extra) {
        KNOWN_TO_SANITIZER(all, bytes); /* else what only a slab points to counts as lost */
        return all;
    }
    char *slab = (char *)round_up((uintptr_t)all, page);
    if (slab > all)
        munmap(all, (size_t)(slab - all));
    if (all + extra > slab)
        munmap(slab + bytes, (size_t)(all + extra - slab));
    madvise(slab, bytes, MADV_HUGEPAGE);
    KNOWN_TO_SANITIZER(slab, bytes);
    return slab;
}

void os_free_slab(void *slab, size_t bytes) { munmap(slab, bytes); }

void *os_allocate_sparse(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *os_allocate_pages(size_t bytes, char **storage)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    *storage = map_second_view(p, bytes, NULL);
    if (*storage)
        return p;
    munmap(p, bytes);
    return NULL;
}

void os_free_pages(void *p, char *storage, size_t bytes)
{
    munmap(p, bytes);
    munmap(storage, bytes);
}

/* ---- forks ---- */

static void (*child_handler)(void);
/* A signal handler of the program forks in the midst of a call. */
static bool had_lock;

static void before_fork(void)
{
    bool has = lock_is_held();
    if (!has)
        lock_acquire();
    had_lock = has;
}

static void after_fork(void)
{
    if (!had_lock)
        lock_release();
}

static void after_fork_in_child(void)
{
    child_handler();
    after_fork();
}

void os_after_fork(void (*handler)(void))
{
    child_handler = handler;
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ---- files ---- */

/* Our own buffer, not stdio's: a forked child must not write its parent's lines again. */
struct os_file {
    int descriptor;
    pid_t owner;
    bool lost;
    size_t used;
    char buffer[1 << 18];
};
static char open_error[128];

/* A lock of this process alone: a child of fork does not hold it, and it ends with the process. */
static bool is_taken(int descriptor)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(descriptor, F_SETLK, &all) && (errno == EAGAIN || errno == EACCES);
}

/* Writes the path with the pid in the place of "%p", or behind it. */
static void with_pid(char *to, size_t size, const char *path, bool behind)
{
    const char *pid_token = behind ? NULL : strstr(path, "%p");
    if (pid_token)
        snprintf(to, size, "%.*s%d%s", (int)(pid_token - path), path, (int)getpid(), pid_token + 2);
    else if (behind)
        snprintf(to, size, "%s.%d", path, (int)getpid());
    else
        snprintf(to, size, "%s", path);
}

/* The table of descriptors grows to hold ours while there is one thread: with more of them Linux
 * makes the one that needs it wait, about 10 ms. */
__attribute__((constructor)) static void make_room(void)
{
    int low = open("/", O_PATH | O_CLOEXEC),
        high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, OS_FIRST_FD);
    if (low >= 0)
        close(low);
    if (high >= 0)
        close(high);
}

/* Under a number above those that programs count on: a program that closes a descriptor and uses it
 * is told the same with and without a journal. */
static int open_high(const char *name)
{
    int low = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, OS_FIRST_FD);
    if (high < 0)
        return low;
    close(low); /* before the lock, which would go with it */
    return high;
}

os_file *os_open(const char *path)
{
    char name[4096];
    with_pid(name, sizeof name, path, false);
    int descriptor = open_high(name);
    if (descriptor >= 0 && is_taken(descriptor)) {
        close(descriptor);
        with_pid(name, sizeof name, path, true);
        descriptor = open_high(name);
    }
    /* EINVAL: a pipe or a terminal. */
    if (descriptor >= 0 && ftruncate(descriptor, 0) && errno != EINVAL) {
        close(descriptor);
        descriptor = -1;
    }
    if (descriptor < 0) {
        snprintf(open_error, sizeof open_error, "%s", strerror(errno));
        return NULL;
    }
    os_file *file = os_allocate(sizeof *file);
    file->descriptor = descriptor;
    file->owner = getpid();
    return file;
}

const char *os_open_error(void) { return open_error; }

static void flush(os_file *file)
{
    bool ours = getpid() == file->owner && !file->lost;
    if (ours && !write_all(file->descriptor, file->buffer, file->used)) {
        file->lost = true;
        diag("the journal (SIM_JOURNAL) is not whole: its file can take no more (%s).",
             strerror(errno));
    }
    file->used = 0;
}

void os_write(os_file *file, const char *text, size_t bytes)
{
    if (file->used + bytes > sizeof file->buffer)
        flush(file);
    memcpy(file->buffer + file->used, text, bytes);
    file->used += bytes;
}

void os_close(os_file *file)
{
    flush(file);
    close(file->descriptor);
    os_free(file);
}
