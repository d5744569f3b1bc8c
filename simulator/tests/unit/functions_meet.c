/* Host functions and the thread that launched them wait for each other outside of the API. The
 * argument says how:
 * - wakes: each function wakes the waiting thread
 * - spins: the thread computes until the function has run
 * - dozes: each function sleeps for 1.5 ms
 * - waits: the function waits until the thread lets it go on
 * - lags: like waits, and then it computes for 60 ms, as if it had lost its processor
 * - asks: like wakes, and the function makes a call that returns at any time, although no call is
 *   allowed there */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static sem_t begun, go_on;
static atomic_int has_run;

static void wakes(void *unused)
{
    (void)unused;
    sem_post(&begun);
}

static void spins(void *unused)
{
    (void)unused;
    atomic_store(&has_run, 1);
}

static void dozes(void *unused)
{
    (void)unused;
    usleep(1500);
}

static void waits(void *unused)
{
    (void)unused;
    sem_post(&begun);
    sem_wait(&go_on);
}

static void lags(void *unused)
{
    struct timespec begin, now;
    waits(unused);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 60);
}

static void asks(void *unused)
{
    (void)unused;
    (void)cudaGetLastError();
    sem_post(&begun);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        cudaHostFn_t function;
    } ways[] = {
        {"wakes", wakes}, {"spins", spins}, {"dozes", dozes},
        {"waits", waits}, {"lags", lags},   {"asks", asks},
    };
    cudaHostFn_t function = NULL;
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name))
            function = ways[i].function;
    if (!function)
        return 2;
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, 2 * MiB));
    for (int i = 0; i < (function == spins ? 1 : 5); i++) {
        CHECK(launch_fill(data, i, count, a));
        CHECK(cudaLaunchHostFunc(a, function, NULL));
        CHECK(launch_fill(data, i, count, a));
        if (function == spins)
            while (!atomic_load(&has_run))
                ;
        else if (function != dozes)
            sem_wait(&begun);
        CHECK(launch_fill(data + count, i, count, b));
        CHECK(cudaStreamSynchronize(b));
        if (function == waits || function == lags)
            sem_post(&go_on);
        CHECK(cudaStreamSynchronize(a));
    }
    CHECK(cudaFree(data));
    return 0;
}
