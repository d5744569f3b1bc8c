/* Virtual memory of the driver API: driver_virtual CASE. */
#include "../facts/virtual.h"
#include "expect.h"

static memory both; /* two steps */

static void set_up(void)
{
    OK(cudaStreamCreate(&s));
    at = reserve(4 * STEP);
    both = make(2 * STEP, shared());
}

/* Maps the two steps, open for the device. */
static void map_open(CUdeviceptr place)
{
    map(place, both, 2 * STEP);
    open_for_device(place, 2 * STEP);
}

static void set_up_mapped(void)
{
    set_up();
    map_open(at);
}

static void fill(CUdeviceptr place, int value)
{
    OK(launch_fill((int *)place, value, STEP / 4, s));
}

/* Mapped, used, seen at a second place, taken apart, and mapped anew with the same bytes. */
CASE(used)
{
    int value = 0;
    set_up_mapped();
    map_open(at + 2 * STEP);
    fill(at, 5);
    OK(cudaStreamSynchronize(s));
    DO(cuMemcpyDtoH(&value, at + 2 * STEP, 4));
    DO(cuMemUnmap(at, 4 * STEP));
    map_open(at);
    fill(at, value + 2);
    OK(cudaStreamSynchronize(s));
    DO(cuMemcpyDtoH(&value, at, 4));
    printf("%d\n", value);
    DO(cuMemUnmap(at, 2 * STEP));
    DO(cuMemRelease(both));
    DO(cuMemAddressFree(at, 4 * STEP));
}

CASE(not_unmapped) { set_up_mapped(); }

CASE(after_unmapping)
{
    set_up_mapped();
    DO(cuMemUnmap(at, 2 * STEP));
    fill(at, 5);
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

CASE(unmapped_in_use)
{
    set_up_mapped();
    fill(at, 5);
    DO(cuMemUnmap(at, 2 * STEP));
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

/* The memory is unmapped and its addresses are given back while a memset may still write there. */
CASE(given_back_in_use)
{
    set_up_mapped();
    DO(cuMemsetD8Async(at, 5, 2 * STEP, s));
    DO(cuMemUnmap(at, 2 * STEP));
    DO(cuMemAddressFree(at, 4 * STEP));
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

CASE(without_access)
{
    set_up();
    map(at, both, 2 * STEP);
    fill(at, 5);
    printf("%d\n", (int)cudaStreamSynchronize(s));
}

/* Memory of two devices side by side, as one array. */
CASE(two_devices)
{
    CUmemAccessDesc d[2] = {access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
                            access_of(DEVICE, 1, CU_MEM_ACCESS_FLAGS_PROT_READ)};
    int two[2], device[2] = {-1, -1};
    set_up();
    memory other = make(2 * STEP, props_of(PINNED, DEVICE, 1));
    map_open(at);
    map(at + 2 * STEP, other, 2 * STEP);
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
    DO(cuMemRelease(both));
    DO(cuMemRelease(other));
    DO(cuMemAddressFree(at, 4 * STEP));
}

/* A race at the second of two mappings, which a memset of both touches. */
CASE(unordered_beyond)
{
    set_up_mapped();
    map_open(at + 2 * STEP);
    OK(launch_add((int *)(at + 2 * STEP), 1, STEP / 4, s));
    OK(cudaMemsetAsync((void *)at, 0, 4 * STEP, cudaStreamPerThread));
    OK(cudaDeviceSynchronize());
}

/* Two streams use the same memory at two addresses; ordered: one waits for the other; imported: the
 * second address has it by a handle of its own, as in a library that shares memory. */
static void use_both(int ordered, int imported)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    cudaEvent_t filled;
    int file;
    set_up_mapped();
    if (imported) {
        DO(cuMemExportToShareableHandle(&file, both, type, 0));
        DO(cuMemImportFromShareableHandle(&both, (void *)(uintptr_t)file, type));
    }
    map_open(at + 2 * STEP);
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
    CUmemAllocationProp p = on_device();
    set_up();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    printf("%d\n", (int)cuMemCreate(&both, STEP, &p, 0));
    printf("%d\n", (int)cuMemAddressReserve(&at, STEP, (size_t)1 << 30, 0, 0));
}

int main(int argc, char **argv)
{
    OK(cudaFree(0));
    return run_case(argc, argv);
}
