/* What the programs that measure have in common, bench and scale: the processor time, a random
 * choice, and a new process for each measurement. */
#ifndef MEASURE_H
#define MEASURE_H

#include <cuda_runtime_api.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)

/* What the process of a measurement found, or why it failed. */
struct result {
    double figures[16];
    double mib; /* the peak of its resident memory */
    char failure[64];
};
static struct result result;
static int result_pipe;

/* Ends the process of a measurement. */
static void finish(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    result.mib = (double)usage.ru_maxrss / 1024;
    _exit(write(result_pipe, &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
}

static void need_at(cudaError_t e, int line)
{
    if (!e)
        return;
    snprintf(result.failure, sizeof result.failure, "%s in line %d", cudaGetErrorName(e), line);
    finish();
}
#define need(call) need_at(call, __LINE__)

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

#define SEED 88172645463325252u
static uint64_t state = SEED;

/* Returns a number below n. */
static uint32_t pick(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % n;
}

/* Returns one of several sizes: most small, some of a few MiB. */
static size_t some_size(void)
{
    static const size_t classes[] = {1, 512, 4096, 10000, 65536, 100000, 1 * MiB, 2 * MiB + 1};
    return classes[pick(8)];
}

/* Waits for the child to write or to end. Returns false if it exceeds the processor time, or hangs.
 * It does not use RLIMIT_CPU, which makes the child's clock coarse. */
static bool await(pid_t child, int from, int seconds)
{
    struct pollfd written = {.fd = from, .events = POLLIN};
    struct timespec used = {0};
    clockid_t clock;
    if (clock_getcpuclockid(child, &clock))
        return false;
    for (int tenths = 0; tenths < 60 * seconds && used.tv_sec < seconds; tenths++) {
        if (poll(&written, 1, 100))
            return true;
        clock_gettime(clock, &used);
    }
    return false;
}

/* Calls measure(n) in a new process, which ends in `finish`. */
static struct result measure_once(void (*measure)(int n), int n, int seconds)
{
    struct result r = {.failure = ""};
    int ends[2], status = 0;
    if (pipe(ends))
        exit(1);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        exit(1);
    if (!child) {
        result_pipe = ends[1];
        measure(n);
        finish();
    }
    close(ends[1]);
    bool in_time = await(child, ends[0], seconds);
    if (!in_time)
        kill(child, SIGKILL);
    ssize_t got = in_time ? read(ends[0], &r, sizeof r) : 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (!in_time)
        snprintf(r.failure, sizeof r.failure, "over %d s", seconds);
    else if (got != (ssize_t)sizeof r)
        snprintf(r.failure, sizeof r.failure, "ended with status %d", status);
    return r;
}

#endif
