/* Asks what becomes of a thread's own stream (cudaStreamPerThread) when the thread ends with work pending in it.
 *
 *   probe_threads [MIB]    every case, each in a process of its own, which may take 10 s
 *
 * A thread allocates in its own stream, puts one fill of 256 MiB (or MIB) behind that, or a hundred, and ends; in the cases named "synchronised" it
 * waits for its stream first. "plain memory" is main's, from cudaMalloc: then the thread only fills. Afterwards main frees the block and
 * synchronises the device.
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

static size_t bytes = (size_t)256 << 20;
static int *block;
enum { MAINS = 1, FREED };              /* allocated by main from the pool; freed by the thread */

/* What the thread does: how many fills, on whose memory, and whether it waits for them. */
static const struct { const char *name; int fills; int plain, synchronised, block_is; } cases[] = {
    { "no fill, pool memory", 0, 0, 0, 0 },
    { "one fill, pool memory", 1, 0, 0, 0 },
    { "a hundred fills, pool memory", 100, 0, 0, 0 },
    { "a hundred fills, pool memory, synchronised", 100, 0, 1, 0 },
    { "one fill, plain memory", 1, 1, 0, 0 },
    { "a hundred fills, plain memory", 100, 1, 0, 0 },
    { "a hundred fills, plain memory, synchronised", 100, 1, 1, 0 },
    { "one fill, pool memory of main's stream", 1, 0, 0, MAINS },
    { "one fill, pool memory, freed in the thread's stream", 1, 0, 0, FREED },
};

/* Written at once: a process that hangs is killed. */
static void line(const char *call, cudaError_t answer)
{
    printf("  %-44s %s\n", call, cudaGetErrorName(answer));
    fflush(stdout);
}

static void *work(void *n)
{
    size_t i = *(size_t *)n;
    cudaError_t e = cases[i].plain || cases[i].block_is == MAINS ? cudaSuccess : cudaMallocAsync((void **)&block, bytes, cudaStreamPerThread);
    for (int k = 0; !e && k < cases[i].fills; k++) e = launch_fill(block, k, bytes / sizeof(int), cudaStreamPerThread);
    if (!e && cases[i].block_is == FREED) e = cudaFreeAsync(block, cudaStreamPerThread);
    if (!e && cases[i].synchronised) e = cudaStreamSynchronize(cudaStreamPerThread);
    line("the thread's last call", e);
    return NULL;
}

static void one(size_t i)
{
    int status = 0;
    printf("== %s\n", cases[i].name);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        alarm(10);
        if (cases[i].plain) line("cudaMalloc", cudaMalloc((void **)&block, bytes));
        if (cases[i].block_is == MAINS) {
            line("cudaMallocAsync", cudaMallocAsync((void **)&block, bytes, cudaStreamLegacy));
            line("cudaDeviceSynchronize", cudaDeviceSynchronize());
        }
        if (pthread_create(&thread, NULL, work, &i)) exit(1);
        pthread_join(thread, NULL);
        if (cases[i].block_is != FREED) line("the thread is over; cudaFree", cudaFree(block));
        line("cudaDeviceSynchronize", cudaDeviceSynchronize());
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) exit(1);
    if (!WIFSIGNALED(status)) printf("  ended with %d\n", WEXITSTATUS(status));
    else printf("  %s\n", WTERMSIG(status) == SIGALRM ? "hung: stopped after 10 s" : strsignal(WTERMSIG(status)));
}

int main(int argc, char **argv)
{
    if (argc > 1) bytes = (size_t)atoi(argv[1]) << 20;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) one(i);
    return 0;
}
