/* While one thread waits for a stream, another queues more work there. The wait is for what was
 * there before, so the host waits again before it frees. Three ways to wait.
 *
 * WRONG: the host frees after the first wait: no edge from the work that was queued meanwhile to
 * the free.
 * Kind: free before the use ends */
#include "litmus.h"

static int *data, main_thread;
static cudaStream_t stream;
static cudaEvent_t event;
static volatile int *first, *second;

/* The processor time that the main thread had used when it was first looked at, in ticks. */
static unsigned long ticks;

/* Whether the main thread sleeps in its call, or has computed there for 50 ms: nothing else shows
 * that it waits. */
static int waits(void)
{
    char path[64], state = 'R';
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", main_thread);
    FILE *file = fopen(path, "r");
    if (file == NULL
        || fscanf(file, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state,
                  &user, &system)
               != 3)
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
    CHECK(launch_fill(data, 1, count, stream)); /* access */
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
        CHECK(way == 0   ? cudaStreamSynchronize(stream)
              : way == 1 ? cudaDeviceSynchronize()
                         : cudaEventSynchronize(event));
        pthread_join(thread, NULL);
#ifndef WRONG
        gate_open(second);
        CHECK(cudaStreamSynchronize(stream));
#endif
        CHECK(cudaFree(data)); /* free */
#ifdef WRONG
        gate_open(second);
        CHECK(cudaStreamSynchronize(stream));
#endif
        gate_destroy(first);
        gate_destroy(second);
    }
    return 0;
}
