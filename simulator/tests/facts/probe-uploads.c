/* Records whether cudaMemcpy from ordinary memory returns before its bytes are on the device: a
 * non-blocking stream reads the last of them at once. The documentation says that it may return
 * when the bytes were copied aside. A line says in how many of the rounds (uploads [ROUNDS]) the
 * reader came too early; that is chance, and none proves nothing. */
#include "probe.h"

enum { TAIL = 4096 };

static int rounds = 200;

static int *tail; /* pinned */

/* The upload of one value, and what the stream found behind it. */
static int came_early(int *device, const int *source, size_t bytes, int value, int busy)
{
    cudaMemset(device, 0xff, bytes);
    cudaDeviceSynchronize();
    if (busy)
        cudaMemsetAsync((char *)m, 0, 64 * MiB, 0);
    cudaMemcpy(device, source, bytes, cudaMemcpyHostToDevice);
    cudaMemcpyAsync(tail, (const char *)device + bytes - TAIL, TAIL, cudaMemcpyDeviceToHost, t);
    cudaStreamSynchronize(t);
    int early = 0;
    for (size_t i = 0; i < TAIL / sizeof *tail; i++)
        early |= tail[i] != value;
    cudaDeviceSynchronize();
    return early;
}

static void upload(size_t bytes, int busy)
{
    int *device, *source = malloc(bytes), early = 0;
    cudaMalloc((void **)&device, bytes);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < bytes / sizeof *source; i++)
            source[i] = round;
        early += came_early(device, source, bytes, round, busy);
    }
    printf("%9zu bytes%s: read too early in %d of %d rounds\n", bytes,
           busy ? ", the legacy stream has work" : "", early, rounds);
    free(source);
    cudaFree(device);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {TAIL, 64 << 10, MiB, 8 * MiB, 64 * MiB};
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    set_up_process();
    cudaMalloc(&m, 64 * MiB);
    cudaMallocHost((void **)&tail, TAIL);
    for (int busy = 0; busy < 2; busy++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            upload(sizes[i], busy);
    puts("end");
    return 0;
}
