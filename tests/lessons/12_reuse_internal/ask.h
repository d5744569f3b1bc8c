/* Calls lesson 12's take in situations that its main does not try, each with `mib` MiB (the
 * argument), of which a stream fills 1 KiB: the shared pool has room; the shared pool is full, the
 * spare one is free, the slow stream is held; both are full, and the slow stream ends; there is no
 * memory at all. In situation N the slow stream fills with N, in the shared pool, and the fast one
 * then with 10 + N, in what take returned: the journal shows where that is, and when it ran. The
 * check puts the lesson in front of this file, its main renamed. */
#include <threads.h>

static int asked_number;

/* The slow stream uses and frees `mib` MiB in a shared pool, whose limit is `limit` times that;
 * take then allocates `wanted` times as much. */
static void asked_in(const char *situation, size_t mib, size_t limit, int spare_is_full, int held,
                     size_t wanted)
{
    cudaMemPool_t shared = shared_pool(limit * mib), spare = pool_limited(mib, 0);
    int *memory = NULL;
    void *others = NULL;
    volatile int *gate = gate_create();
    asked_number++;
    if (spare_is_full)
        CHECK(cudaMallocFromPoolAsync(&others, mib * MiB, spare, fast));
    CHECK(cudaMallocFromPoolAsync((void **)&memory, mib * MiB, shared, slow));
    if (held)
        CHECK(launch_hold(gate, slow));
    CHECK(launch_fill(memory, asked_number, 1024 / sizeof(int), slow));
    CHECK(cudaFreeAsync(memory, slow));

    cudaGetLastError();
    memory = NULL;
    cudaError_t result = take(&memory, wanted * mib * MiB, shared, spare),
                last = cudaGetLastError();
    printf("\ntake, %s = %s\n", situation, cudaGetErrorName(result));
    printf("\ncudaGetLastError after take, %s = %s\n", situation, cudaGetErrorName(last));
    if (result == cudaSuccess)
        CHECK(launch_fill(memory, 10 + asked_number, 1024 / sizeof(int), fast));
    if (held) { /* the device does all that waits for nothing held, by the next call */
        thrd_sleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        cudaStreamQuery(fast);
    }
    gate_open(gate);
    if (result == cudaSuccess)
        CHECK(cudaFreeAsync(memory, fast));
    if (others != NULL)
        CHECK(cudaFreeAsync(others, fast));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(shared));
    CHECK(cudaMemPoolDestroy(spare));
    gate_destroy(gate);
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? (size_t)atoi(argv[1]) : 0;
    if (mib == 0)
        return 2;
    CHECK(cudaStreamCreateWithFlags(&slow, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&fast, cudaStreamNonBlocking));
    asked_in("the shared pool has room", mib, 2, 0, 1, 1);
    asked_in("the slow stream held and the spare pool free", mib, 1, 0, 1, 1);
    asked_in("both pools full", mib, 1, 1, 0, 1);
    asked_in("more than both pools may hold", mib, 1, 1, 0, 2);
    CHECK(cudaStreamDestroy(fast));
    CHECK(cudaStreamDestroy(slow));
    return 0;
}
