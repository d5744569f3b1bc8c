/* The costs of calls that depend on their arguments, for the lists of calls. */
#ifndef SIM_API_CALL_COSTS_H
#define SIM_API_CALL_COSTS_H

#include <driver_types.h>

#include "base/settings.h"
#include "sched/cost.h"

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
