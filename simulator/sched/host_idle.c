/* The watch over an absent host (chosen). All work that can end ends, and virtual time goes on to its end,
 * - when a thread makes a call after it has slept or waited outside for half a millisecond or more since its last one;
 * - when a thread of ours, which looks every 10 ms while there is work, finds twice that no call was made, and that each thread that makes
 *   calls sleeps, or has computed for more than 100 ms. Who waits at the end of the program or of a thread, where no call is made, for a host function to
 *   return is not absent.
 * So where time goes does not depend on how long the host was away. A thread that was only kept from its processor was not away, and neither was one that
 * waited, it seems, for another to end, which may have been kept from its own.
 *
 * The same thread sees when the last of the program's threads has ended after main left by pthread_exit, and ends the process then: for the system it would
 * go on as long as a thread of ours does. */
#include "sched/host_idle.h"

#include <stdlib.h>

#include "os/os.h"
#include "sched/engine.h"

#define LOOK       10000               /* microseconds */
#define COMPUTING 100000
#define SHORT       500                /* a wait of less is not noticed */

struct caller {
    int            thread;
    bool           inside;
    uint64_t       used;               /* processor time at the last look that saw a call */
    bool           left_work;          /* its last call ended with work in a stream: */
    uint64_t       left_at;            /* then */
    struct host_rest rest;             /* how it had rested by then */
    uint64_t       read_at;            /* when that was read: a reading is dear (2 us), so one serves for half a millisecond, if no wait comes between */
    bool           was_away;           /* from then until it came for this call */
    uint64_t       ended;              /* how many of the others had ended by then */
    struct caller *next;
};

static struct caller *callers;
static uint64_t calls, ended;
static bool started, dozing;
static bool running_on;                /* the watch ends work, perhaps without the lock: while a host function runs */
static _Thread_local struct caller *me;

static bool is_away(const struct caller *c)
{
    return !c->inside && (host_thread_asleep(c->thread) || host_thread_used(c->thread) > c->used + COMPUTING);
}

static bool all_away(void)
{
    for (struct caller *c = callers; c; c = c->next)
        if (!is_away(c)) return false;
    return true;
}

static void watch(void *unused)
{
    (void)unused;
    host_lock();
    uint64_t before = 0;
    for (int looks = 0;;) {
        dozing = !timeline_busy();
        host_sleep(!dozing ? LOOK : callers ? 10000000 : 10 * LOOK);
        dozing = false;
        if (!callers && host_only_ours_left()) {
            host_unlock();
            exit(0);
        }
        if (calls != before) {
            for (struct caller *c = callers; c; c = c->next) c->used = host_thread_used(c->thread);
            before = calls;
            looks = 0;
        } else if (timeline_busy() && !timeline_waits_for_function() && all_away() && ++looks == 2) {
            running_on = true;
            timeline_run_on();
            running_on = false;
            host_wake();
            looks = 0;
        }
    }
}

/* The thread ends. */
static void leave(void)
{
    struct caller **at = &callers;
    while (*at && *at != me) at = &(*at)->next;
    if (*at) *at = me->next;
    host_free(me);
    me = NULL;
    ended++;
    if (!callers && dozing) host_wake();
}

void away_caller_comes(void)
{
    if (me && me->left_work)
        me->was_away = host_clock() >= me->left_at + SHORT && host_waits() != me->rest.waits && host_rest().slept >= me->rest.slept + SHORT;
}

/* A host function may have woken the thread that comes now, or have been woken by it. Which of them is faster shall not matter. */
void away_let_others_finish(void)
{
    if (timeline_in_host_function()) return;       /* which ends the program */
    while (running_on) host_sleep(500);
    timeline_let_functions_go_on();
}

void away_call_begins(void)
{
    calls++;
    away_let_others_finish();
    if (!me) {
        host_at_thread_end(leave);
        host_expect_faults();
        me = host_allocate(sizeof *me);
        me->thread = host_thread_id();
        me->next = callers;
        callers = me;
    }
    me->inside = true;
    if (!me->left_work) return;
    me->left_work = false;
    if (timeline_busy() && me->was_away && me->ended == ended) timeline_run_on();
}

void away_call_ends(void)
{
    me->inside = false;
    if (!timeline_busy()) return;
    if (dozing) host_wake();
    if (!started) host_start_thread(watch, NULL);      /* before the reading: to start a thread may mean to wait */
    started = true;
    me->left_work = true;
    me->ended = ended;
    me->left_at = host_clock();
    if (me->left_at < me->read_at + SHORT && host_waits() == me->rest.waits) return;
    me->read_at = me->left_at;
    me->rest = host_rest();
}
