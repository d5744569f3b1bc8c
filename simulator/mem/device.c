/* Devices: how much memory they have used, peer access, and attributes. */
#include "mem/device.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "os/needs_lock.h"

/* Measured (probe-answers.txt): what the context of an H200 takes. cudaMemGetInfo reports
 * 149553283072 of 150109880320 bytes free after one cudaMalloc of 1 MiB, which takes 2 MiB. */
#define CONTEXT_BYTES ((size_t)(150109880320u - 149553283072u) - 2 * MiB)

/* Needs the lock. Invariant: used_bytes is the sum of what all heaps of the device have mapped, and
 * never exceeds usable(). */
static struct {
    size_t used_bytes;
    uint32_t peer_access; /* Bit o: this device may touch allocations of cudaMalloc on device o. */
    struct last_reset last_reset;
    /* The limits that have been set, as bits of `limits_set`. The others have their first value. */
    size_t limits[LIMITS];
    unsigned limits_set;
} devices[MAX_DEVICES];

/* Measured (probe-answers.txt, "limit"; probe-odd-answers.txt, "limits"): the first values on an
 * H200. NO_LIMIT is a limit that it does not have. The last three have no name in the header. */
#define NO_LIMIT SIZE_MAX
static const size_t first_limits[LIMITS] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 8650752,
    [cudaLimitMallocHeapSize] = 8388608,
    [cudaLimitDevRuntimePendingLaunchCount] = 2048,
    [cudaLimitMaxL2FetchGranularity] = 64,
    [cudaLimitPersistingL2CacheSize] = 11796480,
    [cudaLimitDevRuntimeSyncDepth] = NO_LIMIT,
    [7] = 232448,
    [8] = 0,
    [9] = NO_LIMIT,
};

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

void device_reset(int device, struct last_reset newest)
{
    NEEDS_LOCK();
    devices[device].peer_access = 0;
    /* Measured (probe-odd-peers.txt, "resets"): the others' access to the device ends, too. */
    for (int other = 0; other < settings.devices; other++)
        device_set_peer_access(other, device, false);
    devices[device].last_reset = newest;
    devices[device].limits_set = 0;
}

const struct last_reset *device_last_reset(int device)
{
    NEEDS_LOCK();
    return &devices[device].last_reset;
}

/* Indexed by the attribute's number. If a field of struct cudaDeviceProp has the same value, its
 * offset is `field` and its size `bytes`; otherwise `bytes` is 0. */
static const struct attribute {
    int value;
    size_t field, bytes;
} attributes[] = {
#define ATTRIBUTE(name, value) [cudaDevAttr##name] = {value, 0, 0},
#define FIELD(name, value, field)                                         \
    [cudaDevAttr##name] = {value, offsetof(struct cudaDeviceProp, field), \
                           sizeof((struct cudaDeviceProp *)NULL)->field},
#define UNNAMED(number, value) [number] = {value, 0, 0},
#include "mem/device_attributes.def"
};
#define ATTRIBUTES ((int)(sizeof attributes / sizeof *attributes))

bool device_limit(int device, int limit, size_t *value)
{
    NEEDS_LOCK();
    if (limit < 0 || limit >= LIMITS || first_limits[limit] == NO_LIMIT)
        return false;
    bool is_set = devices[device].limits_set >> limit & 1;
    *value = is_set ? devices[device].limits[limit] : first_limits[limit];
    return true;
}

/* How a device changes a value: into a multiple of `unit`, from `least` to `most`. A value above
 * `most` is an error, unless `keeps_most` is set. Measured (probe-more-answers.txt, "limits"),
 * except for two greatest values that are documented (a stack of 512 KiB, a granularity of 128) and
 * one that is an attribute; assumed: that the persisting cache counts in the units of its smallest
 * size. */
static const struct limit_range {
    size_t unit, least, most;
    bool keeps_most;
} limit_ranges[LIMITS] = {
    [cudaLimitStackSize] = {16, 0, 512 << 10, false},
    [cudaLimitPrintfFifoSize] = {1, 512 << 10, (size_t)2 << 30, true},
    [cudaLimitMallocHeapSize] = {1, 4 << 20, 17681179680, true},
    [cudaLimitDevRuntimePendingLaunchCount] = {1, 32, 599186, true},
    [cudaLimitMaxL2FetchGranularity] = {1, 0, 128, false},
    [cudaLimitPersistingL2CacheSize] = {3932160, 0, 39321600, false},
};

cudaError_t device_set_limit(int device, int limit, size_t value)
{
    NEEDS_LOCK();
    if (limit < 0 || limit >= LIMITS || !limit_ranges[limit].unit)
        return cudaErrorUnsupportedLimit;
    const struct limit_range *r = &limit_ranges[limit];
    if (value > r->most && !r->keeps_most)
        return cudaErrorInvalidValue;
    value = value < r->least ? r->least : value > r->most ? r->most : value;
    devices[device].limits[limit] = round_up(value, r->unit);
    devices[device].limits_set |= 1u << limit;
    return cudaSuccess;
}

bool device_attribute(int attribute, int *value)
{
    NEEDS_LOCK();
    if (attribute < 1 || attribute >= ATTRIBUTES)
        return false;
    /* Documented: a driver rejects attributes that are newer than it is. */
    if (attribute == cudaDevAttrMemoryPoolsSupported && settings.driver_version < 11020)
        return false;
    if (attribute == cudaDevAttrMemoryPoolSupportedHandleTypes && settings.driver_version < 11030)
        return false;
    /* SIM_HANDLE_TYPES changes no attribute, only what cudaMemPoolCreate accepts, as under WSL2. */
    *value = attributes[attribute].value;
    if (attribute == cudaDevAttrMemoryPoolSupportedHandleTypes
        && settings.driver_version < DRIVER_WITH_FABRIC_HANDLES)
        *value &= ~cudaMemHandleTypeFabric;
    /* Documented: 0 without pools. Assumed: no handle type is then reported either. */
    if (!settings.pools
        && (attribute == cudaDevAttrMemoryPoolsSupported
            || attribute == cudaDevAttrMemoryPoolSupportedHandleTypes))
        *value = 0;
    return true;
}

/* Stores the value in its field, which is an int or a size_t. */
static void set_field(struct cudaDeviceProp *p, const struct attribute *a, int value)
{
    size_t wide = (size_t)value;
    if (a->bytes == sizeof wide)
        memcpy((char *)p + a->field, &wide, sizeof wide);
    else
        memcpy((char *)p + a->field, &value, sizeof value);
}

void device_properties(struct cudaDeviceProp *p)
{
    NEEDS_LOCK();
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Simulated device (modeled on an NVIDIA H200)");
    p->totalGlobalMem = settings.memory;
    for (int i = 1, value; i < ATTRIBUTES; i++)
        if (attributes[i].bytes && device_attribute(i, &value))
            set_field(p, &attributes[i], value);
}
