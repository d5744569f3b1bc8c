/* Virtual memory management of the driver API. Measured, where nothing else is named:
 * probe-virtual.txt. No call waits for work. */
#include <string.h>

#include "driver_virtual_calls.inc"
#include "base/settings.h"
#include "mem/device.h"
#include "mem/virtual_memory.h"
#include "os/os.h"
#include "os/process.h"

#define STEP MEMORY_GRANULARITY

/* ---- addresses ---- */

/* The wanted address is only a hint, which the recorded GPU ignored. */
cudaError_t do_cuMemAddressReserve(struct call *call, CUdeviceptr *base, size_t bytes,
                                   size_t alignment, CUdeviceptr wanted, unsigned long long flags)
{
    const size_t most_addresses = (size_t)1 << 45, most_alignment = 32 * MiB;
    line_number(&call->line, "bytes", bytes);
    if (!base || flags || !bytes || bytes % STEP || wanted % STEP || (alignment & (alignment - 1))
        || alignment > (size_t)1 << 47)
        return cudaErrorInvalidValue;
    if (bytes > most_addresses || alignment == (size_t)1 << 47)
        return cudaErrorMemoryAllocation;
    if (alignment > most_alignment)
        return call_not_simulated(call, "an alignment of more than 32 MiB is");
    char *at = virtual_reserve(bytes);
    if (!at)
        return cudaErrorMemoryAllocation;
    *base = (CUdeviceptr)at;
    return cudaSuccess;
}

cudaError_t do_cuMemAddressFree(struct call *call, CUdeviceptr base, size_t bytes)
{
    line_number(&call->line, "bytes", bytes);
    return virtual_unreserve((char *)base, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- memory ---- */

static struct virtual_memory *memory_of(struct call *call, CUmemGenericAllocationHandle handle)
{
    return call_object(call, HANDLE_MEMORY, (void *)(uintptr_t)handle);
}

static bool has_unknown(const CUmemAllocationProp *p)
{
    bool unknown = p->win32HandleMetaData || p->allocFlags.compressionType > 1;
    for (size_t i = 0; i < sizeof p->allocFlags.reserved; i++)
        unknown |= p->allocFlags.reserved[i];
    return unknown;
}

static cudaError_t check_properties(const struct call *call, const CUmemAllocationProp *p)
{
    const int types = (int)p->requestedHandleTypes, place = (int)p->location.type;
    if (p->type != CU_MEM_ALLOCATION_TYPE_PINNED || has_unknown(p)
        || types & (CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT))
        return cudaErrorInvalidValue;
    if (types & 8) /* A fabric handle. */
        return cudaErrorNotPermitted;
    if (place == CU_MEM_LOCATION_TYPE_HOST
        || (place == CU_MEM_LOCATION_TYPE_HOST_NUMA && p->location.id == 0))
        return call_not_simulated(call, "memory of the host is");
    if (place != CU_MEM_LOCATION_TYPE_DEVICE)
        return cudaErrorInvalidValue;
    if (!device_exists(p->location.id))
        return cudaErrorInvalidDevice;
    return p->allocFlags.usage ? call_not_simulated(call, "memory for tiles of sparse arrays is")
                               : cudaSuccess;
}

cudaError_t do_cuMemCreate(struct call *call, CUmemGenericAllocationHandle *handle, size_t bytes,
                           const CUmemAllocationProp *p, unsigned long long flags)
{
    line_number(&call->line, "bytes", bytes);
    if (!handle || !p || flags || !bytes || bytes % STEP)
        return cudaErrorInvalidValue;
    cudaError_t e = check_properties(call, p);
    if (e)
        return e;
    struct virtual_memory *m = virtual_memory_new(
        bytes, (struct virtual_properties){p->location.id, p->allocFlags.compressionType,
                                           p->allocFlags.gpuDirectRDMACapable,
                                           (int)p->requestedHandleTypes
                                               & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
    if (!m)
        return cudaErrorMemoryAllocation;
    *handle = (uintptr_t)m->handle;
    return cudaSuccess;
}

cudaError_t do_cuMemRelease(struct call *call, CUmemGenericAllocationHandle handle)
{
    void *h = (void *)(uintptr_t)handle;
    if (!handle || handle_state(HANDLE_MEMORY, h) == HANDLE_DESTROYED)
        return cudaErrorInvalidValue;
    return virtual_memory_release(memory_of(call, handle)) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t do_cuMemRetainAllocationHandle(struct call *call, CUmemGenericAllocationHandle *handle,
                                           void *address)
{
    const struct virtual_mapping *v = virtual_at(address);
    if (!handle || !v)
        return cudaErrorInvalidValue;
    v->memory->references++;
    *handle = (uintptr_t)v->memory->handle;
    return cudaSuccess;
}

cudaError_t do_cuMemGetAllocationPropertiesFromHandle(struct call *call, CUmemAllocationProp *p,
                                                      CUmemGenericAllocationHandle handle)
{
    const struct virtual_memory *m = memory_of(call, handle);
    if (!p || !m)
        return cudaErrorInvalidValue;
    memset(p, 0, sizeof *p);
    p->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p->requestedHandleTypes = (CUmemAllocationHandleType)m->properties.handle_types;
    p->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p->location.id = m->properties.device;
    p->allocFlags.compressionType = (unsigned char)m->properties.compression;
    p->allocFlags.gpuDirectRDMACapable = (unsigned char)m->properties.network;
    return cudaSuccess;
}

/* ---- mappings ---- */

cudaError_t do_cuMemMap(struct call *call, CUdeviceptr at, size_t bytes, size_t offset,
                        CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct virtual_memory *m = memory_of(call, handle);
    line_number(&call->line, "bytes", bytes);
    if (!m || flags || !bytes || !at)
        return cudaErrorInvalidValue;
    if (offset || bytes != m->bytes)
        return cudaErrorNotSupported;
    if (!virtual_map(call, (char *)at, m))
        return cudaErrorInvalidValue;
    line_allocation(&call->line, (void *)at);
    return cudaSuccess;
}

cudaError_t do_cuMemUnmap(struct call *call, CUdeviceptr at, size_t bytes)
{
    line_number(&call->line, "bytes", bytes);
    if (at % STEP || bytes % STEP || !virtual_is_whole((char *)at, bytes))
        return cudaErrorInvalidValue;
    for (struct virtual_mapping *v; (v = virtual_find((char *)at)) && v->base < (char *)at + bytes;)
        virtual_unmap(call, v);
    return cudaSuccess;
}

/* ---- access ---- */

static cudaError_t check_access(const CUmemAccessDesc *d)
{
    const int place = (int)d->location.type, flags = (int)d->flags;
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ
        && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return cudaErrorInvalidValue;
    if (place == CU_MEM_LOCATION_TYPE_HOST || place == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return cudaErrorNotSupported;
    return place == CU_MEM_LOCATION_TYPE_DEVICE && device_exists(d->location.id)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

/* Returns whether mappings cover all the bytes and end exactly where the bytes do. */
static bool is_covered(CUdeviceptr at, size_t bytes)
{
    if (at % STEP || bytes % STEP || !virtual_is_whole((char *)at, bytes))
        return false;
    for (size_t i = 0; i < bytes; i += STEP)
        if (!virtual_at((char *)at + i))
            return false;
    return true;
}

/* Assumed: a device without a link to the memory's device gets no access. */
static bool reaches(int device, const struct virtual_mapping *v)
{
    int home = v->memory->properties.device;
    return device == home || settings_reaches(device, home);
}

static void set_access(struct virtual_mapping *v, const CUmemAccessDesc *d)
{
    uint32_t bit = 1u << d->location.id;
    v->access = d->flags ? v->access | bit : v->access & ~bit;
    v->writable =
        d->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? v->writable | bit : v->writable & ~bit;
}

cudaError_t do_cuMemSetAccess(struct call *call, CUdeviceptr at, size_t bytes,
                              const CUmemAccessDesc *list, size_t count)
{
    const char *end = (char *)at + bytes;
    line_number(&call->line, "bytes", bytes);
    if (!list || !count || !is_covered(at, bytes))
        return cudaErrorInvalidValue;
    struct virtual_mapping *first = virtual_find((char *)at);
    for (size_t i = 0; i < count; i++) {
        cudaError_t e = check_access(&list[i]);
        if (e)
            return e;
        for (const struct virtual_mapping *v = first; v && v->base < end; v = v->next)
            if (!reaches(list[i].location.id, v))
                return cudaErrorInvalidDevice;
    }
    for (struct virtual_mapping *v = first; v && v->base < end; v = v->next)
        for (size_t i = 0; i < count; i++)
            set_access(v, &list[i]);
    return cudaSuccess;
}

/* No device has read-only access to memory that other calls have allocated. Measured
 * (probe-odd-copies.txt, "mapping_access"): a location of the host gets the first device's answer,
 * whatever its number is. */
cudaError_t do_cuMemGetAccess(struct call *call, unsigned long long *flags,
                              const CUmemLocation *location, CUdeviceptr at)
{
    if (!flags || !location || !at)
        return cudaErrorInvalidValue;
    const int place = (int)location->type;
    const int device = place == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : 0;
    if (place < CU_MEM_LOCATION_TYPE_DEVICE || place > CU_MEM_LOCATION_TYPE_HOST_NUMA
        || !device_exists(device))
        return cudaErrorInvalidDevice;
    const struct address_info a = memory_find((void *)at);
    const struct virtual_mapping *v = virtual_at((void *)at);
    *flags = v ? virtual_access(v, device) : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return a.kind == ADDRESS_ALLOCATED ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- other processes ---- */

cudaError_t do_cuMemExportToShareableHandle(struct call *call, void *descriptor,
                                            CUmemGenericAllocationHandle handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    const struct virtual_memory *m = memory_of(call, handle);
    if (!descriptor || !m || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        || !(m->properties.handle_types & (int)type))
        return cudaErrorInvalidValue;
    int fd = os_fd_dup(m->file);
    if (fd < 0)
        return cudaErrorOperatingSystem; /* Assumed. */
    *(int *)descriptor = fd;
    return cudaSuccess;
}

static void say_what_is_unchecked(void)
{
    static bool said;
    if (!said && settings.check)
        diag("memory of cuMemCreate is shared between processes. What this process does there is "
             "not compared with the work of other processes.");
    said = true;
}

cudaError_t do_cuMemImportFromShareableHandle(struct call *call,
                                              CUmemGenericAllocationHandle *handle,
                                              void *descriptor, CUmemAllocationHandleType type)
{
    const int fd = (int)(intptr_t)descriptor;
    if (type == CU_MEM_HANDLE_TYPE_WIN32)
        return cudaErrorNotSupported;
    if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return cudaErrorInvalidValue;
    if (!descriptor)
        return cudaErrorInvalidValue;
    int file = os_fd_is_memfd(fd) ? os_fd_dup_high(fd) : -1;
    if (file < 0)
        return cudaErrorUnknown;
    struct virtual_memory *m = virtual_memory_import(file);
    if (!m) {
        os_fd_close(file);
        return cudaErrorNotSupported; /* The error for a pool's descriptor. */
    }
    say_what_is_unchecked();
    *handle = (uintptr_t)m->handle;
    return cudaSuccess;
}
