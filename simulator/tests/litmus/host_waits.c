/* What the host has waited for, or asked about, before it goes on. */
#include "litmus.h"

/* cudaDeviceSynchronize waits for all streams of the current device.
 * Devices: 2
 *
 * WRONG: the other device is current: no edge from the write on device 0 to the one after the wait.
 * Kind: unordered writes */
LITMUS(device_synchronize, a, b)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaSetDevice(IF_WRONG_ELSE(1, 0)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The host waits for stream a. What it queues then, in any stream, happens after a's work.
 *
 * WRONG: the host waits for stream b, which has nothing to do: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(host_synchronize, a, b)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaStreamSynchronize(IF_WRONG_ELSE(b, a)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The host waits for an event that is recorded after the write.
 *
 * WRONG: the event is recorded before the write: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(event_synchronize, a, b)
{
    cudaEvent_t written = event_new();
    int *data = kept_pool_memory(MiB, a);

    IF_WRONG(CHECK(cudaEventRecord(written, a)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecord(written, a)));
    CHECK(cudaEventSynchronize(written));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The host queries an event, recorded after the write, until the answer is cudaSuccess.
 *
 * WRONG: the event is recorded before the write: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(event_query, a, b)
{
    cudaEvent_t written = event_new();
    int *data = kept_pool_memory(MiB, a);

    IF_WRONG(CHECK(cudaEventRecord(written, a)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecord(written, a)));
    while (cudaEventQuery(written) == cudaErrorNotReady)
        ;
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The host queries stream a until the answer is cudaSuccess, which is as good as waiting.
 *
 * WRONG: the host queries stream b: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(stream_query, a, b)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    while (cudaStreamQuery(IF_WRONG_ELSE(b, a)) == cudaErrorNotReady)
        ;
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The host queries stream a, gets cudaErrorNotReady, and waits.
 * Prints: not ready
 *
 * WRONG: the host goes on all the same: no edge from a's write to b's.
 * Kind: unordered writes
 * Prints: not ready */
LITMUS(query_not_ready, a, b)
{
    int *data = device_memory(MiB);
    volatile int *gate = gate_new();

    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    if (cudaStreamQuery(a) == cudaErrorNotReady)
        printf("not ready\n");
    gate_open(gate);
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The host polls pinned memory that a kernel writes behind a's fill. Then it waits for a, before b
 * uses what was filled.
 *
 * WRONG: the host does not wait. That it has seen the kernel's write is no edge: a plain store of a
 * kernel and a load of the host, with no synchronization of the two, order nothing.
 * Kind: unordered writes */
LITMUS(poll_orders_nothing, a, b)
{
    volatile int *flag = gate_new();
    int *data = device_memory(4096);
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(launch_fill((int *)flag, 1, 1, a));
    while (!*flag)
        (void)cudaStreamQuery(b);
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
}

/* The host polls pinned memory that a kernel writes. */
LITMUS(host_polls, a)
{
    volatile int *flag = gate_new();
    CHECK(launch_fill((int *)flag, 1, 1, a));
    while (!*flag)
        (void)cudaStreamQuery(cudaStreamPerThread);
}

/* When cudaEventElapsedTime succeeds, both events have been reached, and the host has acquired what
 * came before them, as from a query.
 *
 * WRONG: the host queries the event before the write only: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(elapsed_time, a, b)
{
    size_t count = 64 * MiB / sizeof(int);
    float ms;
    int *data = kept_pool_memory(64 * MiB, a);
    cudaEvent_t before = event_after(a);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    cudaEvent_t after = event_after(a);
    while (cudaEventElapsedTime(&ms, before, IF_WRONG_ELSE(before, after)) == cudaErrorNotReady)
        ;
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The host waits for cudaStreamLegacy while the device is current that has the copy.
 * Devices: 2
 *
 * WRONG: it waits while device 0 is current, for another stream: no edge from the copy of device 1
 * to the free.
 * Kind: free before the use ends
 * Says: while device 1 is current */
LITMUS(waited_on_other_device)
{
    may_fail = true;
    int *buffer = pinned_not_kept(MiB);
    CHECK(cudaSetDevice(1));
    int *data = device_memory(MiB);
    /* access */
    CHECK(cudaMemcpyAsync(data, buffer, MiB, cudaMemcpyHostToDevice, cudaStreamLegacy));
    IF_RIGHT(CHECK(cudaStreamSynchronize(cudaStreamLegacy)));
    CHECK(cudaSetDevice(0));
    IF_WRONG(CHECK(cudaStreamSynchronize(cudaStreamLegacy)));
    CHECK(cudaFreeHost(buffer)); /* free */
}

/* A thread that gave work to its own cudaStreamPerThread waits for it.
 *
 * WRONG: main waits for its own cudaStreamPerThread, which is another stream: no edge from the
 * thread's write to the free.
 * Kind: free before the use ends
 * Says: in the thread of the first */
static int *data;

static void *work(void *unused)
{
    CHECK(launch_fill(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(cudaStreamPerThread)));
    return unused;
}

LITMUS(waited_in_other_thread)
{
    data = pool_memory(MiB, cudaStreamLegacy);
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    run_in_thread(work, NULL);
    IF_WRONG(CHECK(cudaStreamSynchronize(cudaStreamPerThread)));
    CHECK(cudaFree(data)); /* free */
}

/* While one thread waits for a stream, another queues more work there. The wait is for what was
 * there before, so the host waits again before it frees. Three ways to wait.
 *
 * WRONG: the host frees after the first wait: no edge from the work that was queued meanwhile to
 * the free.
 * Kind: free before the use ends */
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
    ticks = 0;
    for (int times = 0; times < 30; times += waits())
        usleep(1000);
    CHECK(launch_hold(second, stream));
    CHECK(launch_fill(data, 1, count, stream)); /* access */
    CHECK(cudaEventRecord(event, stream));
    gate_open(first);
    return NULL;
}

LITMUS(queued_meanwhile)
{
    main_thread = gettid();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&event));
    for (int way = 0; way < 3; way++) {
        pthread_t thread;
        first = gate_create();
        second = gate_create();
        data = pool_memory(MiB, stream);
        CHECK(launch_hold(first, stream));
        CHECK(cudaEventRecord(event, stream));
        pthread_create(&thread, NULL, adds_work, NULL);
        CHECK(way == 0   ? cudaStreamSynchronize(stream)
              : way == 1 ? cudaDeviceSynchronize()
                         : cudaEventSynchronize(event));
        pthread_join(thread, NULL);
        IF_RIGHT(gate_open(second));
        IF_RIGHT(CHECK(cudaStreamSynchronize(stream)));
        CHECK(cudaFree(data)); /* free */
        IF_WRONG(gate_open(second));
        IF_WRONG(CHECK(cudaStreamSynchronize(stream)));
        gate_destroy(first);
        gate_destroy(second);
    }
}
