/* While one thread waits for a stream, another gives it more to do. The wait says nothing about that; the first thread frees all the same. Three ways to wait.
 * Kind: free before the use ends */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "kernels.h"
#include "workbook.h"

static size_t count = MiB / sizeof(int);
static int *data, main_thread;
static cudaStream_t stream;
static cudaEvent_t event;
static volatile int *first, *second;
static unsigned long ticks;         /* the main thread's, when it was first looked at */

/* Has the main thread gone to sleep in its call, or computed there for 50 ms? Nobody else may know that it waits. */
static int waits(void)
{
    char path[64], state = 'R';
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", main_thread);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user, &system) != 3)
        state = 'R';
    if (file != NULL)
        fclose(file);
    if (ticks == 0)
        ticks = user + system + 1;
    return state == 'S' || user + system > ticks + 5;
}

static void *adds_work(void *unused)
{
    (void)unused;
    ticks = 0;
    for (int times = 0; times < 30; times = waits() ? times + 1 : 0)
        usleep(1000);
    CHECK(launch_hold(second, stream));
    CHECK(launch_fill(data, 1, count, stream));         /* one */
    CHECK(cudaEventRecord(event, stream));
    gate_open(first);
    return NULL;
}

int main(void)
{
    main_thread = gettid();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&event));
    for (int way = 0; way < 3; way++) {
        pthread_t thread;
        first = gate_create();
        second = gate_create();
        CHECK(cudaMallocAsync((void **)&data, MiB, stream));
        CHECK(launch_hold(first, stream));
        CHECK(cudaEventRecord(event, stream));
        pthread_create(&thread, NULL, adds_work, NULL);
        CHECK(way == 0 ? cudaStreamSynchronize(stream) : way == 1 ? cudaDeviceSynchronize() : cudaEventSynchronize(event));
        pthread_join(thread, NULL);
        CHECK(cudaFree(data));                          /* other */
        gate_open(second);
        CHECK(cudaStreamSynchronize(stream));
        gate_destroy(first);
        gate_destroy(second);
    }
    return 0;
}
