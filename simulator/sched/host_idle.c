/* The watch over an absent host (chosen). All work that can end ends, and virtual time goes on to
 * its end,
 * - when a thread makes a call after it has slept or waited outside for half a millisecond or more
 *   since its last one;
 * - when a thread of ours, which looks every 10 ms while there is work, finds twice that no call
 *   was made, and that each thread that makes calls sleeps, or has computed for more than 100 ms.
 *   Who waits at the end of the program or of a thread, where no call is made, for a host function
 *   to
 *   return is not absent.
 * So where time goes does not depend on how long the host was away. A thread that was only kept
 * from its processor was not away, and neither was one that waited, it seems, for another to end,
 * which may have been kept from its own.
 *
 * The same thread sees when the last of the program's threads has ended after main left by
 * pthread_exit, and ends the process then: for the system it would go on as long as a thread of
 * ours does. */
#include "sched/host_idle.h"

#include <stdlib.h>

#include "os/os.h"
#include "sched/engine.h"

#define POLL_INTERVAL 10000 /* microseconds */
#define CPU_LIMIT     100000
#define SHORT_WAIT    500 /* a wait of less is not noticed */

struct caller {
    int thread;
    bool in_call;
    uint64_t cpu_time;      /* processor time at the last look that saw a call */
    bool left_busy;         /* its last call ended with work in a stream: */
    uint64_t call_ended_at; /* then */
    struct os_rest rest;    /* how it had rested by then */
    /* When that was read: a reading is dear (2 us), so one serves for half a millisecond, if no
     * wait comes between. */
    uint64_t rest_read_at;
    bool was_idle;          /* from then until it came for this call */
    uint64_t threads_ended; /* how many of the others had ended by then */
    struct caller *next;
};

static struct caller *callers;
static uint64_t calls, threads_ended;
static bool watchdog_started, watchdog_asleep;
/* The watch ends work, perhaps without the lock: while a host function runs. */
static bool watchdog_runs_work;
static _Thread_local struct caller *this_caller;

static bool is_idle(const struct caller *c)
{
    return !c->in_call
        && (os_thread_is_asleep(c->thread)
            || os_thread_cpu_us(c->thread) > c->cpu_time + CPU_LIMIT);
}

static bool are_all_idle(void)
{
    for (struct caller *c = callers; c; c = c->next)
        if (!is_idle(c))
            return false;
    return true;
}

static void watchdog_main(void *unused)
{
    (void)unused;
    lock_acquire();
    uint64_t before = 0;
    for (int idle_polls = 0;;) {
        watchdog_asleep = !engine_is_busy();
        lock_wait(!watchdog_asleep ? POLL_INTERVAL : callers ? 10000000 : 10 * POLL_INTERVAL);
        watchdog_asleep = false;
        if (!callers && os_program_threads_ended()) {
            lock_release();
            exit(0);
        }
        if (calls != before) {
            for (struct caller *c = callers; c; c = c->next)
                c->cpu_time = os_thread_cpu_us(c->thread);
            before = calls;
            idle_polls = 0;
        } else if (engine_is_busy() && !engine_waits_for_function() && are_all_idle()
                   && ++idle_polls == 2) {
            watchdog_runs_work = true;
            engine_run_all();
            watchdog_runs_work = false;
            lock_wake();
            idle_polls = 0;
        }
    }
}

/* The thread ends. */
static void caller_thread_ends(void)
{
    struct caller **at = &callers;
    while (*at && *at != this_caller)
        at = &(*at)->next;
    if (*at)
        *at = this_caller->next;
    os_free(this_caller);
    this_caller = NULL;
    threads_ended++;
    if (!callers && watchdog_asleep)
        lock_wake();
}

void host_idle_call_arrives(void)
{
    if (this_caller && this_caller->left_busy)
        this_caller->was_idle = os_clock_us() >= this_caller->call_ended_at + SHORT_WAIT
                             && os_waits() != this_caller->rest.waits
                             && os_rest().slept >= this_caller->rest.slept + SHORT_WAIT;
}

/* A host function may have woken the thread that comes now, or have been woken by it. Which of them
 * is faster shall not matter. */
void host_idle_finish_others(void)
{
    if (engine_in_host_function())
        return; /* which ends the program */
    while (watchdog_runs_work)
        lock_wait(500);
    engine_resume_functions();
}

void host_idle_call_begins(void)
{
    calls++;
    host_idle_finish_others();
    if (!this_caller) {
        os_at_thread_end(caller_thread_ends);
        os_expect_faults();
        this_caller = os_allocate(sizeof *this_caller);
        this_caller->thread = os_thread_id();
        this_caller->next = callers;
        callers = this_caller;
    }
    this_caller->in_call = true;
    if (!this_caller->left_busy)
        return;
    this_caller->left_busy = false;
    if (engine_is_busy() && this_caller->was_idle && this_caller->threads_ended == threads_ended)
        engine_run_all();
}

void host_idle_call_ends(void)
{
    this_caller->in_call = false;
    if (!engine_is_busy())
        return;
    if (watchdog_asleep)
        lock_wake();
    /* Before the reading: to start a thread may mean to wait. */
    if (!watchdog_started)
        os_thread_start(watchdog_main, NULL);
    watchdog_started = true;
    this_caller->left_busy = true;
    this_caller->threads_ended = threads_ended;
    this_caller->call_ended_at = os_clock_us();
    if (this_caller->call_ended_at < this_caller->rest_read_at + SHORT_WAIT
        && os_waits() == this_caller->rest.waits)
        return;
    this_caller->rest_read_at = this_caller->call_ended_at;
    this_caller->rest = os_rest();
}
