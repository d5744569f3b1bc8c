/* Asks again what simulator/tests/facts/p2p.txt holds: two devices, and who may touch the other's
 * pool. peers N: run N of the eight, a process each, since a fault ends a process's devices. It
 * also runs on two GPUs: link it with kernels.cu and -lcudart. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ask.h"
#include "kernels.h"

#define MiB ((size_t)1 << 20)

static cudaStream_t s0, s1;
static cudaMemPool_t d0, d1;
static void *a, *b, *m;

static cudaError_t acc(cudaMemPool_t pool, int device, enum cudaMemAccessFlags flags)
{
    struct cudaMemAccessDesc d = {.location = {.type = cudaMemLocationTypeDevice, .id = device},
                                  .flags = flags};
    cudaError_t e = cudaMemPoolSetAccess(pool, &d, 1);
    cudaGetLastError();
    return e;
}

static int access_of(int device)
{
    struct cudaMemLocation l = {.type = cudaMemLocationTypeDevice, .id = device};
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    cudaMemPoolGetAccess(&flags, d0, &l);
    return flags;
}

/* A kernel on device 1 writes into the block of device 0. */
static void kernel_on_1(void *data)
{
    cudaSetDevice(1);
    launch_fill(data, 9, 256, s1);
}

static void first(void)
{
    struct cudaPointerAttributes pa;
    int count = 0, can = 0;
    cudaGetDeviceCount(&count);
    printf("devices %d\n", count);
    ASK(cudaDeviceCanAccessPeer(&can, 1, 0));
    printf("  can 1->0 %d\n", can);
    ASK(cudaDeviceCanAccessPeer(&can, 0, 0));
    printf("  can 0->0 %d\n", can);
    cudaStreamCreate(&s0);
    cudaDeviceGetDefaultMemPool(&d0, 0);
    cudaDeviceGetDefaultMemPool(&d1, 1);
    cudaSetDevice(1);
    cudaStreamCreate(&s1);
    cudaSetDevice(0);
    ASK(cudaMallocAsync((void **)&a, MiB, s0));
    ASK(cudaMemsetAsync(a, 0, MiB, s0));
    ASK(cudaStreamSynchronize(s0));
    printf("  access of 0: %d, of 1: %d\n", access_of(0), access_of(1));
    ASK(cudaMallocAsync((void **)&b, MiB, s1));
    ASK(cudaPointerGetAttributes(&pa, b));
    printf("  allocated with current device 0 on a stream of device 1: on device %d\n", pa.device);
    ASK(cudaFreeAsync(b, s1));
    ASK(cudaMallocFromPoolAsync((void **)&b, MiB, d0, s1));
    ASK(cudaPointerGetAttributes(&pa, b));
    printf("  from pool 0 on a stream of device 1: on device %d\n", pa.device);
    ASK(cudaFreeAsync(b, s1));
    ASK(cudaStreamSynchronize(s1));
}

static void granted_and_revoked(void)
{
    int h = 0;
    ASK(acc(d0, 1, cudaMemAccessFlagsProtReadWrite));
    printf("  access of 1 now %d\n", access_of(1));
    kernel_on_1(a);
    ASK(cudaGetLastError());
    ASK(cudaStreamSynchronize(s1));
    ASK(cudaSetDevice(0));
    ASK(cudaMemcpyAsync(&h, a, 4, cudaMemcpyDeviceToHost, s0));
    ASK(cudaStreamSynchronize(s0));
    printf("  value written by device 1: %d\n", h);
    ASK(cudaDeviceEnablePeerAccess(1, 0));
    ASK(acc(d0, 1, cudaMemAccessFlagsProtRead));
    printf("  access of 1 now %d\n", access_of(1));
    ASK(acc(d0, 1, cudaMemAccessFlagsProtNone));
    printf("  access of 1 revoked, now %d\n", access_of(1));
    ASK(acc(d0, 0, cudaMemAccessFlagsProtNone));
    ASK(acc(d0, 0, cudaMemAccessFlagsProtRead));
    ASK(acc(d0, 2, cudaMemAccessFlagsProtReadWrite));
    ASK(acc(d0, -1, cudaMemAccessFlagsProtReadWrite));
    kernel_on_1(a);
    ASK(cudaGetLastError());
    ASK(cudaStreamSynchronize(s1));
}

static void no_access(void)
{
    kernel_on_1(a);
    ASK(cudaGetLastError());
    ASK(cudaStreamSynchronize(s1));
    ASK(cudaSetDevice(0));
    ASK(cudaStreamSynchronize(s0));
    ASK(cudaMallocAsync((void **)&b, MiB, s0));
}

static void memset_refused(void)
{
    ASK(cudaMemsetAsync(a, 3, 1024, s1));
    ASK(cudaStreamSynchronize(s1));
}

static void copies(void)
{
    ASK(cudaMallocAsync((void **)&b, MiB, s1));
    ASK(cudaMemcpyAsync(b, a, 1024, cudaMemcpyDeviceToDevice, s1));
    ASK(cudaStreamSynchronize(s1));
    ASK(cudaMemcpyPeerAsync(b, 1, a, 0, 1024, s1));
    ASK(cudaStreamSynchronize(s1));
    ASK(cudaMemcpyPeerAsync(b, 1, a, 0, 1024, s0));
    ASK(cudaStreamSynchronize(s0));
}

static void enabled_is_not_granted(void)
{
    cudaSetDevice(1);
    ASK(cudaDeviceEnablePeerAccess(0, 0));
    kernel_on_1(a);
    ASK(cudaGetLastError());
    ASK(cudaStreamSynchronize(s1));
}

static void plain_memory(void)
{
    ASK(cudaMalloc((void **)&m, MiB));
    kernel_on_1(m);
    ASK(cudaGetLastError());
    ASK(cudaStreamSynchronize(s1));
}

static void later_block(void)
{
    ASK(acc(d0, 1, cudaMemAccessFlagsProtReadWrite));
    ASK(cudaMallocAsync((void **)&b, 64 * MiB, s0));
    cudaStreamSynchronize(s0);
    kernel_on_1(b);
    ASK(cudaStreamSynchronize(s1));
    puts("  allocation made after SetAccess is accessible too");
    ASK(cudaFreeAsync(b, s1));
    ASK(cudaStreamSynchronize(s1));
    ASK(cudaDeviceSetMemPool(1, d0));
    ASK(cudaDeviceSetMemPool(0, d1));
}

static void read_only(void)
{
    ASK(acc(d0, 1, cudaMemAccessFlagsProtRead));
    printf("  access of 1 read only: %d\n", access_of(1));
    kernel_on_1(a);
    ASK(cudaGetLastError());
    ASK(cudaStreamSynchronize(s1));
}

int main(int argc, char **argv)
{
    static void (*const runs[])(void) = {
        granted_and_revoked,    no_access,    memset_refused, copies,
        enabled_is_not_granted, plain_memory, later_block,    read_only};
    /* Not recorded: the results where no device can reach another. */
    if (argc > 1 && !strcmp(argv[1], "off")) {
        ASK(cudaDeviceEnablePeerAccess(1, 0));
        ASK(cudaDeviceDisablePeerAccess(1));
        return 0;
    }
    int run = argc > 1 ? atoi(argv[1]) : -1;
    if (run < 0 || run > 7) {
        fprintf(stderr, "peers: which of the runs 0 to 7?\n");
        return 2;
    }
    first();
    runs[run]();
    puts("end");
    return 0;
}
