/* A signal arrives in the middle of a call, and its handler ends the program or makes a call of its
 * own: interrupted exit|call. On a loaded machine some arrive before or after the call, which does
 * no harm. */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>

static bool calls;

static void handle(int number)
{
    int device;
    if (calls)
        cudaGetDevice(&device);
    else
        exit(number == SIGALRM ? 5 : 6);
}

int main(int argc, char **argv)
{
    struct itimerval soon = {.it_value.tv_usec = 5000};
    size_t bytes = 256 * MiB;
    cudaStream_t s;
    int *data;
    calls = argc > 1 && !strcmp(argv[1], "call");
    if (calls)
        soon.it_interval.tv_usec = 5000;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync((void **)&data, bytes, s));
    void *zeros = calloc(1, bytes); /* A memset of as much would only be noted, page by page. */
    CHECK(cudaMemcpyAsync(data, zeros, bytes, cudaMemcpyHostToDevice, s));
    CHECK(cudaStreamSynchronize(s));
    signal(SIGALRM, handle);
    CHECK(launch_add(data, 1, bytes / sizeof(int), s));
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK(cudaStreamSynchronize(s));
    return 0;
}
