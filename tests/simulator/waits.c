/* tests/probe.c with a clock that runs four times as fast, since the simulated device waits for nothing that it could be slow at. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static inline int slept(unsigned microseconds) { return usleep(microseconds / 4); }

static inline int fast_clock(clockid_t clock, struct timespec *t)
{
    int e = clock_gettime(clock, t);
    long long ns = 4 * (1000000000LL * (t->tv_sec % 1000000) + t->tv_nsec);
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return e;
}

#define usleep slept
#define clock_gettime fast_clock
#include "../probe.c"
