/* Virtual memory of the driver API: driver_virtual CASE. */
#include <cuda.h>

#include "expect.h"
#include "kernels.h"

#define STEP ((size_t)2 << 20)

static CUdeviceptr at;                      /* four steps of addresses */
static CUmemGenericAllocationHandle memory; /* two steps */
static cudaStream_t s;

static CUmemAllocationProp on_device(int device)
{
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    return p;
}

static void make(void)
{
    CUmemAllocationProp p = on_device(0);
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cudaStreamCreate(&s));
    DO(cuMemAddressReserve(&at, 4 * STEP, 0, 0, 0));
    DO(cuMemCreate(&memory, 2 * STEP, &p, 0));
}

static void map(CUdeviceptr place, int with_access)
{
    CUmemAccessDesc d;
    memset(&d, 0, sizeof d);
    d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DO(cuMemMap(place, 2 * STEP, 0, memory, 0));
    if (with_access)
        DO(cuMemSetAccess(place, 2 * STEP, &d, 1));
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
    DO(cuMemcpyDtoH(&value, at + 2 * STEP, 4));
    DO(cuMemUnmap(at, 4 * STEP));
    map(at, 1);
    fill(at, value + 2);
    OK(cudaStreamSynchronize(s));
    DO(cuMemcpyDtoH(&value, at, 4));
    printf("%d\n", value);
    DO(cuMemUnmap(at, 2 * STEP));
    DO(cuMemRelease(memory));
    DO(cuMemAddressFree(at, 4 * STEP));
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
    DO(cuMemUnmap(at, 2 * STEP));
    fill(at, 5);
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

CASE(unmapped_in_use)
{
    make();
    map(at, 1);
    fill(at, 5);
    DO(cuMemUnmap(at, 2 * STEP));
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

/* The memory is unmapped and its addresses are given back while a memset may still write there. */
CASE(given_back_in_use)
{
    make();
    map(at, 1);
    DO(cuMemsetD8Async(at, 5, 2 * STEP, s));
    DO(cuMemUnmap(at, 2 * STEP));
    DO(cuMemAddressFree(at, 4 * STEP));
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

/* Memory of two devices side by side, as one array. */
CASE(two_devices)
{
    CUmemGenericAllocationHandle other;
    CUmemAllocationProp p = on_device(1);
    CUmemAccessDesc d[2] = {{p.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                            {p.location, CU_MEM_ACCESS_FLAGS_PROT_READ}};
    int two[2], device[2] = {-1, -1};
    make();
    DO(cuMemCreate(&other, 2 * STEP, &p, 0));
    map(at, 1);
    DO(cuMemMap(at + 2 * STEP, 2 * STEP, 0, other, 0));
    d[0].location.id = 0;
    DO(cuMemSetAccess(at, 4 * STEP, d, 2));
    DO(cuMemsetD8(at, 1, 4 * STEP));
    OK(launch_add((int *)(at + 2 * STEP), 1, STEP / 4, s));
    OK(cudaStreamSynchronize(s));
    DO(cuMemcpyDtoH(two, at + 2 * STEP - 4, sizeof two));
    DO(cuPointerGetAttribute(&device[0], CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    DO(cuPointerGetAttribute(&device[1], CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at + 2 * STEP));
    printf("%x %x, devices %d %d\n", (unsigned)two[0], (unsigned)two[1], device[0], device[1]);
    /* Device 1 may only read. */
    OK(cudaSetDevice(1));
    DO(cuMemcpyDtoH(two, at, sizeof two));
    printf("%d\n", (int)cuMemcpyHtoD(at + 2 * STEP - 4, two, sizeof two));
    OK(cudaSetDevice(0));
    DO(cuMemUnmap(at, 4 * STEP));
    DO(cuMemRelease(memory));
    DO(cuMemRelease(other));
    DO(cuMemAddressFree(at, 4 * STEP));
}

/* A race at the second of two mappings, which a memset of both touches. */
CASE(unordered_beyond)
{
    make();
    map(at, 1);
    map(at + 2 * STEP, 1);
    OK(launch_add((int *)(at + 2 * STEP), 1, STEP / 4, s));
    OK(cudaMemsetAsync((void *)at, 0, 4 * STEP, cudaStreamPerThread));
    OK(cudaDeviceSynchronize());
}

/* Two streams use the same memory at two addresses; ordered: one waits for the other; imported: the
 * second address has it by a handle of its own, as in a library that shares memory. */
static void use_both(int ordered, int imported)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    cudaStream_t t;
    cudaEvent_t filled;
    int file;
    make();
    map(at, 1);
    if (imported) {
        DO(cuMemExportToShareableHandle(&file, memory, type, 0));
        DO(cuMemImportFromShareableHandle(&memory, (void *)(uintptr_t)file, type));
    }
    map(at + 2 * STEP, 1);
    OK(cudaStreamCreate(&t));
    OK(cudaEventCreate(&filled));
    OK(cudaMemsetAsync((void *)at, 0, 4 * STEP, s));
    fill(at, 5);
    OK(cudaEventRecord(filled, s));
    if (ordered)
        OK(cudaStreamWaitEvent(t, filled, 0));
    OK(launch_add((int *)(at + 2 * STEP), 1, STEP / 4, t));
    OK(cudaDeviceSynchronize());
    DO(cuMemUnmap(at, 2 * STEP));
    OK(launch_add((int *)(at + 2 * STEP), 1, STEP / 4, s));
    OK(cudaDeviceSynchronize());
    DO(cuMemUnmap(at + 2 * STEP, 2 * STEP));
}

CASE(two_addresses) { use_both(1, 0); }
CASE(two_addresses_unordered) { use_both(0, 0); }
CASE(two_handles) { use_both(1, 1); }
CASE(two_handles_unordered) { use_both(0, 1); }

CASE(refused)
{
    CUmemAllocationProp p = on_device(0);
    make();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    printf("%d\n", (int)cuMemCreate(&memory, STEP, &p, 0));
    printf("%d\n", (int)cuMemAddressReserve(&at, STEP, (size_t)1 << 30, 0, 0));
}

int main(int argc, char **argv)
{
    OK(cudaFree(0));
    return run_case(argc, argv);
}
