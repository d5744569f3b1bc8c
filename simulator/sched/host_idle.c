/* What goes on while the host is idle (assumed). All work that can end ends, and virtual time goes
 * on to its end,
 * - when a thread makes a call after it has slept or waited outside for half a millisecond or more
 *   since its last one;
 * - when the watchdog, a thread of ours that looks every 10 ms while there is work, finds twice
 *   that no call was made, and that each thread that makes calls, or has begun and may come to
 *   make one, sleeps or has computed for more than 100 ms. A thread that waits at the end of the
 *   program, or at its own, where no call is made, for a host function to return is not idle.
 * With SIM_IDLE=off it does not go on: then only calls that wait, or ask, move the device. But a
 * program that has queued a host function may wait for that without a call, so there it does.
 * So where time goes does not depend on how long the host was idle. A thread that was only kept
 * from its processor was not idle, and neither was one that waited, it seems, for another to end,
 * which may have been kept from its own.
 *
 * The watchdog sees too when the last of the program's threads has ended after main left by
 * pthread_exit, and ends the process then: for the system it would go on as long as a thread of
 * ours does. */
#include "sched/host_idle.h"

#include <stdlib.h>

#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/engine.h"
#include "sched/happens_before.h"
#include "sched/host_function.h"

/* In microseconds: how often the watchdog looks; how often it does when it sleeps and the program's
 * threads may all have ended, and when not; how much processor time is computing for long; and a
 * wait too short to notice. */
#define POLL_INTERVAL      10000
#define POLL_INTERVAL_END  100000
#define POLL_INTERVAL_IDLE 10000000
#define CPU_LIMIT          100000
#define SHORT_WAIT         500

/* A thread that makes calls. Only the thread itself uses what stands behind `cpu_time`. */
struct caller {
    struct caller *next;
    int thread;
    bool in_call;
    /* Its processor time at the watchdog's last look that saw a call. */
    uint64_t cpu_time;
    /* When its last call ended, and how many other threads had ended by then. */
    uint64_t call_ended_at, threads_ended;
    /* How it had rested by then, and when that was read. A reading is dear (2 us), so one serves
     * for half a millisecond, if no wait comes between. */
    struct os_rest rest;
    uint64_t rest_read_at;
    /* It was idle between its last call and this one. */
    bool was_idle;
};

/* Needs the lock. */
static struct {
    struct caller *callers;
    /* How many calls were made, and how many callers have ended. */
    uint64_t calls, threads_ended;
    struct {
        bool started;
        /* There was no work when it last looked: whoever leaves some wakes it. */
        bool asleep;
        /* It ends work, perhaps without the lock: while a host function runs. */
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

/* May work end because the host is idle? */
static bool idleness_counts(void) { return settings.idle || host_functions.queued; }

/* Sleeps until the next look. */
static void sleep_unlocking(void)
{
    host.watchdog.asleep = !engine_status.busy_streams;
    if (!host.watchdog.asleep)
        lock_wait(POLL_INTERVAL);
    else
        lock_wait(host.callers ? POLL_INTERVAL_IDLE : POLL_INTERVAL_END);
    host.watchdog.asleep = false;
}

/* A thread that computes, or waits in anything but a sleep, may wait for a host function. */
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

/* The thread's first call. */
static void add_caller(void)
{
    os_at_thread_end(caller_thread_ends);
    os_expect_faults();
    this_caller = os_allocate(sizeof *this_caller);
    this_caller->thread = os_thread_id();
    this_caller->next = host.callers;
    host.callers = this_caller;
}

/* The cheap signs first: most callers come back at once. */
void host_idle_call_arrives(void)
{
    struct caller *c = this_caller;
    c->was_idle = os_clock_us() >= c->call_ended_at + SHORT_WAIT && os_waits() != c->rest.waits
               && os_rest().slept >= c->rest.slept + SHORT_WAIT;
}

/* A host function may have woken the thread that comes now, or have been woken by it. Which of them
 * is faster shall not matter. A call from inside a host function waits for nothing: it ends the
 * program. */
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
    /* Before it waits for others: who waits in a call is not idle. */
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

/* Reads how the thread has rested so far, unless the last reading still serves. */
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
    /* Before the reading: to start a thread may mean to wait. */
    if (!host.watchdog.started)
        os_thread_start(watchdog_main, NULL);
    host.watchdog.started = true;
    host_idle_left_busy = true;
    c->threads_ended = host.threads_ended;
    c->call_ended_at = os_clock_us();
    read_rest(c);
}
