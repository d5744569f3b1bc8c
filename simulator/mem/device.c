/* Devices: memory accounts, the current device, faults, attributes. */
#include "mem/device.h"

#include <stdio.h>
#include <string.h>

/* measured: what an H200's context itself takes (cudaMemGetInfo after one cudaMalloc of 1 MiB, which takes 2: free 149553283072 of 150109880320) */
#define CONTEXT ((size_t)(150109880320u - 149553283072u) - 2 * MiB)

static size_t taken[MAX_DEVICES];
static uint32_t reach[MAX_DEVICES];    /* bit o of reach[d]: d may touch o's plain allocations */
static uint32_t cleaned[MAX_DEVICES];
static cudaError_t fault;
static _Thread_local int current;

int  device_current(void) { return current; }
void device_set_current(int device) { current = device; }

static size_t usable(void) { return settings.memory > 16 * CONTEXT ? settings.memory - CONTEXT : settings.memory; }

bool device_take(int device, size_t bytes)
{
    if (device == NO_DEVICE) return true;
    if (bytes > usable() - taken[device]) return false;
    taken[device] += bytes;
    return true;
}

void device_give(int device, size_t bytes)
{
    if (device != NO_DEVICE) taken[device] -= bytes;
}

size_t device_free_memory(int device) { return usable() - taken[device]; }

bool device_reaches(int device, int owner) { return device == owner || (reach[device] >> owner & 1); }

void device_set_reach(int device, int owner, bool on)
{
    if (on) reach[device] |= 1u << owner;
    else reach[device] &= ~(1u << owner);
}

void device_reset(int device, uint32_t newest)
{
    reach[device] = 0;
    cleaned[device] = newest;
}

uint32_t device_cleaned(int device)
{
    uint32_t most = 0;
    if (device != NO_DEVICE) return cleaned[device];
    for (int d = 0; d < MAX_DEVICES; d++)
        if (cleaned[d] > most) most = cleaned[d];
    return most;
}

void device_fault(cudaError_t error)
{
    if (!fault) fault = error;
}

cudaError_t device_faulted(void) { return fault; }

/* measured: tests/facts/probe-answers.txt, attributes 1 to 147 of an H200 */
static const int attributes[] = {
    [1] = 1024, 1024, 1024, 64, 2147483647, 65535, 65535, 49152, 65536, 32, 2147483647, 65536, 1980000, 512, 1, 132, 0, 0, 1, 0, 131072, 131072, 65536, 16384, 16384, 16384, 32768, 32768, 2048, 512, 1, 1, 0, 6, 0, 3201000,
    [37] = 6016, 62914560, 2048, 3, 1, 32768, 2048, 1, 32768, 32768, 8192, 8192, 32768, 0, 32, 32768, 32768, 2046, 32768, 131072, 65536, 16384, 16384, 16384, 32768, 2048, 32768, 32768, 2048, 32768, 32768, 2046, 268435456, 131072, 65000, 2097120,
    [73] = 32768, 32768, 9, 0, 32768, 1, 1, 1, 233472, 65536, 1, 0, 0, 0, 2, 0, 1, 1, 1, 0, 0, 0, 1, 1, 232448, 0, 1, 0, 0, 1, 1, 0, 0, 32, 1, 39321600, 134217728,
    [110] = 1, 1024, 1, 1, 1, 1, 1, 1, 100, 9, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 590680286, 415174878, 1, 1, 0, 1, 1, 0, 0,
};

bool device_attribute(int attribute, int *value)
{
    if (attribute < 1 || attribute >= (int)(sizeof attributes / sizeof *attributes)) return false;
    /* documented: a driver refuses to be asked for an attribute that is younger than itself */
    if (attribute == cudaDevAttrMemoryPoolsSupported && settings.driver_version < 11020) return false;
    if (attribute == cudaDevAttrMemoryPoolSupportedHandleTypes && settings.driver_version < 11030) return false;
    *value = attributes[attribute];    /* SIM_HANDLE_TYPES changes no promise, only what cudaMemPoolCreate takes: as under WSL2 */
    return true;
}

void device_properties(struct cudaDeviceProp *p)
{
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Simulated device (modelled on an NVIDIA H200)");
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
