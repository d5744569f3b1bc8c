/* What the probes of virtual memory management share. STEP is the granularity. */
#ifndef VIRTUAL_H
#define VIRTUAL_H

#include "ask_driver.h"

#define STEP       (2 * MiB)
#define MEMORY(fd) (void *)(uintptr_t)(fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

typedef CUmemGenericAllocationHandle memory;

static inline CUmemAllocationProp props_of(int type, int location, int id)
{
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = (CUmemAllocationType)type;
    p.location.type = (CUmemLocationType)location;
    p.location.id = id;
    return p;
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
    CUmemAccessDesc d;
    memset(&d, 0, sizeof d);
    d.location.type = (CUmemLocationType)location;
    d.location.id = id;
    d.flags = (CUmemAccess_flags)flags;
    return d;
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

#endif
