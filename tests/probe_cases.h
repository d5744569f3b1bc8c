/* What the probes share that ask a real device case by case: each case in a process of its own that may take 20 seconds.
 *
 *   probe_...          every case: "== CASE", its lines, "rc STATUS"
 *   probe_... CASE     one case, in this process
 *
 * They run on the simulated device too, so that the two outputs can be compared line by line. Build: gcc, kernels.o, libcudart, as for probe.c. */
#ifndef PROBE_CASES_H
#define PROBE_CASES_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels.h"

#define MiB ((size_t)1 << 20)
#define ASK(call) ask(#call, (call))

struct probe_case { const char *name; void (*body)(void); };

static cudaStream_t s, t, b;           /* two non-blocking streams and a blocking one */
static cudaEvent_t ev, ev2;
static int *gate, *host;               /* pinned */
static void *m;                        /* 1 MiB of cudaMalloc's */

static inline cudaError_t ask(const char *call, cudaError_t e)
{
    cudaError_t last = cudaGetLastError();
    printf("%-86s -> %s", call, cudaGetErrorName(e));
    if (last != e) printf("  (last error %s)", cudaGetErrorName(last));
    puts("");
    return e;
}

static inline struct cudaMemPoolProps props_of(int type, int location, int id)
{
    struct cudaMemPoolProps p;
    memset(&p, 0, sizeof p);
    p.allocType = (enum cudaMemAllocationType)type;
    p.location.type = (enum cudaMemLocationType)location;
    p.location.id = id;
    return p;
}

static inline cudaMemPool_t make(int type, int location, int id)
{
    struct cudaMemPoolProps p = props_of(type, location, id);
    cudaMemPool_t pool = NULL;
    cudaError_t e = cudaMemPoolCreate(&pool, &p);
    printf("pool type %d location %d id %d: %s\n", type, location, id, cudaGetErrorName(e));
    cudaGetLastError();
    return e ? NULL : pool;
}

static inline void pointer(const void *p, const char *what)
{
    struct cudaPointerAttributes a;
    memset(&a, 0xff, sizeof a);
    cudaError_t e = cudaPointerGetAttributes(&a, p);
    printf("  pointer %-32s %s", what, cudaGetErrorName(e));
    if (!e) printf(" type %d device %d devicePointer %s hostPointer %s", (int)a.type, a.device, !a.devicePointer ? "null" : a.devicePointer == p ? "same" : "other", !a.hostPointer ? "null" : a.hostPointer == p ? "same" : "other");
    puts("");
    cudaGetLastError();
}

static inline int one_case(const struct probe_case *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, cases[i].name)) continue;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
        cudaStreamCreate(&b);
        cudaEventCreate(&ev);
        cudaEventCreate(&ev2);
        cudaHostAlloc((void **)&gate, 64, cudaHostAllocMapped);
        cudaMallocHost((void **)&host, MiB);
        cudaMalloc(&m, MiB);
        *gate = 1;
        launch_fill(m, 1, 1, s);
        launch_add(m, 1, 1, s);
        launch_hold(gate, s);
        cudaError_t e = cudaDeviceSynchronize();
        if (e) {
            printf("no working device: %s\n", cudaGetErrorName(e));
            return 1;
        }
        cases[i].body();
        puts("end");
        return 0;
    }
    fprintf(stderr, "there is no case \"%s\"\n", name);
    return 2;
}

/* A child of its own: no call to the device is made before the fork. */
static inline void run_case(char *self, const char *name)
{
    int status = 0, waited = 0;
    printf("== %s\n", name);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", self, name, (char *)NULL);
        _exit(127);
    }
    while (waited < 2000 && waitpid(child, &status, WNOHANG) == 0) {
        usleep(10000);
        waited++;
    }
    if (waited == 2000) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        puts("rc 124");
    } else {
        printf("rc %d\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
    fflush(stdout);
}

static inline int run_cases(int argc, char **argv, const struct probe_case *cases, size_t count)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1) return one_case(cases, count, argv[1]);
    for (size_t i = 0; i < count; i++) run_case(argv[0], cases[i].name);
    return 0;
}

#endif
