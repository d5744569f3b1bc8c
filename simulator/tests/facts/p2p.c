/* Two GPUs: who may touch the other's pool.
 *
 *   p2p      the eight runs, a process each, since a fault ends a process's devices
 *   p2p RUN  one of them, 0 to 7, in this process */
#define CALL_COLUMNS 78
#include "probe.h"

static cudaStream_t s0, s1;
static cudaMemPool_t d0, d1;
static void *a;

static cudaError_t acc(cudaMemPool_t pool, int device, enum cudaMemAccessFlags flags)
{
    cudaError_t e = give_access(pool, location_of(DEVICE, device), flags);
    cudaGetLastError();
    return e;
}

/* A kernel on device 1 writes into the block of device 0. */
static void kernel_on_1(void *data)
{
    cudaSetDevice(1);
    launch_fill(data, 9, 256, s1);
    RECORD_SYNC(cudaGetLastError(), s1);
}

/* What every run begins with. */
static void first(void)
{
    void *b;
    struct cudaPointerAttributes pa;
    int count = 0, can = 0;
    cudaGetDeviceCount(&count);
    printf("devices %d\n", count);
    RECORD(cudaDeviceCanAccessPeer(&can, 1, 0));
    printf("  can 1->0 %d\n", can);
    RECORD(cudaDeviceCanAccessPeer(&can, 0, 0));
    printf("  can 0->0 %d\n", can);
    cudaStreamCreate(&s0);
    cudaDeviceGetDefaultMemPool(&d0, 0);
    cudaDeviceGetDefaultMemPool(&d1, 1);
    cudaSetDevice(1);
    cudaStreamCreate(&s1);
    cudaSetDevice(0);
    RECORD(cudaMallocAsync((void **)&a, MiB, s0));
    RECORD_SYNC(cudaMemsetAsync(a, 0, MiB, s0), s0);
    printf("  access of 0: %d, of 1: %d\n", pool_access(d0, 0), pool_access(d0, 1));
    RECORD(cudaMallocAsync((void **)&b, MiB, s1));
    RECORD(cudaPointerGetAttributes(&pa, b));
    printf("  allocated with current device 0 on a stream of device 1: on device %d\n", pa.device);
    RECORD(cudaFreeAsync(b, s1));
    RECORD(cudaMallocFromPoolAsync((void **)&b, MiB, d0, s1));
    RECORD(cudaPointerGetAttributes(&pa, b));
    printf("  from pool 0 on a stream of device 1: on device %d\n", pa.device);
    RECORD_SYNC(cudaFreeAsync(b, s1), s1);
}

CASE(granted_and_revoked)
{
    int h = 0;
    RECORD(acc(d0, 1, cudaMemAccessFlagsProtReadWrite));
    printf("  access of 1 now %d\n", pool_access(d0, 1));
    kernel_on_1(a);
    RECORD(cudaSetDevice(0));
    RECORD_SYNC(cudaMemcpyAsync(&h, a, 4, cudaMemcpyDeviceToHost, s0), s0);
    printf("  value written by device 1: %d\n", h);
    RECORD(cudaDeviceEnablePeerAccess(1, 0));
    RECORD(acc(d0, 1, cudaMemAccessFlagsProtRead));
    printf("  access of 1 now %d\n", pool_access(d0, 1));
    RECORD(acc(d0, 1, cudaMemAccessFlagsProtNone));
    printf("  access of 1 revoked, now %d\n", pool_access(d0, 1));
    RECORD(acc(d0, 0, cudaMemAccessFlagsProtNone));
    RECORD(acc(d0, 0, cudaMemAccessFlagsProtRead));
    RECORD(acc(d0, 2, cudaMemAccessFlagsProtReadWrite));
    RECORD(acc(d0, -1, cudaMemAccessFlagsProtReadWrite));
    kernel_on_1(a);
}

CASE(no_access)
{
    void *b;
    kernel_on_1(a);
    RECORD_SYNC(cudaSetDevice(0), s0);
    RECORD(cudaMallocAsync((void **)&b, MiB, s0));
}

CASE(memset_refused) { RECORD_SYNC(cudaMemsetAsync(a, 3, 1024, s1), s1); }

CASE(copies)
{
    void *b;
    RECORD(cudaMallocAsync((void **)&b, MiB, s1));
    RECORD_SYNC(cudaMemcpyAsync(b, a, 1024, cudaMemcpyDeviceToDevice, s1), s1);
    RECORD_SYNC(cudaMemcpyPeerAsync(b, 1, a, 0, 1024, s1), s1);
    RECORD_SYNC(cudaMemcpyPeerAsync(b, 1, a, 0, 1024, s0), s0);
}

CASE(enabled_is_not_granted)
{
    cudaSetDevice(1);
    RECORD(cudaDeviceEnablePeerAccess(0, 0));
    kernel_on_1(a);
}

CASE(plain_memory)
{
    RECORD(cudaMalloc((void **)&m, MiB));
    kernel_on_1(m);
}

CASE(later_block)
{
    void *b;
    RECORD(acc(d0, 1, cudaMemAccessFlagsProtReadWrite));
    RECORD(cudaMallocAsync((void **)&b, 64 * MiB, s0));
    cudaStreamSynchronize(s0);
    cudaSetDevice(1);
    launch_fill(b, 9, 256, s1);
    RECORD(cudaStreamSynchronize(s1));
    puts("  allocation made after SetAccess is accessible too");
    RECORD_SYNC(cudaFreeAsync(b, s1), s1);
    RECORD(cudaDeviceSetMemPool(1, d0));
    RECORD(cudaDeviceSetMemPool(0, d1));
}

CASE(read_only)
{
    RECORD(acc(d0, 1, cudaMemAccessFlagsProtRead));
    printf("  access of 1 read only: %d\n", pool_access(d0, 1));
    kernel_on_1(a);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        run_numbers_apart(argv[0], 8);
        return 0;
    }
    shows_last_error = 0;
    /* Not recorded: the results where no device can reach another. */
    if (!strcmp(argv[1], "off")) {
        RECORD(cudaDeviceEnablePeerAccess(1, 0));
        RECORD(cudaDeviceDisablePeerAccess(1));
        return 0;
    }
    const struct named_case *run = named_cases;
    for (int number = atoi(argv[1]); run && number; number--)
        run = run->next;
    if (!run) {
        fprintf(stderr, "p2p: which of the runs 0 to 7?\n");
        return 2;
    }
    first();
    run->run();
    puts("end");
    return 0;
}
