/* Threads: the lock, sleeping and waking, threads of our own, and what the program's threads do. */
#define _GNU_SOURCE
#include "os/os.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/needs_lock.h"
#include "os/proc.h"

/* Whether this is the only thread. glibc before 2.32 does not tell. */
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define ALONE __libc_single_threaded
#else
#define ALONE false
#endif

/* ---- the lock ---- */

static struct {
    pthread_mutex_t mutex;
    /* Taken before the mutex when that is not free. So only one thread waits for the mutex, and the
     * others sleep here until that thread has it. */
    pthread_mutex_t turn;
    /* Atomic. The thread that has `turn` has waited long enough and gets the mutex next. */
    bool claimed;
    /* For lock_wait and lock_wake. */
    pthread_cond_t changed;
    /* Names the program's own code that runs with the lock held, or NULL. */
    const char *owner;
} lock = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .turn = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

/* How often the thread that has the turn tries before each sleep, and its sleeps in nanoseconds. */
#define TRIES       10
#define SLEEP_FIRST 50000
#define SLEEP_LAST  200000

/* The calling thread has the lock or is in lock_wait. */
static _Thread_local bool has_lock;
/* The calling thread has the turn or waits for it. */
static _Thread_local bool in_line;
/* Whether the thread could be canceled before it took the lock. */
static _Thread_local int canceling;

/* Tries for about a microsecond, in which ten calls could use the mutex. */
static bool try_for_a_while(void)
{
    for (int i = 0; i < TRIES; i++) {
        if (!pthread_mutex_trylock(&lock.mutex))
            return true;
        for (int j = 0; j < 300; j++)
            __asm__ volatile("");
    }
    return false;
}

/* Waits for the mutex as the thread whose turn it is. It sleeps with ppoll, because nanosleep means
 * that the program sleeps by its own choice (os_thread_in_nanosleep). */
static void wait_in_turn(void)
{
    for (struct timespec time = {0, SLEEP_FIRST}; time.tv_nsec <= SLEEP_LAST; time.tv_nsec *= 2) {
        if (try_for_a_while())
            return;
        ppoll(NULL, 0, &time, NULL);
    }
    __atomic_store_n(&lock.claimed, true, __ATOMIC_RELAXED);
    pthread_mutex_lock(&lock.mutex);
    __atomic_store_n(&lock.claimed, false, __ATOMIC_RELAXED);
}

/* Waits for the mutex. A call holds it for only 0.1 us, so a thread that is woken at its release
 * finds it taken again, and sleeping and waking cost several times as much as the calls. So at
 * first no thread is woken: one looks again after a while, and then after twice as long. If that
 * fails, the thread claims the mutex and waits for at most one more call. A signal handler that
 * interrupts this function has no turn of its own. */
static void wait_in_line(void)
{
    int cancels;
    if (in_line) {
        pthread_mutex_lock(&lock.mutex);
        return;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    in_line = true;
    pthread_mutex_lock(&lock.turn);
    wait_in_turn();
    has_lock = true;
    pthread_mutex_unlock(&lock.turn);
    in_line = false;
    pthread_setcancelstate(cancels, NULL);
}

/* Takes the mutex if it is free and no thread has claimed it. */
static bool try_mutex(void)
{
    return !__atomic_load_n(&lock.claimed, __ATOMIC_RELAXED) && !pthread_mutex_trylock(&lock.mutex);
}

/* While a thread has the lock it cannot be canceled (pthread_cancel), because it would end without
 * releasing the lock. */
void lock_acquire(void)
{
    if (!has_lock) {
        /* With only one thread, glibc's lock is faster and never waits. */
        if (ALONE)
            pthread_mutex_lock(&lock.mutex);
        else if (!try_mutex())
            wait_in_line();
        has_lock = true;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &canceling);
    } else if (pthread_mutex_trylock(&lock.mutex)) {
        if (lock.owner)
            os_fatal("%s calls CUDA, which it may not.", lock.owner);
        os_fatal("a signal handler of the program calls CUDA in the middle of a CUDA call of the "
                 "same thread. A real driver may hang here. "
                 "Let the handler set a flag, and call CUDA where the program looks at it.");
    }
}

/* A call in lock_wait has released the lock, so a signal handler of its thread gets it. */
bool lock_try_acquire(void)
{
    if (has_lock)
        return !pthread_mutex_trylock(&lock.mutex);
    lock_acquire();
    return true;
}

void lock_release(void)
{
    has_lock = false;
    pthread_mutex_unlock(&lock.mutex);
    pthread_setcancelstate(canceling, NULL);
}

void lock_forked(void)
{
    NEEDS_LOCK();
    lock.turn = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    lock.claimed = false;
}

bool lock_is_held(void) { return has_lock; }

bool lock_is_wanted(void)
{
    NEEDS_LOCK();
    if (pthread_mutex_trylock(&lock.turn))
        return true;
    pthread_mutex_unlock(&lock.turn);
    return false;
}
void lock_set_owner(const char *program_code)
{
    NEEDS_LOCK();
    lock.owner = program_code;
}
void lock_wake(void) { pthread_cond_broadcast(&lock.changed); }

void lock_wait(unsigned microseconds)
{
    NEEDS_LOCK();
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(microseconds % 1000000) * 1000;
    until.tv_sec += microseconds / 1000000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&lock.changed, &lock.mutex, &until);
    /* A signal handler may have taken and released the lock in the meantime. */
    has_lock = true;
}

int os_thread_index(void)
{
    static int count;
    static _Thread_local int index = -1;
    if (index < 0)
        index = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return index;
}

/* ---- the end of a thread ---- */

#define MAX_END_HANDLERS 4

/* Needs the lock. The first entries are set, and all of them differ. */
static struct {
    pthread_key_t key;
    /* The process that made the key, or 0 if none has. */
    pid_t process;
    void (*handlers[MAX_END_HANDLERS])(void);
} thread_end;

/* The threads of a forked child run no handlers, because the lock may be held there forever. */
static void thread_ends(void *unused)
{
    (void)unused;
    if (getpid() != thread_end.process)
        return;
    lock_acquire();
    for (int i = 0; i < MAX_END_HANDLERS && thread_end.handlers[i]; i++)
        thread_end.handlers[i]();
    lock_release();
}

void os_at_thread_end(void (*handler)(void))
{
    NEEDS_LOCK();
    int i = 0;
    if (!thread_end.process) {
        thread_end.process = getpid();
        if (pthread_key_create(&thread_end.key, thread_ends))
            os_fatal("this process has no key for its threads left.");
    }
    while (i < MAX_END_HANDLERS && thread_end.handlers[i] && thread_end.handlers[i] != handler)
        i++;
    if (i == MAX_END_HANDLERS)
        os_fatal("thread.c has room for %d functions at the end of a thread.", MAX_END_HANDLERS);
    thread_end.handlers[i] = handler;
    pthread_setspecific(thread_end.key, &thread_end);
}

/* ---- threads of ours ---- */

/* Threads that were started here. They never end. */
struct own_thread {
    struct own_thread *next;
    void (*body)(void *);
    void *argument;
    int id; /* atomic; 0 until the thread has written it */
};

/* Needs the lock. */
static struct own_thread *own_threads;
static int started_threads;

static void *thread_main(void *p)
{
    struct own_thread *own = p;
    __atomic_store_n(&own->id, os_thread_id(), __ATOMIC_RELAXED);
    own->body(own->argument);
    return NULL;
}

static int start_thread(pthread_t *thread, void *(*main)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    /* Unblocked, because a host function of the program may touch what it should not. */
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void os_thread_start(void (*body)(void *), void *argument)
{
    NEEDS_LOCK();
    struct own_thread *own = os_allocate(sizeof *own);
    own->next = own_threads;
    own->body = body;
    own->argument = argument;
    own_threads = own;
    pthread_t thread;
    int error = start_thread(&thread, thread_main, own);
    if (error)
        os_fatal("no thread could be started (%s).", strerror(error));
    pthread_detach(thread);
    started_threads++;
}

/* ---- threads that share the work of one call ---- */

/* Threads of os_run_together. They end with the call, so that a fork, the end of the process, and
 * the count of its threads never meet them. */
struct sharing_thread {
    pthread_t thread;
    unsigned number;
    void (*body)(void *argument, unsigned n);
    void *argument;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

void os_turn_begin(void) { pthread_mutex_lock(&turn); }
void os_turn_end(void) { pthread_mutex_unlock(&turn); }
void os_yield(void) { sched_yield(); }

unsigned os_cores(void)
{
    cpu_set_t set;
    /* On a machine with more than 1,024 processors the call fails, and one is used. */
    const int count = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}

static void *sharing_main(void *p)
{
    const struct sharing_thread *t = p;
    has_lock = true;
    t->body(t->argument, t->number);
    return NULL;
}

void os_run_together(unsigned count, void (*body)(void *argument, unsigned n), void *argument)
{
    NEEDS_LOCK();
    struct sharing_thread *all = os_allocate(count * sizeof *all);
    unsigned started = 1;
    for (; started < count; started++) {
        all[started] = (struct sharing_thread){0, started, body, argument};
        if (start_thread(&all[started].thread, sharing_main, &all[started]))
            break;
    }
    body(argument, 0);
    for (unsigned n = 1; n < started; n++)
        pthread_join(all[n].thread, NULL);
    os_free(all);
}

/* ---- what threads do ---- */

int os_thread_id(void) { return (int)syscall(SYS_gettid); }

/* Reads state and processor time of a thread: fields 3 and 14 + 15. */
static bool thread_stat(int id, char *state, unsigned long *ticks)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    const char *fields = proc_read_stat(path, line, sizeof line);
    unsigned long user = 0, system = 0;
    if (!fields
        || sscanf(fields, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", state, &user,
                  &system)
               != 3)
        return false;
    *ticks = user + system;
    return true;
}

bool os_thread_is_asleep(int id)
{
    char state;
    unsigned long ticks;
    return !thread_stat(id, &state, &ticks) || state == 'S' || state == 'T';
}

bool os_thread_in_nanosleep(int id)
{
    char path[64], line[16];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
    if (!proc_read(path, line, sizeof line))
        return false;
    /* A running thread has the word "running" there. strtol returns 0 for it, which is the number
     * of read, so it matches neither call. */
    long syscall_number = strtol(line, NULL, 10);
    return syscall_number == SYS_clock_nanosleep || syscall_number == SYS_nanosleep;
}

uint64_t os_thread_cpu_us(int id)
{
    char state;
    unsigned long ticks;
    return thread_stat(id, &state, &ticks) ? ticks * 1000000 / (unsigned long)sysconf(_SC_CLK_TCK)
                                           : 0;
}

static bool is_own_thread(int id)
{
    for (struct own_thread *own = own_threads; own; own = own->next)
        if (__atomic_load_n(&own->id, __ATOMIC_RELAXED) == id)
            return true;
    return false;
}

bool os_new_thread_works(bool (*is_known)(int id), uint64_t cpu_us)
{
    NEEDS_LOCK();
    DIR *folder = opendir("/proc/self/task");
    bool works = false;
    if (!folder)
        return false;
    for (struct dirent *entry; !works && (entry = readdir(folder));) {
        int id = (int)strtol(entry->d_name, NULL, 10);
        works = id && !is_own_thread(id) && !is_known(id) && !os_thread_is_asleep(id)
             && os_thread_cpu_us(id) < cpu_us;
    }
    closedir(folder);
    return works;
}

/* The calling thread's rest in excluded periods, and its os_rest when the present one began. */
static _Thread_local struct os_rest excluded_rest, exclude_begin;

uint64_t os_waits(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_nvcsw - excluded_rest.waits;
}

bool os_program_threads_ended(void)
{
    char state;
    unsigned long ticks;
    return thread_stat(getpid(), &state, &ticks) && state == 'Z' && !os_count_other_threads();
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t os_clock_us(void) { return nanoseconds(CLOCK_MONOTONIC) / 1000; }

/* The calling thread's /proc/.../schedstat: 0 if not opened yet, -1 if it cannot be. It stays open
 * because opening takes seven times as long as reading. */
static _Thread_local int schedstat_fd;

static void close_schedstat(void)
{
    if (schedstat_fd > 0)
        close(schedstat_fd);
}

/* How long the thread has waited for a processor, in nanoseconds, and how often it got one. */
struct delays {
    unsigned long long time;
    unsigned long turns;
};

static struct delays read_delays(void)
{
    char line[128];
    struct delays d = {0};
    ssize_t length = pread(schedstat_fd, line, sizeof line - 1, 0);
    line[length > 0 ? length : 0] = 0;
    return sscanf(line, "%*u %llu %lu", &d.time, &d.turns) == 2 ? d : (struct delays){0};
}

/* Reads both clocks within one turn on a processor. If a debugger such as strace stops the thread
 * at each system call, there is no such turn, so this gives up after some tries. */
static uint64_t slept_us(void)
{
    for (int tries = 0;; tries++) {
        struct delays before = read_delays();
        uint64_t time = nanoseconds(CLOCK_MONOTONIC) - nanoseconds(CLOCK_THREAD_CPUTIME_ID);
        if (read_delays().turns == before.turns || tries == 100)
            return (time - before.time) / 1000 - excluded_rest.slept;
    }
}

struct os_rest os_rest(void)
{
    if (!schedstat_fd) {
        int low = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        /* Use a high number, because the program may count on getting the low one. */
        schedstat_fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, OS_FIRST_FD);
        if (low >= 0)
            close(low);
        os_at_thread_end(close_schedstat);
    }
    /* Read slept_us first, because opening and reading its file may wait. */
    uint64_t so_far = slept_us();
    return (struct os_rest){os_waits(), so_far};
}

void os_rest_exclude_begin(void)
{
    exclude_begin = (struct os_rest){os_waits(), schedstat_fd ? slept_us() : 0};
}

void os_rest_exclude_end(void)
{
    excluded_rest.waits += os_waits() - exclude_begin.waits;
    if (schedstat_fd)
        excluded_rest.slept += slept_us() - exclude_begin.slept;
}

int os_count_other_threads(void)
{
    struct stat folder;
    /* It has a link for each thread, and two of its own. If it cannot be read, assume that there is
     * another thread. */
    return stat("/proc/self/task", &folder) ? 1 : (int)folder.st_nlink - 3 - started_threads;
}
