/* The lock, threads, faults, and other processes in a web page. There is one thread in one process,
 * so the lock is a flag, and a wait for another thread or process never ends. No run in a page is
 * graded. os/web/web_file.c has what processes would share. */
#include "os/os.h"
#include "os/process.h"
#include "os/seal.h"

/* A function that a page lacks ignores its parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* After this many polls, more than for a gate (sched/engine.c), a wait is assumed to be endless. */
#define WAITS_MAX 100000

/* `owner` has the words of lock_set_owner for program code that runs with the lock held. */
static struct {
    bool held;
    const char *owner;
    unsigned waits;
} lock;

/* ---- the lock ---- */

void lock_acquire(void)
{
    if (lock.held)
        os_fatal("%s calls CUDA, which it may not.", lock.owner ? lock.owner : "a CUDA call");
    lock.held = true;
    lock.waits = 0;
}

bool lock_try_acquire(void)
{
    bool is_free = !lock.held;
    lock.held = true;
    return is_free;
}

bool lock_is_held(void) { return lock.held; }
bool lock_is_wanted(void) { return false; }
void lock_set_owner(const char *program_code) { lock.owner = program_code; }
void lock_release(void) { lock.held = false; }
void lock_wake(void) {}

void lock_wait(unsigned microseconds)
{
    if (++lock.waits == WAITS_MAX)
        os_fatal("this program waits for a host function, another thread or another process. A "
                 "page has none of them. Run it outside of the browser.");
}

/* ---- a graded run ---- */

bool seal_is_closed(void) { return false; }

void seal_close(const char *setting, void *memory, size_t bytes, const char *settings)
{
    os_fatal("SIM_SEAL is set: it is for a graded run, and a page has none.");
}

/* ---- threads ---- */

int os_thread_index(void) { return 0; }

/* Starts no thread. The watchdog is not needed: it acts while the program sleeps, and in a page no
 * program can sleep. lock_wait ends a wait for a host function. */
void os_thread_start(void (*body)(void *), void *argument) {}

unsigned os_cores(void) { return 1; }
void os_turn_begin(void) {}
void os_turn_end(void) {}
void os_yield(void) {}

void os_run_together(unsigned count, void (*body)(void *argument, unsigned n), void *argument)
{
    body(argument, 0);
}

void os_at_thread_end(void (*handler)(void)) { (void)handler; }
int os_count_other_threads(void) { return 0; }
bool os_program_threads_ended(void) { return false; }
int os_thread_id(void) { return 1; }

bool os_thread_is_asleep(int id) { return false; }

bool os_thread_in_nanosleep(int id) { return false; }

bool os_new_thread_works(bool (*is_known)(int id), uint64_t cpu_us) { return false; }

uint64_t os_thread_cpu_us(int id) { return 0; }

/* Real time stands still, because no run depends on it. */
uint64_t os_clock_us(void) { return 0; }
struct os_rest os_rest(void) { return (struct os_rest){0, 0}; }
uint64_t os_waits(void) { return 0; }
void os_rest_exclude_begin(void) {}
void os_rest_exclude_end(void) {}

/* ---- faults: no address is closed ---- */

void os_on_bad_address(bool (*handler)(const void *address, void *site, bool in_program)) {}
void os_on_time_over(void (*stopped)(void *site, const char *call)) { (void)stopped; }

void os_expect_faults(void) {}

/* ---- other processes: there are none ---- */

void os_after_fork(void (*handler)(void)) { (void)handler; }
uint64_t os_process(void) { return 1; }
bool os_process_alive(uint64_t process) { return process == os_process(); }
bool os_process_stays(uint64_t process) { return os_process_alive(process); }
uint64_t os_random(void) { return 1; }
void os_shm_lock(uint64_t *shared_lock) { *shared_lock = os_process(); }
void os_shm_unlock(uint64_t *shared_lock) { *shared_lock = 0; }

int os_fd_of_process(uint64_t process, int fd) { return -1; }
