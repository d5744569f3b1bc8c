/* While the host is idle the device works on (assumed): all work that can end ends, and virtual
 * time advances to that end. This happens in two cases:
 * - A thread makes a call, and since its last call it has slept or waited outside of our calls for
 *   at least SHORT_WAIT.
 * - The watchdog, a thread of ours that polls while there is work, has found the host idle twice
 *   since the last call: each thread that makes calls, or is new and may come to make one, is
 *   asleep or has computed for longer than CPU_LIMIT. The host is not idle while a thread that is
 *   ending, or the program's end, waits for a host function to return.
 * Because everything ends, virtual time does not depend on how long the host was idle. A thread
 * that was only waiting for a processor was not idle. Nor was one during whose absence another
 * caller ended, because it may have been joining a thread that was waiting for a processor.
 *
 * With SIM_IDLE=off only calls that wait or query advance the device, unless the program has queued
 * a host function: it may wait for the function without making a call.
 *
 * The watchdog also ends the process when main has left through pthread_exit and the program's last
 * thread has ended. Otherwise our own threads would keep the process alive. */
#include "sched/host_idle.h"

#include <stdlib.h>

#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/engine.h"
#include "sched/happens_before.h"
#include "sched/host_function.h"

/* In microseconds. The watchdog polls every POLL_INTERVAL while there is work. Without work it
 * sleeps for POLL_INTERVAL_IDLE, or for POLL_INTERVAL_END when the program's threads may all have
 * ended. A thread computes for long after CPU_LIMIT of processor time without a call. A wait below
 * SHORT_WAIT is ignored. */
#define POLL_INTERVAL      10000
#define POLL_INTERVAL_END  100000
#define POLL_INTERVAL_IDLE 10000000
#define CPU_LIMIT          100000
#define SHORT_WAIT         500
/* How long other threads may go first, before one wait and in the whole run, so that a program
 * whose threads compute is not slow. */
#define FIRST_EACH 100000
#define FIRST_ALL  2000000

/* A thread that makes calls. Only the thread itself uses the members after `cpu_time`. */
struct caller {
    struct caller *next;
    int thread;
    bool in_call;
    /* The thread's processor time at the last poll that found a new call. */
    uint64_t cpu_time;
    /* When the thread's last call ended, and host.threads_ended at that moment. */
    uint64_t call_ended_at, threads_ended;
    /* Sleep statistics at the thread's last call, and when they were read. A reading costs 2 us, so
     * it is reused for SHORT_WAIT unless the thread has waited since. */
    struct os_rest rest;
    uint64_t rest_read_at;
    /* The thread was idle between its last call and the present one. */
    bool was_idle;
};

/* Needs the lock. */
static struct {
    struct caller *callers;
    /* The number of calls made, and of callers that have ended. */
    uint64_t calls, threads_ended;
    struct {
        bool started;
        /* The watchdog found no work and sleeps. A call that leaves work must wake it. */
        bool asleep;
        /* The watchdog is ending work. It gives up the lock while a host function runs. */
        bool runs_work;
    } watchdog;
} host;

static _Thread_local struct caller *this_caller;
_Thread_local bool host_idle_left_busy;

/* ---- the watchdog ---- */

static bool is_idle(const struct caller *c)
{
    if (c->in_call)
        return false;
    return os_thread_is_asleep(c->thread) || os_thread_cpu_us(c->thread) > c->cpu_time + CPU_LIMIT;
}

static bool is_caller(int thread)
{
    for (struct caller *c = host.callers; c; c = c->next)
        if (c->thread == thread)
            return true;
    return false;
}

static bool are_all_idle(void)
{
    for (struct caller *c = host.callers; c; c = c->next)
        if (!is_idle(c))
            return false;
    return !os_new_thread_works(is_caller, CPU_LIMIT);
}

static void read_cpu_times(void)
{
    for (struct caller *c = host.callers; c; c = c->next)
        c->cpu_time = os_thread_cpu_us(c->thread);
}

/* Returns whether work may end because the host is idle. */
static bool idleness_counts(void) { return settings.idle || host_functions.queued; }

static void sleep_unlocking(void)
{
    host.watchdog.asleep = !engine_status.busy_streams;
    if (!host.watchdog.asleep)
        lock_wait(POLL_INTERVAL);
    else
        lock_wait(host.callers ? POLL_INTERVAL_IDLE : POLL_INTERVAL_END);
    host.watchdog.asleep = false;
}

/* Returns whether a thread computes or waits, other than in a sleep, as if for a function. */
static bool waits_for_function(void)
{
    for (struct caller *c = host.callers; c; c = c->next)
        if (!os_thread_in_nanosleep(c->thread))
            return true;
    return false;
}

static void run_work_unlocking(void)
{
    host_functions.awaited = host_functions.queued && waits_for_function();
    host.watchdog.runs_work = true;
    engine_run_all_unlocking();
    host.watchdog.runs_work = false;
    lock_wake();
}

static void watchdog_main(void *unused)
{
    (void)unused;
    lock_acquire();
    uint64_t calls_before = 0;
    for (int idle_polls = 0;;) {
        sleep_unlocking();
        if (!host.callers && os_program_threads_ended()) {
            lock_release();
            exit(0);
        }
        if (host.calls != calls_before) {
            read_cpu_times();
            calls_before = host.calls;
            idle_polls = 0;
        } else if (engine_status.busy_streams && !host_functions.waiters && idleness_counts()
                   && are_all_idle() && ++idle_polls == 2) {
            run_work_unlocking();
            idle_polls = 0;
        }
    }
}

/* ---- callers ---- */

static void caller_thread_ends(void)
{
    struct caller **at = &host.callers;
    while (*at && *at != this_caller)
        at = &(*at)->next;
    if (*at)
        *at = this_caller->next;
    os_free(this_caller);
    this_caller = NULL;
    host_idle_left_busy = false;
    host.threads_ended++;
    if (!host.callers && host.watchdog.asleep)
        lock_wake();
}

/* Registers the calling thread at its first call. */
static void add_caller(void)
{
    os_at_thread_end(caller_thread_ends);
    os_expect_faults();
    this_caller = os_allocate(sizeof *this_caller);
    this_caller->thread = os_thread_id();
    this_caller->next = host.callers;
    host.callers = this_caller;
}

/* Tests the cheapest sign of idleness first, because most threads call again at once. */
void host_idle_call_arrives(void)
{
    struct caller *c = this_caller;
    c->was_idle = os_clock_us() >= c->call_ended_at + SHORT_WAIT && os_waits() != c->rest.waits
               && os_rest().slept >= c->rest.slept + SHORT_WAIT;
}

/* Lets the watchdog and resumed host functions finish first, because one of them may have woken the
 * calling thread, or been woken by it, and results must not depend on which is faster. A host
 * function gets here only when it ends the program, and then waits for nothing. */
void host_idle_finish_others_unlocking(void)
{
    NEEDS_LOCK();
    if (in_host_function)
        return;
    while (host.watchdog.runs_work)
        lock_wait(500);
    if (host_functions.threads)
        host_functions_resume_unlocking();
}

void host_idle_call_begins_unlocking(void)
{
    host.calls++;
    if (!this_caller)
        add_caller();
    /* Set before the call waits for others, because a thread that waits in a call is not idle. */
    this_caller->in_call = true;
    if (host.watchdog.runs_work || host_functions.threads)
        host_idle_finish_others_unlocking();
    if (!host_idle_left_busy)
        return;
    host_idle_left_busy = false;
    if (host_acquired.functions_begun && os_waits() > this_caller->rest.waits + 1)
        host_slept_again();
    if (engine_status.busy_streams && this_caller->was_idle && idleness_counts()
        && this_caller->threads_ended == host.threads_ended)
        engine_run_all_unlocking();
}

/* Updates the thread's sleep statistics, unless the last reading may be reused. */
static void read_rest(struct caller *c)
{
    if (c->call_ended_at < c->rest_read_at + SHORT_WAIT && os_waits() == c->rest.waits)
        return;
    c->rest_read_at = c->call_ended_at;
    c->rest = os_rest();
}

void host_idle_call_ends(void)
{
    NEEDS_LOCK();
    struct caller *c = this_caller;
    c->in_call = false;
    if (!engine_status.busy_streams)
        return;
    if (host.watchdog.asleep)
        lock_wake();
    /* Start the watchdog before read_rest, because starting a thread may count as a wait. */
    if (!host.watchdog.started)
        os_thread_start(watchdog_main, NULL);
    host.watchdog.started = true;
    host_idle_left_busy = true;
    c->threads_ended = host.threads_ended;
    c->call_ended_at = os_clock_us();
    read_rest(c);
}

/* May another thread come to make a call before it waits for something? */
static bool is_other_awake(void)
{
    for (struct caller *c = host.callers; c; c = c->next)
        if (c != this_caller && !c->in_call && !os_thread_is_asleep(c->thread))
            return true;
    return os_new_thread_works(is_caller, CPU_LIMIT);
}

void host_idle_let_others_go_first_unlocking(void)
{
    NEEDS_LOCK();
    static uint64_t spent;
    if (spent > FIRST_ALL || !os_count_other_threads())
        return;
    const uint64_t began = os_clock_us();
    /* A thread that was awake may soon wait for the lock, so the lock is looked at last. */
    while ((is_other_awake() || lock_is_wanted()) && os_clock_us() < began + FIRST_EACH)
        lock_wait(SHORT_WAIT);
    spent += os_clock_us() - began;
}
