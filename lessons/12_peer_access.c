/* 12 Peer access
 *
 * Shows  a block lies on one GPU, which the current device does not choose: cudaMallocAsync takes
 *        the stream's GPU, cudaMallocFromPoolAsync the pool's. Another GPU may use it while its
 *        pool allows it (cudaMemPoolSetAccess). Without access a kernel faults, a memset or a copy
 *        is refused, and only cudaMemcpyPeerAsync works.
 * Yours  fix: three places, marked YOUR WORK: they do what their author believed. Repair them.
 * Run    make 12          check   make check-12          page   docs/12_peer_access
 */
#include "kernels.h"
#include "workbook.h"

enum { COUNT = 1 << 18, BYTES = COUNT * sizeof(int) };
enum use { KERNEL, PEERS, MEMSET, COPY, TO_HOST, FETCH };

static cudaStream_t stream[2]; /* one of each GPU */
static cudaMemPool_t pool;     /* the default pool of GPU 0 */
/* A block on GPU 0, full of 7; one on GPU 1; an int of the host. */
static int *block, *local, value;

/* YOUR WORK, 1 of 3. From now on GPU 1 may use all blocks of `pool`, or none (allowed is 0). */
static void set_access(int allowed)
{
    /* Opens GPU 0 to GPU 1. */
    CHECK(allowed ? cudaDeviceEnablePeerAccess(0, 0) : cudaDeviceDisablePeerAccess(0));
}

/* Uses `block` while GPU 1 is current. A line: may GPU 1? What do the call, the stream of GPU 1 and
 * GPU 0 answer? */
static cudaError_t use_block(enum use use)
{
    static const char *const names[] = {
        "kernel",          "kernel, peers enabled",        "cudaMemsetAsync",
        "cudaMemcpyAsync", "to the host, stream of GPU 0", "fetch"};
    enum cudaMemAccessFlags access;
    CHECK(cudaMemPoolGetAccess(&access, pool,
                               &(struct cudaMemLocation){cudaMemLocationTypeDevice, 1}));
    /* For cudaMalloc's memory, not for pools. */
    CHECK(use == PEERS ? cudaDeviceEnablePeerAccess(0, 0) : cudaSuccess);
    /* YOUR WORK, 2 of 3. The fetch copies `block` to `local` in the stream of GPU 1, which has no
     * access to `block`. */
    cudaError_t call =
        use == FETCH  ? cudaMemcpyAsync(local, block, BYTES, cudaMemcpyDeviceToDevice, stream[1])
        : use == COPY ? cudaMemcpyAsync(local, block, BYTES, cudaMemcpyDeviceToDevice, stream[1])
        : use == TO_HOST
            ? cudaMemcpyAsync(&value, block, sizeof value, cudaMemcpyDeviceToHost, stream[0])
        : use == MEMSET ? cudaMemsetAsync(block, 0, BYTES, stream[1])
                        : launch_add(block, 1, COUNT, stream[1]);
    cudaError_t one = cudaStreamSynchronize(stream[1]), zero = cudaStreamSynchronize(stream[0]);
    printf("%-6s  %-28s  %-21s  %-23s  %s\n", access == cudaMemAccessFlagsProtNone ? "none" : "all",
           names[use], cudaGetErrorName(call), cudaGetErrorName(one), cudaGetErrorName(zero));
    return zero;
}

int main(int argc, char **argv)
{
    int *third, right = 1;
    if (argc > 1 && (argv[1][0] < '0' + KERNEL || argv[1][0] > '0' + TO_HOST))
        return fprintf(stderr, "%s: \"%s\" is no use without access: give 0 to 4, or nothing\n",
                       argv[0], argv[1]),
               2;
    need_two_gpus();
    for (int gpu = 1; gpu >= 0; gpu--) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaStreamCreate(&stream[gpu]));
    }
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    /* YOUR WORK, 3 of 3. A block on each GPU, with cudaMallocAsync. */
    CHECK(cudaSetDevice(1)); /* a block lies on the current device; any stream will do */
    CHECK(cudaMallocAsync((void **)&local, BYTES, stream[0]));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMallocAsync((void **)&block, BYTES, stream[0]));
    CHECK(launch_fill(block, 7, COUNT, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaSetDevice(1));
    if (argc > 1 && use_block((enum use)(argv[1][0] - '0')) != cudaSuccess)
        return 0; /* a fault: nothing works in this process any more, not even a free */
    if (argc == 1) {
        struct cudaPointerAttributes of[3];
        CHECK(cudaMallocFromPoolAsync((void **)&third, BYTES, pool, stream[1]));
        CHECK(cudaPointerGetAttributes(&of[0], block));
        CHECK(cudaPointerGetAttributes(&of[1], local));
        CHECK(cudaPointerGetAttributes(&of[2], third));
        CHECK(cudaFreeAsync(third, stream[1]));
        printf("cudaMallocAsync in a stream of GPU 0: a block on GPU %d\n", of[0].device);
        printf("cudaMallocAsync in a stream of GPU 1: a block on GPU %d\n", of[1].device);
        printf("from the pool of GPU 0, in a stream of GPU 1: a block on GPU %d\n", of[2].device);
        puts("access  GPU 1 current                 the call answers       stream of GPU 1         "
             " GPU 0 afterwards");
        fflush(stdout);
        for (int use = KERNEL; use <= TO_HOST; use++) {
            /* Each in a process of its own: this program, started once more. */
            char command[4096];
            snprintf(command, sizeof command, "'%s' %d", argv[0], use);
            right &= system(command) == 0;
        }
        use_block(FETCH);
        int fetched = last_of(local, COUNT, stream[1]);
        set_access(1);
        use_block(KERNEL);
        use_block(COPY);
        int copied = last_of(local, COUNT, stream[1]);
        use_block(MEMSET);
        set_access(0);
        use_block(MEMSET);
        printf("the fetch brought %d, the copy with access %d\n", fetched, copied);
        right &= fetched == 7 && copied == 8;
    }
    CHECK(cudaFreeAsync(local, stream[1]));
    CHECK(cudaFreeAsync(block, stream[0]));
    CHECK(cudaStreamDestroy(stream[1]));
    CHECK(cudaStreamDestroy(stream[0]));
    return right ? 0 : 1;
}
