/* What the lists of calls, calls.def and driver_calls.def, are expanded with: the number of each
 * call, how it is entered, and the costs that depend on its arguments. */
#ifndef SIM_API_ENTRY_H
#define SIM_API_ENTRY_H

#include "api/call.h"
#include "base/settings.h"
#include "sched/cost.h"

/* calls.inc and driver_calls.inc are the lists with all parameters (api/calls.awk). */
enum call_id {
#define CALL(streams, name, ...) CALL_##name,
#include "calls.inc"
/* The driver API's, the first of which is CALL_cuInit. */
#define TWIN(streams, name, version, ...) CALL_##name##version,
#define OWN                               TWIN
#include "driver_calls.inc"
    CALLS
};

/* The functions that do the work. */
#define CALL(streams, name, cost, flags, parameters, work, arguments) cudaError_t do_##name work;
#include "calls.inc"

/* Define the exported functions of a call, whose `streams` ends the name, by ENTRY(symbol, name,
 * per_thread, ...). */
#define ENTRY_ONE(name, ...) ENTRY(name, name, 0, __VA_ARGS__)
#define ENTRY_PTSZ(name, ...)         \
    ENTRY(name, name, 0, __VA_ARGS__) \
    ENTRY(name##_ptsz, name, PER_THREAD, __VA_ARGS__)
#define ENTRY_PTDS(name, ...)         \
    ENTRY(name, name, 0, __VA_ARGS__) \
    ENTRY(name##_ptds, name, PER_THREAD, __VA_ARGS__)

enum call_ways {
    /* The default stream is that of the thread. */
    PER_THREAD = 1,
    /* A call of the driver API for a stream that has a context. */
    HAS_CONTEXT = 2,
};

/* Takes the lock, begins the call's line, and brings the device up to date. The call must return
 * the error at once: a fault, a call from inside a host function, a forked child, a failure that
 * SIM_FAIL requests, or a capture that forbids the call. `address` and `frame` are the entry
 * point's OS_CALL_ADDRESS and OS_CALL_FRAME, and `ways` are from enum call_ways. */
cudaError_t call_enter(struct call *call, enum call_id id, time_ns cost, void *address,
                       void *const *frame, unsigned ways);

/* Under this schedule a query may have to be repeated for a virtual second, so each takes 1 ms. */
static inline time_ns query_cost(time_ns cost)
{
    return settings.schedule == SCHEDULE_LATE ? 1000000 : cost;
}

/* Ignore absurd sizes: the call fails, and the cost formula would overflow the clock. */
static inline time_ns pinned_cost(size_t bytes)
{
    size_t plausible = bytes < 1024 * GiB ? bytes : 0;
    return COST_MALLOC_HOST + (time_ns)((double)plausible / (double)MiB * 330e3);
}

static inline time_ns copy_cost(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDeviceToDevice ? COST_COPY_ON_DEVICE : COST_COPY;
}

#endif
