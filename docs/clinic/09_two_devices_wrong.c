/* Clinic, case 9. The shape of https://github.com/openxla/xla/pull/14891 (XLA).
 *
 * Each device has a pool of its own for cudaMallocAsync. A collective operation runs on device 1
 * and writes into the memory of both devices. The devices can reach each other. */
#include "kernels.h"
#include "workbook.h"

#define DEVICES 2
#define BYTES   (1 * MiB)
#define COUNT   (BYTES / sizeof(int))

static cudaMemPool_t pools[DEVICES];
static cudaStream_t streams[DEVICES];

static void pools_create(void)
{
    for (int device = 0; device < DEVICES; device++) {
        struct cudaMemPoolProps props = {0};
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        props.location.id = device;
        CHECK(cudaSetDevice(device));
        CHECK(cudaMemPoolCreate(&pools[device], &props));
        CHECK(cudaDeviceSetMemPool(device, pools[device]));
        CHECK(cudaStreamCreate(&streams[device]));
    }
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
}

int main(void)
{
    int *parts[DEVICES], value;
    need_two_gpus();
    pools_create();
    for (int device = 0; device < DEVICES; device++) {
        CHECK(cudaMallocAsync((void **)&parts[device], BYTES, streams[device]));
        CHECK(cudaStreamSynchronize(streams[device]));
    }
    for (int device = 0; device < DEVICES; device++) /* the collective operation */
        CHECK(launch_fill(parts[device], 4, COUNT, streams[1]));
    CHECK(cudaStreamSynchronize(streams[1]));
    CHECK(cudaMemcpy(&value, parts[0], sizeof value, cudaMemcpyDeviceToHost));
    printf("device 1 wrote 4 into the memory of device 0, which holds %d\n", value);

    for (int device = 0; device < DEVICES; device++)
        CHECK(cudaFreeAsync(parts[device], streams[device]));
    CHECK(cudaDeviceSynchronize());
    return value != 4;
}
