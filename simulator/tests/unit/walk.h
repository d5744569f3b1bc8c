/* What the random walks over the simulated device's insides share: which number comes next, and
 * what is said when something is wrong. */
#ifndef WALK_H
#define WALK_H

#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/os.h"

static uint64_t state;
static unsigned long step;

/* A number below n. */
static inline uint32_t pick(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* Without what runs at an end: the caller holds the lock. */
static inline void wrong(const char *what)
{
    fprintf(stderr, "%s: after step %lu: %s\n", program_invocation_short_name, step, what);
    os_exit(1);
}

static inline void refused(const char *call, cudaError_t e)
{
    fprintf(stderr, "%s: step %lu: %s returned %s\n", program_invocation_short_name, step, call,
            cudaGetErrorName(e));
    exit(1);
}
#define WANT(call) want(call, #call)

/* With the lock: a thread of the simulated device goes on with its work when this one is slow. */
static inline void check(void (*look)(void))
{
    lock_acquire();
    look();
    lock_release();
}

#endif
