/* Host functions and their threads. A function that computes or sleeps for long is assumed to wait
 * for the host, so the host then continues at the same time. */
#include "sched/host_function.h"

#include "os/os.h"
#include "sched/happens_before.h"

/* Microseconds after which a function is assumed to wait for the host: of processor time, or of
 * real time if it sleeps by its own choice. */
#define FUNCTION_CPU_LIMIT   500000
#define FUNCTION_SLEEP_LIMIT 750000

struct worker {
    /* The host function that the worker runs, or NULL while it is idle. */
    struct op *op;
    /* The id of the worker's thread, or 0 until the thread has begun. */
    int thread;
    /* The function has returned, and its thread waits for the lock. Written without the lock. */
    bool has_returned;
    /* The processor time of its thread, and the real time, at which the function takes too long. */
    uint64_t cpu_limit, sleep_limit;
    struct worker *next, *next_idle;
};

struct host_functions host_functions;
_Thread_local bool in_host_function;

/* Needs the lock. Workers are never freed. Those without an op are in both lists. */
static struct {
    struct worker *all, *idle;
} workers;

static void worker_main(void *argument)
{
    struct worker *self = argument;
    in_host_function = true;
    lock_acquire();
    self->thread = os_thread_id();
    for (;;) {
        while (!self->op)
            lock_wait(1000000);
        struct op *op = self->op;
        lock_release();
        op->function(op->argument);
        __atomic_store_n(&self->has_returned, true, __ATOMIC_SEQ_CST);
        lock_acquire();
        op->returned = true;
        self->op = NULL;
        self->next_idle = workers.idle;
        workers.idle = self;
        lock_wake();
    }
}

/* Returns whether, as far as can be seen, the function waits for the host, also in a loop. */
static bool waits_for_host(struct worker *w)
{
    if (!w->thread)
        return false;
    uint64_t cpu_time = os_thread_cpu_us(w->thread);
    if (!w->cpu_limit)
        w->cpu_limit = cpu_time + FUNCTION_CPU_LIMIT;
    bool waits = cpu_time > w->cpu_limit;
    if (!waits && os_thread_is_asleep(w->thread))
        waits = !os_thread_in_nanosleep(w->thread) || os_clock_us() > w->sleep_limit;
    /* Check this last, because a function that has returned may sleep to wait for the lock. */
    return waits && !__atomic_load_n(&w->has_returned, __ATOMIC_SEQ_CST);
}

/* Gives the op to an idle worker, or to a new one. */
static struct worker *take_worker(struct op *op)
{
    struct worker *w = workers.idle;
    if (w)
        workers.idle = w->next_idle;
    else
        w = os_allocate(sizeof *w);
    bool is_new = !w->thread;
    *w = (struct worker){.op = op,
                         .thread = w->thread,
                         .sleep_limit = os_clock_us() + FUNCTION_SLEEP_LIMIT,
                         .next = w->next};
    if (!is_new)
        return w;
    w->next = workers.all;
    workers.all = w;
    host_functions.threads++;
    os_thread_start(worker_main, w);
    return w;
}

void host_function_run_unlocking(struct op *op)
{
    op->started = true;
    host_function_begins(op->record, op->stream->device, host_functions.awaited);
    struct worker *w = take_worker(op);
    /* Once the function has returned, another thread may end the op and reuse its memory. */
    uint64_t turn = op->turn;
    lock_wake();
    host_functions.waiters++;
    for (int waiting = 0; w->op == op && op->turn == turn;) {
        op->was_blocked = waiting == 3;
        if (op->was_blocked)
            break;
        lock_wait(500);
        waiting = waits_for_host(w) ? waiting + 1 : 0;
    }
    host_functions.waiters--;
}

void host_functions_resume_unlocking(void)
{
    for (struct worker *w = workers.all; w; w = w->next)
        while (w->op && w->op->was_blocked && !waits_for_host(w))
            lock_wait(200);
}
