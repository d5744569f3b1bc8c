/* For the probes: does a call wait for work that is behind a closed gate? It does when it returns only after another thread has opened the gate.
 *
 *   watch_call(gate); e = call; waited = call_waited(); ...; call_over();
 *   WAITS_LINE(gate, hold, call, text): the line "TEXT  waits|does not wait  ERROR" for a call behind `hold`, a statement that starts work at the gate
 *
 * That thread opens it in call_over, or when the call is known to be blocked: in so many looks (wait_looks), 5 ms apart, each thread of the process
 * slept, or the calling one computed for 1 ms or more. A look at which a thread was ready to run, and had no processor, does not count: so a busy
 * machine changes no answer. In the simulated device nothing goes on while all threads sleep, so 5 looks will do. Needs _GNU_SOURCE. */
#ifndef PROBE_WAIT_H
#define PROBE_WAIT_H

#include <cuda_runtime_api.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int wait_looks = 40;
static _Atomic int call_has_returned;
static volatile int *watched_gate;
static pid_t caller;
static clockid_t caller_clock;
static pthread_t watcher;

static int is_ready(const char *thread)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", thread);
    FILE *f = fopen(path, "r");
    if (!f) return 0;                   /* it has ended */
    const char *name_end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return name_end && name_end[1] && name_end[2] == 'R';
}

static int is_blocked(double *used_before)
{
    struct timespec used;
    clock_gettime(caller_clock, &used);
    double used_ms = 1e3 * (double)used.tv_sec + 1e-6 * (double)used.tv_nsec;
    int computed = used_ms - *used_before >= 1, ready = 0;
    *used_before = used_ms;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *x; threads && (x = readdir(threads));) {
        pid_t id = atoi(x->d_name);
        if (id && id != gettid() && !(id == caller && computed)) ready |= is_ready(x->d_name);
    }
    if (threads) closedir(threads);
    return threads && !ready;
}

static void *open_when_blocked(void *unused)
{
    double used = 0;
    (void)unused;
    for (int look = 0, blocked = 0; !call_has_returned && blocked < wait_looks && look < 2000; look++) {
        usleep(5000);
        blocked += is_blocked(&used) && look;
    }
    *watched_gate = 1;
    return NULL;
}

static void watch_call(volatile int *gate)
{
    watched_gate = gate;
    call_has_returned = 0;
    caller = gettid();
    pthread_getcpuclockid(pthread_self(), &caller_clock);
    pthread_create(&watcher, NULL, open_when_blocked, NULL);
}

static int call_waited(void) { return *watched_gate; }

static void call_over(void)
{
    call_has_returned = 1;
    pthread_join(watcher, NULL);
}

#define WAITS_LINE(gate, hold, call, text) do { \
        cudaDeviceSynchronize(); \
        *(volatile int *)(gate) = 0; \
        __sync_synchronize(); \
        hold; \
        watch_call(gate); \
        cudaError_t answer_ = (call); \
        int waited_ = call_waited(); \
        call_over(); \
        cudaDeviceSynchronize(); \
        cudaGetLastError(); \
        printf("%-72s %-14s %s\n", text, waited_ ? "waits" : "does not wait", cudaGetErrorName(answer_)); \
        fflush(stdout); \
    } while (0)

#endif
