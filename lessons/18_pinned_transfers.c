/* 18 Pinned transfers
 *
 * Question: Which copies overlap with the host's work and each other, and when does pinning pay?
 * Task (fill): in process, decide the stream of each piece and where the host waits. copies_to_pay
 *   returns after how many copies pinning has paid; the check calls it with times of its own.
 * Calls: cudaStreamSynchronize(cudaStream_t stream)
 * Run:   make 18          Check: make check-18          Page: docs/18_pinned_transfers
 */
#include "kernels.h"
#include "workbook.h"

enum { PIECES = 4 };

/* YOUR WORK, 1 of 2. Adds 2 to every element of `host`, in four pieces. Each piece is copied up (to
 * the device), added to there, and copied down (to the host). Let the pieces take turns in the two
 * streams, so that they overlap, and make the host wait only at the end, for these two streams
 * alone: when process returns, all of `host` is ready. */
static void process(int *host, int *device, size_t count, cudaStream_t stream[2])
{
    for (size_t piece = 0; piece < PIECES; piece++) {
        size_t first = count / PIECES * piece, bytes = count / PIECES * sizeof(int);
        cudaStream_t own = stream[0];
        CHECK(cudaMemcpyAsync(device + first, host + first, bytes, cudaMemcpyHostToDevice, own));
        CHECK(launch_add(device + first, 2, count / PIECES, own));
        CHECK(cudaMemcpyAsync(host + first, device + first, bytes, cudaMemcpyDeviceToHost, own));
        /* "The next piece needs a stream that has finished." */
        CHECK(cudaStreamSynchronize(own));
    }
}

/* YOUR WORK, 2 of 2. Pinning takes `pinning` microseconds, a copy takes `pageable` from pageable
 * memory and `pinned` from pinned memory. What is the least number of copies that together save as
 * much time as pinning takes? 0: no number does. */
static int copies_to_pay(float pinning, float pageable, float pinned)
{
    (void)pinning, (void)pageable, (void)pinned;
    return 1; /* "Pinned is always better." */
}

static float time_copy(const char *name, const int *host, int *device, size_t bytes,
                       cudaStream_t stream, double limit)
{
    struct stopwatch watch = stopwatch_start(stream);
    CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
    /* In GB/s, like the limit. */
    float us = stopwatch_stop(watch, stream), rate = (float)bytes / 1000 / us;
    printf("~ %4zu MiB up, %-8s %9.1f us, %.1f GB/s, %.0f %% of it\n", bytes / MiB, name, us, rate,
           100 * rate / limit);
    return us;
}

static size_t time_process(const char *name, int *host, int *device, size_t count,
                           cudaStream_t stream[2])
{
    size_t correct = 0;
    struct stopwatch watch = stopwatch_start(stream[0]);
    process(host, device, count, stream);
    float us = stopwatch_stop(watch, stream[0]);
    for (size_t i = 0; i < count; i++)
        correct += host[i] == 42;
    printf("process, %-9s 42 in %zu of %zu elements\n~ process, %-9s %8.1f us\n", name, correct,
           count, name, us);
    return correct;
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
    struct stopwatch watch = stopwatch_start(stream[0]);
    CHECK(cudaMallocHost((void **)&pinned, bytes));
    float pinning = stopwatch_stop(watch, stream[0]);
    CHECK(cudaMallocAsync((void **)&device, bytes, stream[0]));
    CHECK(launch_fill(device, 40, count, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));

    /* The first stream holds at the gate, then has a copy to pinned memory. The other stream has a
     * copy that runs during the hold. */
    volatile int *gate = gate_create();
    CHECK(launch_hold(gate, stream[0]));
    CHECK(cudaMemcpyAsync(pinned, device, bytes / 2, cudaMemcpyDeviceToHost, stream[0]));
    printf("pinned, in a held stream   returned, stream %s\n",
           cudaGetErrorName(cudaStreamQuery(stream[0])));
    CHECK(cudaMemcpyAsync(pinned + count / 2, device + count / 2, bytes / 2, cudaMemcpyDeviceToHost,
                          stream[1]));
    CHECK(cudaStreamSynchronize(stream[1]));
    printf("pinned, beside the hold    last element %d, held stream %s\n", pinned[count - 1],
           cudaGetErrorName(cudaStreamQuery(stream[0])));
    gate_open(gate);
    CHECK(cudaMemcpyAsync(pageable, device, bytes, cudaMemcpyDeviceToHost, stream[0]));
    printf("pageable                   returned, stream %s\n",
           cudaGetErrorName(cudaStreamQuery(stream[0])));

    say_device();
    double limit = say_link_limit();
    float slow = time_copy("pageable", pageable, device, bytes, stream[0], limit);
    float fast = time_copy("pinned", pinned, device, bytes, stream[0], limit);
    printf("~ pinning takes      %10.1f us, paid after %d copies\n", pinning,
           copies_to_pay(pinning, slow, fast));
    size_t correct = time_process("pageable", pageable, device, count, stream);
    correct += time_process("pinned", pinned, device, count, stream);

    CHECK(cudaFreeAsync(device, stream[0]));
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamDestroy(stream[i]));
    CHECK(cudaFreeHost(pinned));
    gate_destroy(gate);
    free(pageable);
    return correct == 2 * count ? 0 : 1;
}
