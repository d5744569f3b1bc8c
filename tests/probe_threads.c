/* Asks what becomes of a thread's own stream (cudaStreamPerThread) when the thread ends with work pending in it.
 *
 *   probe_threads          every case, each in a process of its own, which may take 10 s
 *
 * A thread allocates from the default pool in its own stream, puts a hundred fills of 256 MiB behind that, and ends; in the cases named
 * "synchronised" it waits for its stream first. Then main makes the call named on the line, and synchronises the device.
 * The recorded answers are tests/facts/probe-threads.txt. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels.h"

#define BYTES ((size_t)256 << 20)

static int *block;
static int synchronised;

static void *work(void *unused)
{
    (void)unused;
    cudaError_t e = cudaMallocAsync((void **)&block, BYTES, cudaStreamPerThread);
    for (int i = 0; !e && i < 100; i++) e = launch_fill(block, i, BYTES / sizeof(int), cudaStreamPerThread);
    if (!e && synchronised) e = cudaStreamSynchronize(cudaStreamPerThread);
    printf("  the thread: %s\n", cudaGetErrorName(e));
    return NULL;
}

static void say(const char *call, cudaError_t answer) { printf("  %-44s %s\n", call, cudaGetErrorName(answer)); }

static void ask(const char *call)
{
    cudaStream_t other;
    size_t used = 0;
    cudaMemPool_t pool;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    if (!strcmp(call, "cudaFree")) say("cudaFree", cudaFree(block));
    else if (!strcmp(call, "cudaFreeAsync, the legacy stream")) say(call, cudaFreeAsync(block, cudaStreamLegacy));
    else if (!strcmp(call, "cudaFreeAsync, main's own stream")) say(call, cudaFreeAsync(block, cudaStreamPerThread));
    else if (!strcmp(call, "cudaFreeAsync, another stream")) say(call, cudaFreeAsync(block, other));
    say("cudaDeviceSynchronize", cudaDeviceSynchronize());
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &used);
    printf("  reserved %zu MiB\n", used >> 20);
}

static void one(const char *call, int wait_first)
{
    int status = 0;
    printf("== %s, the thread has %s\n", call, wait_first ? "synchronised" : "work pending");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        setvbuf(stdout, NULL, _IOLBF, 0);
        alarm(10);
        synchronised = wait_first;
        if (pthread_create(&thread, NULL, work, NULL)) exit(1);
        pthread_join(thread, NULL);
        ask(call);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) exit(1);
    if (!WIFSIGNALED(status)) printf("  ended with %d\n", WEXITSTATUS(status));
    else printf("  %s\n", WTERMSIG(status) == SIGALRM ? "hung: stopped after 10 s" : strsignal(WTERMSIG(status)));
}

int main(void)
{
    static const char *const calls[] = { "nothing", "cudaFree", "cudaFreeAsync, the legacy stream", "cudaFreeAsync, main's own stream", "cudaFreeAsync, another stream" };
    for (int wait_first = 0; wait_first < 2; wait_first++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) one(calls[i], wait_first);
    return 0;
}
