/* Devices: memory accounts, peer access, attributes. */
#include "mem/device.h"

#include <stdio.h>
#include <string.h>

#include "os/needs_lock.h"

/* Measured (probe-answers.txt): what an H200's context itself takes (cudaMemGetInfo after one
 * cudaMalloc of 1 MiB, which takes 2: free 149553283072 of 150109880320) */
#define CONTEXT_BYTES ((size_t)(150109880320u - 149553283072u) - 2 * MiB)

/* Law: used_bytes is the sum of what all heaps of the device have mapped, and never exceeds
 * usable(). Needs the lock. */
static struct {
    size_t used_bytes;
    uint32_t peer_access; /* Bit o: this device may touch plain allocations of device o. */
    uint32_t last_reset_id;
} devices[MAX_DEVICES];

static size_t usable(void)
{
    return settings.memory > 16 * CONTEXT_BYTES ? settings.memory - CONTEXT_BYTES : settings.memory;
}

bool device_take(int device, size_t bytes)
{
    NEEDS_LOCK();
    if (device == NO_DEVICE)
        return true;
    if (bytes > usable() - devices[device].used_bytes)
        return false;
    devices[device].used_bytes += bytes;
    return true;
}

void device_give(int device, size_t bytes)
{
    NEEDS_LOCK();
    if (device != NO_DEVICE)
        devices[device].used_bytes -= bytes;
}

size_t device_free_memory(int device)
{
    NEEDS_LOCK();
    return usable() - devices[device].used_bytes;
}

bool device_peer_accessible(int device, int owner)
{
    NEEDS_LOCK();
    return device == owner || (devices[device].peer_access >> owner & 1);
}

void device_set_peer_access(int device, int owner, bool enabled)
{
    NEEDS_LOCK();
    if (enabled)
        devices[device].peer_access |= 1u << owner;
    else
        devices[device].peer_access &= ~(1u << owner);
}

void device_reset(int device, uint32_t newest)
{
    NEEDS_LOCK();
    devices[device].peer_access = 0;
    devices[device].last_reset_id = newest;
}

uint32_t device_last_reset_id(int device)
{
    uint32_t last = 0;
    if (device != NO_DEVICE)
        return devices[device].last_reset_id;
    for (int d = 0; d < MAX_DEVICES; d++)
        if (devices[d].last_reset_id > last)
            last = devices[d].last_reset_id;
    return last;
}

/* Measured: tests/hardware/facts/probe-answers.txt, attributes 1 to 147 of an H200 */
static const int attributes[] = {
    [1] = 1024,
    1024,
    1024,
    64,
    2147483647,
    65535,
    65535,
    49152,
    65536,
    32,
    2147483647,
    65536,
    1980000,
    512,
    1,
    132,
    0,
    0,
    1,
    0,
    131072,
    131072,
    65536,
    16384,
    16384,
    16384,
    32768,
    32768,
    2048,
    512,
    1,
    1,
    0,
    6,
    0,
    3201000,
    [37] = 6016,
    62914560,
    2048,
    3,
    1,
    32768,
    2048,
    1,
    32768,
    32768,
    8192,
    8192,
    32768,
    0,
    32,
    32768,
    32768,
    2046,
    32768,
    131072,
    65536,
    16384,
    16384,
    16384,
    32768,
    2048,
    32768,
    32768,
    2048,
    32768,
    32768,
    2046,
    268435456,
    131072,
    65000,
    2097120,
    [73] = 32768,
    32768,
    9,
    0,
    32768,
    1,
    1,
    1,
    233472,
    65536,
    1,
    0,
    0,
    0,
    2,
    0,
    1,
    1,
    1,
    0,
    0,
    0,
    1,
    1,
    232448,
    0,
    1,
    0,
    0,
    1,
    1,
    0,
    0,
    32,
    1,
    39321600,
    134217728,
    [110] = 1,
    1024,
    1,
    1,
    1,
    1,
    1,
    1,
    100,
    9,
    1,
    1,
    1,
    1,
    1,
    1,
    4,
    1,
    1,
    1,
    0,
    -1,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    590680286,
    415174878,
    1,
    1,
    0,
    1,
    1,
    0,
    0,
};

bool device_attribute(int attribute, int *value)
{
    NEEDS_LOCK();
    if (attribute < 1 || attribute >= (int)(sizeof attributes / sizeof *attributes))
        return false;
    /* Documented: a driver refuses to be asked for an attribute that is younger than itself */
    if (attribute == cudaDevAttrMemoryPoolsSupported && settings.driver_version < 11020)
        return false;
    if (attribute == cudaDevAttrMemoryPoolSupportedHandleTypes && settings.driver_version < 11030)
        return false;
    /* SIM_HANDLE_TYPES changes no attribute, only what cudaMemPoolCreate takes: as under WSL2. */
    *value = attributes[attribute];
    if (attribute == cudaDevAttrMemoryPoolSupportedHandleTypes
        && settings.driver_version < DRIVER_WITH_FABRIC_HANDLES)
        *value &= ~cudaMemHandleTypeFabric;
    /* Documented: 0 without pools. Assumed: then no handle type is promised either. */
    if (!settings.pools
        && (attribute == cudaDevAttrMemoryPoolsSupported
            || attribute == cudaDevAttrMemoryPoolSupportedHandleTypes))
        *value = 0;
    return true;
}

void device_properties(struct cudaDeviceProp *p)
{
    NEEDS_LOCK();
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Simulated device (modeled on an NVIDIA H200)");
    p->totalGlobalMem = settings.memory;
    p->major = attributes[cudaDevAttrComputeCapabilityMajor];
    p->minor = attributes[cudaDevAttrComputeCapabilityMinor];
    p->multiProcessorCount = attributes[cudaDevAttrMultiProcessorCount];
    p->warpSize = attributes[cudaDevAttrWarpSize];
    p->l2CacheSize = attributes[cudaDevAttrL2CacheSize];
    p->asyncEngineCount = attributes[cudaDevAttrAsyncEngineCount];
    p->unifiedAddressing = attributes[cudaDevAttrUnifiedAddressing];
    p->canMapHostMemory = attributes[cudaDevAttrCanMapHostMemory];
    p->maxThreadsPerBlock = attributes[cudaDevAttrMaxThreadsPerBlock];
    p->maxThreadsPerMultiProcessor = attributes[cudaDevAttrMaxThreadsPerMultiProcessor];
    p->sharedMemPerBlock = (size_t)attributes[cudaDevAttrMaxSharedMemoryPerBlock];
    p->concurrentKernels = attributes[cudaDevAttrConcurrentKernels];
    p->managedMemory = attributes[cudaDevAttrManagedMemory];
    p->concurrentManagedAccess = attributes[cudaDevAttrConcurrentManagedAccess];
    p->ipcEventSupported = attributes[cudaDevAttrIpcEventSupport];
    device_attribute(cudaDevAttrMemoryPoolsSupported, &p->memoryPoolsSupported);
    int types = 0;
    device_attribute(cudaDevAttrMemoryPoolSupportedHandleTypes, &types);
    p->memoryPoolSupportedHandleTypes = (unsigned)types;
}
