/* Other processes, and files in memory. Nothing that another process does or leaves behind may hang
 * or kill this one. */
#define _GNU_SOURCE
#include "os/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/seal.h"

#define NAME "simulated-device"

/* Needs the lock. This process, as last read; pid 0 if never. */
static struct {
    int pid;
    uint64_t identity;
} self;

/* ---- processes ---- */

/* A bit of the flags in /proc (proc(5)): the thread has begun to end and never returns to its
 * program. It is set before the thread gives up its memory, while the thread is a zombie only after
 * that. */
#define EXITING 0x4

struct thread_stat {
    /* The thread will not run its program again. */
    bool is_over;
    /* In its process. */
    int threads;
    unsigned long long started;
};

/* Reads state, flags, number of threads, and starting time: fields 3, 9, 20, and 22. A process has
 * the same as its first thread. The file is the thread's, because qemu-user, which runs programs of
 * another machine, makes up the process's own file, with another starting time than other processes
 * read. */
static bool read_thread(int pid, int thread, struct thread_stat *stat)
{
    char path[64], line[1024], state;
    unsigned flags;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, thread);
    const char *fields = proc_read_stat(path, line, sizeof line);
    if (!fields
        || sscanf(fields,
                  "%c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
                  &state, &flags, &stat->threads, &stat->started)
               != 4)
        return false;
    stat->is_over = state == 'Z' || state == 'X' || flags & EXITING;
    return true;
}

static uint64_t identity(int pid, unsigned long long started)
{
    return (uint64_t)started << 22 | (uint64_t)pid;
}

uint64_t os_process(void)
{
    NEEDS_LOCK();
    struct thread_stat stat = {.started = 0};
    /* After a fork the process is another one. */
    if (self.pid != getpid()) {
        self.pid = getpid();
        read_thread(self.pid, self.pid, &stat);
        self.identity = identity(self.pid, stat.started);
    }
    return self.identity;
}

/* Reads the first thread of a process. Returns false if the process has ended. */
static bool read_process(uint64_t process, struct thread_stat *first)
{
    int pid = os_process_pid(process);
    return read_thread(pid, pid, first) && identity(pid, first->started) == process;
}

/* Calls `found` for each thread of a process except the first, until it returns true. */
static bool any_other_thread(int pid, bool (*found)(int pid, int thread, void *more), void *more)
{
    DIR *tasks = opendir(seal_path("/proc/%d/task", pid));
    bool any = false;
    for (struct dirent *task; tasks && !any && (task = readdir(tasks));)
        any = atoi(task->d_name) > 0 && atoi(task->d_name) != pid
           && found(pid, atoi(task->d_name), more);
    if (tasks)
        closedir(tasks);
    return any;
}

static bool thread_runs(int pid, int thread, void *unused)
{
    struct thread_stat stat;
    (void)unused;
    return read_thread(pid, thread, &stat) && !stat.is_over;
}

bool os_process_alive(uint64_t process)
{
    NEEDS_LOCK();
    struct thread_stat first;
    if (process == os_process())
        return true;
    if (!read_process(process, &first))
        return false;
    /* The first thread may have ended before the others (pthread_exit in main). */
    return !first.is_over
        || (first.threads > 1 && any_other_thread(os_process_pid(process), thread_runs, NULL));
}

bool os_process_stays(uint64_t process)
{
    NEEDS_LOCK();
    struct thread_stat first;
    for (int tries = 0; tries < 1000; tries++) {
        if (!os_process_alive(process) || !read_process(process, &first))
            return false;
        if (!first.is_over)
            return true;
        usleep(1000);
    }
    return true;
}

uint64_t os_random(void)
{
    NEEDS_LOCK();
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value)
        value = os_process() * 0x9E3779B97F4A7C15u + os_clock_us();
    return value;
}

void os_shm_lock(uint64_t *lock)
{
    NEEDS_LOCK();
    uint64_t start = 0;
    for (unsigned tries = 1;; tries++) {
        uint64_t owner = 0;
        if (__atomic_compare_exchange_n(lock, &owner, os_process(), false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return;
        if (tries % 64) {
            sched_yield();
            continue;
        }
        if (!start)
            start = os_clock_us();
        /* Assumed: an owner that takes so long was stopped while it had the lock. */
        bool stopped = os_clock_us() - start > 1000000;
        if ((stopped || !os_process_alive(owner))
            && __atomic_compare_exchange_n(lock, &owner, os_process(), false, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED))
            return;
        usleep(50);
    }
}

void os_shm_unlock(uint64_t *lock)
{
    NEEDS_LOCK();
    uint64_t owner = os_process();
    __atomic_compare_exchange_n(lock, &owner, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* ---- files in memory ---- */

int os_fd_dup_high(int fd)
{
    NEEDS_LOCK();
    int high = fcntl(fd, F_DUPFD_CLOEXEC, OS_FIRST_FD);
    return high >= 0 ? high : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int os_fd_move_high(int low)
{
    NEEDS_LOCK();
    int high = low < 0 ? -1 : os_fd_dup_high(low);
    if (high < 0)
        return low;
    close(low);
    return high;
}

int os_memfd_new(void)
{
    NEEDS_LOCK();
    int file = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* Without this seal, any holder of the descriptor could shorten the file and so take mapped
     * pages away from all processes. */
    if (file >= 0)
        (void)!fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
    return os_fd_move_high(file);
}

size_t os_fd_size(int fd)
{
    NEEDS_LOCK();
    struct stat status;
    return fstat(fd, &status) ? 0 : (size_t)status.st_size;
}

bool os_fd_grow(int fd, size_t bytes)
{
    NEEDS_LOCK();
    struct rlimit limit;
    if (os_fd_size(fd) >= bytes)
        return true;
    /* Check the limit first, because growing beyond it sends SIGXFSZ, which kills. */
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY
        && bytes > limit.rlim_cur) {
        diag("memory that processes share lies in a file in memory, which would need %zu bytes; "
             "this process may write files of at most %llu (ulimit -f). "
             "The call returns as if the device had no memory left.",
             bytes, (unsigned long long)limit.rlim_cur);
        return false;
    }
    if (!ftruncate(fd, (off_t)bytes))
        return true;
    diag("the file in memory behind memory that processes share cannot grow to %zu bytes (%s).",
         bytes, strerror(errno));
    return false;
}

void os_fd_discard(int fd, size_t from, size_t bytes)
{
    NEEDS_LOCK();
    (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)bytes);
}

void *os_fd_map(int fd, size_t bytes)
{
    NEEDS_LOCK();
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

void os_fd_unmap(void *at, size_t bytes)
{
    NEEDS_LOCK();
    munmap(at, bytes);
}

/* Maps the file's bytes after the first `skip` at these addresses. */
static bool map_at(char *at, size_t bytes, int protection, int fd, size_t skip)
{
    if (mmap(at, bytes, protection, MAP_FIXED | MAP_SHARED | MAP_NORESERVE, fd, (off_t)skip)
        == MAP_FAILED)
        return false;
    madvise(at, bytes, MADV_DONTDUMP);
    return true;
}

char *os_reserve_in_file(int fd, size_t skip, size_t bytes)
{
    NEEDS_LOCK();
    char *base = os_reserve(bytes);
    if (!base || map_at(base + bytes, bytes, PROT_READ | PROT_WRITE, fd, skip))
        return base;
    os_unreserve(base, bytes);
    return NULL;
}

char *os_reserve_host_visible_in_file(int fd, size_t skip, size_t bytes)
{
    NEEDS_LOCK();
    char *base = os_reserve_in_file(fd, skip, bytes);
    if (!base || map_at(base, bytes, PROT_NONE, fd, skip))
        return base;
    os_unreserve(base, bytes);
    return NULL;
}

/* Copies what is not zero, so that pages without a value take no room in the file. */
static void copy_pages(char *to, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        if (from[at] || memcmp(from + at, from + at + 1, PAGE - 1) != 0)
            memcpy(to + at, from + at, PAGE);
}

bool os_move_to_file(char *storage, size_t bytes, int fd, size_t skip)
{
    NEEDS_LOCK();
    char *view =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)skip);
    if (view == MAP_FAILED)
        return false;
    copy_pages(view, storage, bytes);
    if (mremap(view, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, storage) == MAP_FAILED) {
        munmap(view, bytes);
        return false;
    }
    madvise(storage, bytes, MADV_DONTDUMP);
    return true;
}

bool os_map_file(char *storage, size_t bytes, int fd)
{
    NEEDS_LOCK();
    return map_at(storage, bytes, PROT_READ | PROT_WRITE, fd, 0);
}

int os_fd_dup(int fd)
{
    NEEDS_LOCK();
    return dup(fd);
}
bool os_fd_is_open(int fd)
{
    NEEDS_LOCK();
    return fcntl(fd, F_GETFD) >= 0;
}
void os_fd_close(int fd)
{
    NEEDS_LOCK();
    close(fd);
}

static bool is_memfd_link(const char *path)
{
    static const char wanted[] = "/memfd:" NAME;
    char target[128];
    ssize_t length = readlink(path, target, sizeof target);
    return length >= (ssize_t)sizeof wanted - 1 && !memcmp(target, wanted, sizeof wanted - 1);
}

bool os_fd_is_memfd(int fd)
{
    NEEDS_LOCK();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return is_memfd_link(path);
}

/* Opens a file in memory by its path. Returns -1 if it is not one. */
static int open_memfd(const char *path)
{
    return is_memfd_link(path) ? os_fd_move_high(open(path, O_RDWR | O_CLOEXEC)) : -1;
}

static bool open_of_thread(int pid, int thread, void *more)
{
    int *fd = more;
    int file = open_memfd(seal_path("/proc/%d/task/%d/fd/%d", pid, thread, *fd));
    if (file >= 0)
        *fd = file;
    return file >= 0;
}

int os_fd_of_process(uint64_t process, int fd)
{
    NEEDS_LOCK();
    int pid = os_process_pid(process);
    if (!os_process_alive(process))
        return -1;
    int file = open_memfd(seal_path("/proc/%d/fd/%d", pid, fd));
    /* If the first thread has ended before the others, only these still show the files. */
    return file >= 0 || !any_other_thread(pid, open_of_thread, &fd) ? file : fd;
}
