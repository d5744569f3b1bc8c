/* 16 Pinned transfers
 *
 * Shows  a copy between the device and pinned (page-locked) memory runs on its own, at the speed of the link, beside
 *        the work of other streams. Ordinary memory is pageable: it goes through a buffer of the driver, which is
 *        slower, and the host waits. Pinning takes time too, more than one copy saves.
 * Yours  fill: process and copies_to_pay, marked YOUR WORK.
 * Run    make 16          check   make check-16          page   docs/16_pinned_transfers
 */
#include "kernels.h"
#include "workbook.h"

enum { PIECES = 4, COPIES = 4 };

/* YOUR WORK, 1 of 2. Adds 2 to every element of `host`, in four pieces: each is copied up, added to and copied down.
 * Pieces take turns in the two streams, so that one runs beside the other, and the host waits only at the end. */
static void process(int *host, int *device, size_t count, cudaStream_t stream[2])
{
    for (size_t piece = 0; piece < PIECES; piece++) {
        size_t first = count / PIECES * piece, bytes = count / PIECES * sizeof(int);
        cudaStream_t own = stream[piece % 2];
        CHECK(cudaMemcpyAsync(device + first, host + first, bytes, cudaMemcpyHostToDevice, own));
        CHECK(launch_add(device + first, 2, count / PIECES, own));
        CHECK(cudaMemcpyAsync(host + first, device + first, bytes, cudaMemcpyDeviceToHost, own));
    }
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaStreamSynchronize(stream[1]));
}

/* YOUR WORK, 2 of 2. Pinning takes `pinning` microseconds, a copy `pageable` or `pinned`. After how many copies has
 * pinning paid? 0: never. */
static int copies_to_pay(float pinning, float pageable, float pinned)
{
    if (pinned >= pageable)
        return 0;
    return (int)(pinning / (pageable - pinned)) + 1;
}

static cudaEvent_t begin, end;

static float microseconds(void)     /* between the events `begin` and `end` */
{
    float milliseconds;
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds * 1000;
}

/* The host's own time: the stream is idle, so an event's time is the time at which the host put it there. */
static float time_pinning(size_t bytes, cudaStream_t stream)
{
    void *memory;
    CHECK(cudaEventRecord(begin, stream));
    CHECK(cudaMallocHost(&memory, bytes));
    CHECK(cudaFreeHost(memory));
    CHECK(cudaEventRecord(end, stream));
    return microseconds();
}

static float time_copy(void *device, const void *host, size_t bytes, cudaStream_t stream)
{
    CHECK(cudaEventRecord(begin, stream));
    for (int i = 0; i < COPIES; i++)
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(end, stream));
    return microseconds() / COPIES;
}

static void compare(size_t bytes, void *pageable, void *pinned, void *device, cudaStream_t stream)
{
    float pinning = time_pinning(bytes, stream);
    float slow = time_copy(device, pageable, bytes, stream), fast = time_copy(device, pinned, bytes, stream);
    printf("~ %4zu MiB: pinning %.1f us; a copy up: pageable %.1f us, pinned %.1f us; paid after %d copies\n",
           bytes / MiB, pinning, slow, fast, copies_to_pay(pinning, slow, fast));
    printf("~     GB/s: pageable %.1f, pinned %.1f\n", (double)bytes / 1000 / slow, (double)bytes / 1000 / fast);
}

static size_t run(const char *name, int *host, int *device, size_t count, cudaStream_t stream[2])
{
    size_t right = 0;
    for (size_t i = 0; i < count; i++)
        host[i] = 40;
    CHECK(cudaEventRecord(begin, stream[0]));
    process(host, device, count, stream);
    CHECK(cudaEventRecord(end, stream[0]));
    float us = microseconds();
    for (size_t i = 0; i < count; i++)
        right += host[i] == 42;
    printf("process, %-9s 42 in %zu of %zu elements\n~ process, %-9s %8.1f us\n", name, right, count, name, us);
    return right;
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 64) * MiB, count = bytes / sizeof(int);
    int *pageable = malloc(bytes), *pinned, *device;
    cudaStream_t stream[2];
    if (pageable == NULL)
        return perror("malloc"), 1;
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMallocHost((void **)&pinned, bytes));
    CHECK(cudaMallocAsync((void **)&device, bytes, stream[0]));
    CHECK(launch_fill(device, 7, count, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    volatile int *gate = gate_create();

    /* Stream 0 holds at the gate: a copy behind it is left to the device. A copy in stream 1 runs beside the hold. */
    CHECK(launch_hold(gate, stream[0]));
    CHECK(cudaMemcpyAsync(pinned, device, bytes / 2, cudaMemcpyDeviceToHost, stream[0]));
    printf("pinned, in a held stream   returned, stream %s\n", cudaGetErrorName(cudaStreamQuery(stream[0])));
    CHECK(cudaMemcpyAsync(pinned + count / 2, device + count / 2, bytes / 2, cudaMemcpyDeviceToHost, stream[1]));
    CHECK(cudaStreamSynchronize(stream[1]));
    printf("pinned, beside the hold    last element %d, held stream %s\n", pinned[count - 1],
           cudaGetErrorName(cudaStreamQuery(stream[0])));
    gate_open(gate);
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaMemcpyAsync(pageable, device, bytes, cudaMemcpyDeviceToHost, stream[0]));
    printf("pageable                   returned, stream %s\n", cudaGetErrorName(cudaStreamQuery(stream[0])));

    compare(1 * MiB, pageable, pinned, device, stream[0]);
    compare(bytes, pageable, pinned, device, stream[0]);
    size_t right = run("pageable", pageable, device, count, stream) + run("pinned", pinned, device, count, stream);

    CHECK(cudaFreeAsync(device, stream[0]));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaStreamDestroy(stream[0]));
    CHECK(cudaStreamDestroy(stream[1]));
    CHECK(cudaFreeHost(pinned));
    gate_destroy(gate);
    free(pageable);
    return right == 2 * count ? 0 : 1;
}
