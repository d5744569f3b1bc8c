/* The one door to the operating system. Rule: a failure of the simulation's own bookkeeping ends the process with a sentence; a
 * failure of what the program asked for is returned to it. */
#define _GNU_SOURCE
#include "os/os.h"

#include <dlfcn.h>
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

const char *host_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool host_has_function(const char *name) { return dlsym(RTLD_DEFAULT, name) != NULL; }

/* ---- messages ---- */

static bool write_all(int descriptor, const char *text, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = write(descriptor, text + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static void say(const char *prefix, const char *format, va_list arguments)
{
    char line[4608];
    int used = snprintf(line, sizeof line - 1, "%s", prefix);
    int more = vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    write_all(STDERR_FILENO, line, length);
}

void host_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("simulated device: ", format, arguments);
    va_end(arguments);
}

void host_report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

void host_give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("simulated device: ", format, arguments);
    va_end(arguments);
    fflush(NULL);
    _exit(1);
}

void host_exit(int status)
{
    fflush(NULL);
    _exit(status);
}

/* ---- memory ---- */

/* Addresses from an odd multiple of 32 MiB on. measured: a process's first pool begins at one; a larger alignment would be luck */
static char *reserve(size_t bytes)
{
    char *all = mmap(NULL, bytes + 2 * STEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return NULL;
    char *base = (char *)(round_up((uintptr_t)all, STEP) | STEP);
    if (base > all) munmap(all, (size_t)(base - all));
    if (all + 2 * STEP > base) munmap(base + bytes, (size_t)(all + 2 * STEP - base));
    return base;
}

char *host_reserve(size_t bytes)
{
    char *base = reserve(2 * bytes);
    if (!base) return NULL;
    if (mmap(base + bytes, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
        munmap(base, 2 * bytes);
        return NULL;
    }
    madvise(base, 2 * bytes, MADV_DONTDUMP);
    return base;
}

void host_unreserve(char *base, size_t bytes) { munmap(base, 2 * bytes); }

/* A second view, at `at` or (NULL) anywhere, of the shared and untouched mapping at `first`; NULL when there is none. Old size 0 of a shared mapping is
 * Linux's word for it. valgrind refuses that; so there both become views of a file. */
static char *view_again(char *first, size_t bytes, char *at)
{
    char *second = mremap(first, 0, bytes, at ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE, at);
    if (second != MAP_FAILED) return second;
    int file = memfd_create("second view", MFD_CLOEXEC), fixed = at ? MAP_FIXED : 0;
    if (file >= 0 && !ftruncate(file, (off_t)bytes) && mmap(first, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_NORESERVE, file, 0) != MAP_FAILED)
        second = mmap(at, bytes, PROT_READ | PROT_WRITE, fixed | MAP_SHARED | MAP_NORESERVE, file, 0);
    if (file >= 0) close(file);
    return second != MAP_FAILED ? second : NULL;
}

char *host_reserve_shared(size_t bytes)
{
    char *base = reserve(2 * bytes);
    if (!base) return NULL;
    if (mmap(base + bytes, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED
        || !view_again(base + bytes, bytes, base) || mprotect(base, bytes, PROT_NONE)) {
        munmap(base, 2 * bytes);
        return NULL;
    }
    madvise(base, 2 * bytes, MADV_DONTDUMP);
    return base;
}

void host_share(char *address, size_t bytes, enum host_may may)
{
    mprotect(address, bytes, may == HOST_MAY_WRITE ? PROT_READ | PROT_WRITE : may == HOST_MAY_READ ? PROT_READ : PROT_NONE);
}

void host_written_whole(char *address, size_t bytes)
{
    uintptr_t page = 2 * MiB, from = round_up((uintptr_t)address, page), to = ((uintptr_t)address + bytes) / page * page;
    if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void host_discard_shared(char *address, size_t bytes) { madvise(address, bytes, MADV_REMOVE); }
void host_discard(char *address, size_t bytes) { madvise(address, bytes, MADV_DONTNEED); }

void *host_allocate(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) host_give_up("this machine has no memory left for %zu bytes of the simulation's own records.", bytes);
    return p;
}

void *host_grow(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (!p) host_give_up("this machine has no memory left for %zu bytes of the simulation's own records.", bytes);
    return p;
}

void host_free(void *p) { free(p); }

void *host_slab(size_t bytes)
{
    size_t page = 2 * MiB, extra = bytes < page ? 0 : page;
    char *all = mmap(NULL, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) host_give_up("this machine has no memory left for %zu bytes of the simulation's own records.", bytes);
    if (!extra) {
        KNOWN_TO_SANITIZER(all, bytes);    /* else what only a slab points to counts as lost */
        return all;
    }
    char *slab = (char *)round_up((uintptr_t)all, page);
    if (slab > all) munmap(all, (size_t)(slab - all));
    if (all + extra > slab) munmap(slab + bytes, (size_t)(all + extra - slab));
    madvise(slab, bytes, MADV_HUGEPAGE);
    KNOWN_TO_SANITIZER(slab, bytes);
    return slab;
}

void host_free_slab(void *slab, size_t bytes) { munmap(slab, bytes); }

void *host_sparse(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *host_pages(size_t bytes, char **storage)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    *storage = view_again(p, bytes, NULL);
    if (*storage) return p;
    munmap(p, bytes);
    return NULL;
}

void host_free_pages(void *p, char *storage, size_t bytes)
{
    munmap(p, bytes);
    munmap(storage, bytes);
}

/* ---- forks ---- */

static void (*in_child)(void);
static bool had_lock;                  /* a signal handler of the program forks in the midst of a call */

static void before_fork(void)
{
    bool has = host_has_lock();
    if (!has) host_lock();
    had_lock = has;
}

static void after_fork(void)
{
    if (!had_lock) host_unlock();
}

static void after_fork_in_child(void)
{
    in_child();
    after_fork();
}

void host_after_fork(void (*handler)(void))
{
    in_child = handler;
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ---- files ---- */

/* Our own buffer, not stdio's: a forked child must not write its parent's lines again. */
struct host_file { int descriptor; pid_t owner; bool lost; size_t used; char buffer[1 << 18]; };
static char open_error[128];

/* A lock of this process alone: a child of fork does not hold it, and it ends with the process. */
static bool is_taken(int descriptor)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(descriptor, F_SETLK, &all) && (errno == EAGAIN || errno == EACCES);
}

/* Writes the path with the pid in the place of "%p", or behind it. */
static void with_pid(char *to, size_t size, const char *path, bool behind)
{
    const char *mark = behind ? NULL : strstr(path, "%p");
    if (mark) snprintf(to, size, "%.*s%d%s", (int)(mark - path), path, (int)getpid(), mark + 2);
    else if (behind) snprintf(to, size, "%s.%d", path, (int)getpid());
    else snprintf(to, size, "%s", path);
}

/* The table of descriptors grows to hold ours while there is one thread: with more of them Linux makes the one that needs it wait, about 10 ms. */
__attribute__((constructor)) static void make_room(void)
{
    int low = open("/", O_PATH | O_CLOEXEC), high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, HOST_FIRST_NUMBER);
    if (low >= 0) close(low);
    if (high >= 0) close(high);
}

/* Under a number above those that programs count on: a program that closes a descriptor and uses it is told the same with and without a journal. */
static int open_high(const char *name)
{
    int low = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, HOST_FIRST_NUMBER);
    if (high < 0) return low;
    close(low);                        /* before the lock, which would go with it */
    return high;
}

host_file *host_open(const char *path)
{
    char name[4096];
    with_pid(name, sizeof name, path, false);
    int descriptor = open_high(name);
    if (descriptor >= 0 && is_taken(descriptor)) {
        close(descriptor);
        with_pid(name, sizeof name, path, true);
        descriptor = open_high(name);
    }
    if (descriptor >= 0 && ftruncate(descriptor, 0) && errno != EINVAL) {      /* EINVAL: a pipe or a terminal */
        close(descriptor);
        descriptor = -1;
    }
    if (descriptor < 0) {
        snprintf(open_error, sizeof open_error, "%s", strerror(errno));
        return NULL;
    }
    host_file *file = host_allocate(sizeof *file);
    file->descriptor = descriptor;
    file->owner = getpid();
    return file;
}

const char *host_open_error(void) { return open_error; }

static void flush(host_file *file)
{
    bool ours = getpid() == file->owner && !file->lost;
    if (ours && !write_all(file->descriptor, file->buffer, file->used)) {
        file->lost = true;
        host_say("the journal (SIM_JOURNAL) is not whole: its file can take no more (%s).", strerror(errno));
    }
    file->used = 0;
}

void host_write(host_file *file, const char *text, size_t bytes)
{
    if (file->used + bytes > sizeof file->buffer) flush(file);
    memcpy(file->buffer + file->used, text, bytes);
    file->used += bytes;
}

void host_close(host_file *file)
{
    flush(file);
    close(file->descriptor);
    host_free(file);
}
