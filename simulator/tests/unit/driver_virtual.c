/* Virtual memory of the driver API: driver_virtual CASE. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases.h"
#include "kernels.h"

#define STEP ((size_t)2 << 20)
#define OK(call)                                                                   \
    do {                                                                           \
        int result = (int)(call);                                                  \
        if (result) {                                                              \
            fprintf(stderr, "line %d: %s returned %d\n", __LINE__, #call, result); \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

static CUdeviceptr at;                      /* four steps of addresses */
static CUmemGenericAllocationHandle memory; /* two steps */
static cudaStream_t s;

static void make(void)
{
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cudaStreamCreate(&s));
    OK(cuMemAddressReserve(&at, 4 * STEP, 0, 0, 0));
    OK(cuMemCreate(&memory, 2 * STEP, &p, 0));
}

static void map(CUdeviceptr place, int with_access)
{
    CUmemAccessDesc d;
    memset(&d, 0, sizeof d);
    d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemMap(place, 2 * STEP, 0, memory, 0));
    if (with_access)
        OK(cuMemSetAccess(place, 2 * STEP, &d, 1));
}

static void fill(CUdeviceptr place, int value)
{
    OK(launch_fill((int *)place, value, STEP / 4, s));
}

/* Mapped, used, seen at a second place, taken apart, and mapped anew with the same bytes. */
CASE(used)
{
    int value = 0;
    make();
    map(at, 1);
    map(at + 2 * STEP, 1);
    fill(at, 5);
    OK(cudaStreamSynchronize(s));
    OK(cuMemcpyDtoH(&value, at + 2 * STEP, 4));
    OK(cuMemUnmap(at, 4 * STEP));
    map(at, 1);
    fill(at, value + 2);
    OK(cudaStreamSynchronize(s));
    OK(cuMemcpyDtoH(&value, at, 4));
    printf("%d\n", value);
    OK(cuMemUnmap(at, 2 * STEP));
    OK(cuMemRelease(memory));
    OK(cuMemAddressFree(at, 4 * STEP));
}

CASE(not_unmapped)
{
    make();
    map(at, 1);
}

CASE(after_unmapping)
{
    make();
    map(at, 1);
    OK(cuMemUnmap(at, 2 * STEP));
    fill(at, 5);
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

CASE(unmapped_in_use)
{
    make();
    map(at, 1);
    fill(at, 5);
    OK(cuMemUnmap(at, 2 * STEP));
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

CASE(without_access)
{
    make();
    map(at, 0);
    fill(at, 5);
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

/* A race at mapped memory. */
CASE(unordered)
{
    cudaStream_t t;
    make();
    map(at, 1);
    OK(cudaStreamCreate(&t));
    fill(at, 5);
    OK(launch_add((int *)at, 1, STEP / 4, t));
    OK(cudaDeviceSynchronize());
}

CASE(refused)
{
    CUmemAllocationProp p;
    CUmemAccessDesc d;
    memset(&p, 0, sizeof p);
    memset(&d, 0, sizeof d);
    make();
    map(at, 1);
    d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    printf("%d\n", (int)cuMemSetAccess(at, 2 * STEP, &d, 1));
    printf("%d\n", (int)cuMemCreate(&memory, STEP, &p, 0));
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = 1;
    OK(cuMemCreate(&memory, STEP, &p, 0));
    printf("%d\n", (int)cuMemMap(at + 2 * STEP, STEP, 0, memory, 0));
    OK(cuMemUnmap(at, 2 * STEP));
    printf("%d\n", (int)cuMemAddressReserve(&at, STEP, (size_t)1 << 30, 0, 0));
}

int main(int argc, char **argv)
{
    OK(cudaFree(0));
    return run_case(argc, argv);
}
