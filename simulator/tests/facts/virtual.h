/* What the probes of virtual memory management share. STEP is the granularity. */
#ifndef VIRTUAL_H
#define VIRTUAL_H

#include "ask_driver.h"
#include "pairs.h"

#define STEP       (2 * MiB)
#define MEMORY(fd) (void *)(uintptr_t)(fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

typedef CUmemGenericAllocationHandle memory;

static CUdeviceptr at; /* reserved addresses */

static inline CUmemLocation place_of(int type, int id)
{
    return (CUmemLocation){.type = (CUmemLocationType)type, .id = id};
}

static inline CUmemAllocationProp props_of(int type, int location, int id)
{
    return (CUmemAllocationProp){.type = (CUmemAllocationType)type,
                                 .location = place_of(location, id)};
}

static inline CUmemAllocationProp on_device(void) { return props_of(PINNED, DEVICE, 0); }

static inline CUmemAllocationProp shared(void)
{
    CUmemAllocationProp p = on_device();
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return p;
}

static inline CUmemAccessDesc access_of(int location, int id, int flags)
{
    return (CUmemAccessDesc){.location = place_of(location, id), .flags = (CUmemAccess_flags)flags};
}

static inline memory make(size_t bytes, CUmemAllocationProp p)
{
    memory h = 0;
    if (DRIVER(cuMemCreate)(&h, bytes, &p, 0))
        NOTE("no memory was made");
    return h;
}

static inline CUdeviceptr reserve(size_t bytes)
{
    CUdeviceptr p = 0;
    if (DRIVER(cuMemAddressReserve)(&p, bytes, 0, 0, 0))
        NOTE("no addresses were reserved");
    return p;
}

static inline void open_for_device(CUdeviceptr p, size_t bytes)
{
    CUmemAccessDesc d = access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (DRIVER(cuMemSetAccess)(p, bytes, &d, 1))
        NOTE("no access was given");
}

static inline void map(CUdeviceptr p, memory h, size_t bytes)
{
    if (DRIVER(cuMemMap)(p, bytes, 0, h, 0))
        NOTE("nothing was mapped");
}

/* What the host reads at the first address. */
static inline void read_first(void)
{
    int value = 0;
    ASK(cuMemcpyDtoH, &value, at, 4);
    NOTE("value %#x", (unsigned)value);
}

/* What memory says of itself. */
static inline CUmemAllocationProp ask_properties(memory h)
{
    CUmemAllocationProp got;
    memset(&got, 0x7f, sizeof got);
    ASK(cuMemGetAllocationPropertiesFromHandle, &got, h);
    return got;
}

static inline memory import_memory(int fd)
{
    memory h = 0;
    ASK(cuMemImportFromShareableHandle, &h, MEMORY(fd));
    return h;
}

static inline void send_memory_handle(memory h)
{
    int fd = -1;
    ASK(cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    send_descriptor(fd);
    close(fd);
}

#endif
