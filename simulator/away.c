/* The watch over an absent host. A thread of ours looks every 10 ms, while there is work: if none of the program's threads that make calls has made one
 * since the last look, and each of them sleeps or has computed for more than 100 ms, all work that can end ends (chosen). So virtual
 * time goes on exactly then, and to a place that does not depend on how long the host was away. */
#include "away.h"

#include "host.h"
#include "timeline.h"

#define LOOK       10000               /* microseconds */
#define COMPUTING 100000

struct caller { int thread; bool inside; uint64_t used; struct caller *next; };

static struct caller *callers;
static uint64_t calls;
static bool started, dozing;
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
    for (int looks = 0;;) {
        uint64_t before = calls;
        dozing = !timeline_busy();
        host_sleep(dozing ? 10000000 : LOOK);
        dozing = false;
        if (calls != before) {
            for (struct caller *c = callers; c; c = c->next) c->used = host_thread_used(c->thread);
            looks = 0;
        } else if (timeline_busy() && all_away() && ++looks == 2) {
            timeline_run_on();
            looks = 0;
        }
    }
}

void away_call_begins(void)
{
    calls++;
    if (!me) {
        me = host_allocate(sizeof *me);
        me->thread = host_thread_id();
        me->next = callers;
        callers = me;
    }
    me->inside = true;
}

void away_call_ends(void)
{
    me->inside = false;
    if (!timeline_busy()) return;
    if (dozing) host_wake();
    if (started) return;
    started = true;
    host_start_thread(watch, NULL);
}
