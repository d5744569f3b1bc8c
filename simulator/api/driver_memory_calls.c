/* The driver API's memory: allocations, memsets, copies, and what it tells of an address. */
#include <string.h>

#include "api/array.h"
#include "api/copies.h"
#include "driver_memory_calls.inc"
#include "graph/capture.h"
#include "graph_calls.inc"
#include "memory_calls.inc"
#include "mem/device.h"
#include "mem/memory.h"
#include "mem/virtual_memory.h"
#include "os/os.h"
#include "run/stream_values.h"

/* ---- copies ---- */

/* Finds the device that a context names, or the current one for NULL (measured:
 * probe-odd-driver.txt). */
static cudaError_t find_device(CUcontext context, int *device)
{
    const struct context *c = context_of(context);
    *device = c ? c->device : device_current();
    return context && !c ? cudaErrorDeviceUninitialized : cudaSuccess;
}

cudaError_t do_cuMemcpyPeer(struct call *call, CUdeviceptr to, CUcontext toContext,
                            CUdeviceptr from, CUcontext fromContext, size_t bytes)
{
    int t, f;
    cudaError_t e = find_device(toContext, &t);
    e = e ? e : find_device(fromContext, &f);
    return e ? e : do_cudaMemcpyPeer(call, (void *)to, t, (void *)from, f, bytes);
}

cudaError_t do_cuMemcpyPeerAsync(struct call *call, CUdeviceptr to, CUcontext toContext,
                                 CUdeviceptr from, CUcontext fromContext, size_t bytes,
                                 CUstream stream)
{
    int t, f;
    cudaError_t e = find_device(toContext, &t);
    e = e ? e : find_device(fromContext, &f);
    return e ? e : do_cudaMemcpyPeerAsync(call, (void *)to, t, (void *)from, f, bytes, stream);
}

/* Measured (probe-odd-copies.txt, "memory_types"): pageable memory is no device's. */
static bool is_there(CUmemorytype type, const void *address)
{
    return type != CU_MEMORYTYPE_DEVICE || memory_find(address).kind != ADDRESS_PAGEABLE;
}

/* Writes one end of a copy, which is at `pos` in `ptr`, both in bytes. Documented: which fields of
 * an end count. Measured (probe-more-answers.txt, "driver_rows" and "driver_slices"): the errors;
 * an array's part may begin between two elements; and a pitch may be 0. Measured
 * (probe-odd-driver.txt): for a copy of no bytes, no field counts. */
static cudaError_t find_end(struct call *call, CUmemorytype type, const void *host,
                            CUdeviceptr device, CUarray array, struct cudaExtent e,
                            struct cudaPos *pos, struct cudaPitchedPtr *ptr)
{
    if (!e.width || !e.height || !e.depth)
        return cudaSuccess;
    if (type == CU_MEMORYTYPE_ARRAY) {
        const struct array *a = array_of(call, (cudaArray_t)array);
        return a && array_take_place(a, 1, e, pos, ptr) ? cudaSuccess : cudaErrorInvalidValue;
    }
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
        return cudaErrorInvalidValue;
    ptr->ptr = type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)host : (void *)device;
    return array_take_memory(ptr, e, *pos) && is_there(type, ptr->ptr) ? cudaSuccess
                                                                       : cudaErrorInvalidValue;
}

static enum cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to)
{
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST)
        return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

/* Describes a copy as the runtime's between pitched memory, treating arrays as such memory. */
static cudaError_t find_copy(struct call *call, const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *p)
{
    /* Documented: an array has no levels of detail. Measured (probe-more-answers.txt,
     * "driver_slices"): what is reserved need not be NULL. */
    if (!c || ((c->srcLOD || c->dstLOD) && c->WidthInBytes && c->Height && c->Depth))
        return cudaErrorInvalidValue;
    *p = (struct cudaMemcpy3DParms){.srcPos = {c->srcXInBytes, c->srcY, c->srcZ},
                                    .srcPtr = {NULL, c->srcPitch, 0, c->srcHeight},
                                    .dstPos = {c->dstXInBytes, c->dstY, c->dstZ},
                                    .dstPtr = {NULL, c->dstPitch, 0, c->dstHeight},
                                    .extent = {c->WidthInBytes, c->Height, c->Depth},
                                    .kind = kind_of(c->srcMemoryType, c->dstMemoryType)};
    cudaError_t e = find_end(call, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
                             p->extent, &p->dstPos, &p->dstPtr);
    return e ? e
             : find_end(call, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, p->extent,
                        &p->srcPos, &p->srcPtr);
}

cudaError_t driver_copy_3d(struct call *call, const CUDA_MEMCPY3D *copy, const cudaStream_t *stream)
{
    struct cudaMemcpy3DParms p;
    cudaError_t e = find_copy(call, copy, &p);
    return e ? e : copy_3d(call, &p, stream, false);
}

/* Rows are one slice. */
static CUDA_MEMCPY3D slice_of(const CUDA_MEMCPY2D *c)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
                           .srcY = c->srcY,
                           .srcMemoryType = c->srcMemoryType,
                           .srcHost = c->srcHost,
                           .srcDevice = c->srcDevice,
                           .srcArray = c->srcArray,
                           .srcPitch = c->srcPitch,
                           .dstXInBytes = c->dstXInBytes,
                           .dstY = c->dstY,
                           .dstMemoryType = c->dstMemoryType,
                           .dstHost = c->dstHost,
                           .dstDevice = c->dstDevice,
                           .dstArray = c->dstArray,
                           .dstPitch = c->dstPitch,
                           .WidthInBytes = c->WidthInBytes,
                           .Height = c->Height,
                           .Depth = 1};
}

cudaError_t driver_copy_2d(struct call *call, const CUDA_MEMCPY2D *copy, const cudaStream_t *stream)
{
    if (!copy)
        return cudaErrorInvalidValue;
    const CUDA_MEMCPY3D slice = slice_of(copy);
    return driver_copy_3d(call, &slice, stream);
}

/* Makes the device of a node's context current. Measured (probe-contexts.txt): the context may be
 * another one than the current one, and must be one. A node for another device is not simulated. */
static cudaError_t enter_context(CUcontext context, int *current)
{
    const struct context *c = context_of(context);
    *current = device_current();
    if (!c)
        return context ? cudaErrorDeviceUninitialized : cudaErrorInvalidValue;
    device_set_current(c->device);
    return cudaSuccess;
}

/* The parameters are the runtime's. */
cudaError_t do_cuGraphAddMemsetNode(struct call *call, CUgraphNode *node, CUgraph graph,
                                    const CUgraphNode *dependencies, size_t count,
                                    const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    int current;
    cudaError_t e = enter_context(context, &current);
    e = e ? e
          : do_cudaGraphAddMemsetNode(call, node, graph, dependencies, count,
                                      (const struct cudaMemsetParams *)p);
    device_set_current(current);
    return e;
}

cudaError_t do_cuGraphAddMemcpyNode(struct call *call, CUgraphNode *node, CUgraph graph,
                                    const CUgraphNode *dependencies, size_t count,
                                    const CUDA_MEMCPY3D *copy, CUcontext context)
{
    int current;
    struct cudaMemcpy3DParms p;
    cudaError_t e = enter_context(context, &current);
    e = e ? e : find_copy(call, copy, &p);
    e = e ? e : do_cudaGraphAddMemcpyNode(call, node, graph, dependencies, count, &p);
    device_set_current(current);
    return e;
}

/* ---- addresses ---- */

/* Finds the memory of CUDA at the address. Returns false if there is none (measured:
 * probe-driver.txt, from cudaFreeAsync on). */
static bool is_cuda(const struct address_info *a)
{
    return a->kind == ADDRESS_PINNED || (a->kind == ADDRESS_ALLOCATED && !a->range->free_pending);
}

static bool is_managed(const struct address_info *a)
{
    return a->heap && a->heap->host_visible && (!a->pool || pool_is_managed(a->pool));
}

/* Returns whether it is cudaMalloc memory, the only one with a handle for other processes and for
 * network cards (measured: probe-driver.txt). */
static bool is_plain(const struct address_info *a)
{
    return a->heap && !a->pool && !a->heap->host_visible && !a->heap->is_virtual;
}

static void find_range(const struct address_info *a, CUdeviceptr address, CUdeviceptr *start,
                       size_t *bytes)
{
    *start = a->kind == ADDRESS_PINNED ? (CUdeviceptr)a->pinned->base : address - a->inner_offset;
    *bytes = a->kind == ADDRESS_PINNED ? a->pinned->bytes : a->range->requested;
}

cudaError_t do_cuMemGetAddressRange_v2(struct call *call, CUdeviceptr *start, size_t *bytes,
                                       CUdeviceptr address)
{
    struct address_info a = memory_find((void *)address);
    CUdeviceptr first;
    size_t size;
    line_number(&call->line, "allocation", memory_allocation_id(&a));
    /* Measured (probe-driver.txt; probe-odd-peers.txt, "pointers"): the error, also for a pool of
     * the host and for what the current device may not use. */
    if (!is_cuda(&a) || memory_is_host_pool(&a) || !memory_peer_accessible(&a, device_current()))
        return cudaErrorSymbolNotFound;
    find_range(&a, address, &first, &size);
    if (start)
        *start = first;
    if (bytes)
        *bytes = size;
    return cudaSuccess;
}

/* Measured (probe-driver.txt): no context for a pool's memory. */
static cudaError_t find_owner(const struct call *call, const struct address_info *a,
                              CUcontext *context)
{
    *context = NULL;
    /* Measured (probe-virtual.txt, "known_of_addresses"): a mapping has none, either. */
    if (a->pool || (a->heap && a->heap->is_virtual))
        return cudaSuccess;
    if (context_count_created())
        return call_not_simulated(
            call, "which context of several (cuCtxCreate) an address belongs to is");
    *context =
        context_primary(a->kind == ADDRESS_PINNED ? a->pinned->device : memory_device(a))->handle;
    return cudaSuccess;
}

/* The value of an attribute, and how many bytes of it are stored. */
struct attribute_value {
    uint64_t value;
    size_t bytes;
};
#define VALUE(x) ((struct attribute_value){(uint64_t)(x), sizeof(x)})

static uint64_t handle_types(const struct address_info *a, CUdeviceptr address)
{
    if (a->heap && a->heap->is_virtual)
        return (uint64_t)virtual_at((void *)address)->memory->properties.handle_types;
    return a->pool ? (uint64_t)a->pool->props.handleTypes : 0;
}

/* Measured: probe-driver.txt, probe-owner.txt and probe-odd-driver.txt. Documented: the two
 * addresses and the id. */
static cudaError_t find_attribute(const struct call *call, const struct address_info *a,
                                  CUpointer_attribute attribute, CUdeviceptr address,
                                  struct attribute_value *v)
{
    CUdeviceptr start;
    size_t size;
    CUcontext context;
    cudaError_t e = cudaSuccess;
    bool on_host = a->kind == ADDRESS_PINNED || a->heap->host_visible;
    bool is_accessible = memory_peer_accessible(a, device_current());
    find_range(a, address, &start, &size);
    CUdeviceptr mapping = start;
    size_t mapping_bytes = size;
    if (a->heap && a->heap->is_virtual) {
        start = (CUdeviceptr)a->heap->base;
        size = a->heap->limit;
    } else {
        /* Measured (probe-odd-driver.txt), except for the address: a mapping is whole segments. An
         * H200 of December 2026 mapped whole pages of registered memory. */
        const size_t segment = a->heap               ? a->heap->segment_size
                             : a->pinned->registered ? PAGE
                                                     : 2 * MiB;
        mapping -= mapping % segment;
        mapping_bytes = (start + size - mapping + segment - 1) / segment * segment;
    }
    *v = (struct attribute_value){0, sizeof(unsigned)};
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        e = find_owner(call, a, &context);
        *v = VALUE(context);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        v->value = on_host && !is_managed(a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        e = on_host ? cudaSuccess : cudaErrorInvalidValue;
        *v = VALUE(address); /* Addresses are unified. */
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        e = is_accessible ? cudaSuccess : cudaErrorInvalidValue;
        *v = VALUE(address);
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        v->value =
            is_managed(a) || (memory_allocation_id(a) && memory_shadow(a).shadow->always_waits);
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *v = VALUE((uint64_t)memory_allocation_id(a)); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: v->value = is_managed(a); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        v->value = (unsigned)(a->kind == ADDRESS_PINNED ? a->pinned->device : memory_device(a));
        break;
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: v->value = is_plain(a); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *v = VALUE(start); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *v = VALUE(size); break;
    case CU_POINTER_ATTRIBUTE_MAPPED: v->value = 1; break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *v = VALUE(mapping); break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *v = VALUE(mapping_bytes); break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: *v = VALUE(handle_types(a, address)); break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        /* Measured (probe-odd-peers.txt, "pointers"): it tells the access only of mapped memory. */
        v->value = on_host || !a->heap->is_virtual
                     ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                     : virtual_access(virtual_at((void *)address), device_current());
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *v = VALUE(a->pool ? a->pool->handle : NULL); break;
    /* Measured (probe-values.txt, "pointer_attributes"): there are no tokens. */
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        *v = VALUE((uint64_t)0);
        return on_host ? cudaErrorInvalidValue : cudaSuccess;
    /* Assumed: what is mapped together is one block. */
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *v = VALUE(a->heap && a->heap->is_virtual
                       ? (uint64_t)(uintptr_t)virtual_at((void *)address)->memory
                       : (uint64_t)mapping);
        break;
    default: return cudaErrorInvalidValue;
    }
    return e;
}

cudaError_t do_cuPointerGetAttribute(struct call *call, void *value, CUpointer_attribute attribute,
                                     CUdeviceptr address)
{
    struct address_info a = memory_find((void *)address);
    struct attribute_value v;
    line_signed(&call->line, "attribute", (int64_t)attribute);
    line_number(&call->line, "allocation", memory_allocation_id(&a));
    if (!value || !is_cuda(&a))
        return cudaErrorInvalidValue;
    cudaError_t e = find_attribute(call, &a, attribute, address, &v);
    if (!e)
        memcpy(value, &v.value, v.bytes);
    return e;
}

/* Documented: for an address that is not CUDA's, all attributes are 0, and for others those that
 * they lack; neither is an error. */
cudaError_t do_cuPointerGetAttributes(struct call *call, unsigned int count,
                                      CUpointer_attribute *attributes, void **values,
                                      CUdeviceptr address)
{
    struct address_info a = memory_find((void *)address);
    line_number(&call->line, "allocation", memory_allocation_id(&a));
    if (!count || !attributes || !values)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++) {
        struct attribute_value v;
        struct address_info any = a;
        /* Stands for the missing memory. Only the size of its value is used. */
        struct pinned none = {.base = NULL};
        if (!is_cuda(&a))
            any = (struct address_info){.kind = ADDRESS_PINNED, .pinned = &none};
        cudaError_t e = find_attribute(call, &any, attributes[i], address, &v);
        if (e == cudaErrorNotSupported)
            return e;
        if (e || !is_cuda(&a))
            v.value = 0;
        memcpy(values[i], &v.value, v.bytes);
    }
    return cudaSuccess;
}

cudaError_t do_cuPointerSetAttribute(struct call *call, const void *value,
                                     CUpointer_attribute attribute, CUdeviceptr address)
{
    struct address_info a = memory_find((void *)address);
    line_signed(&call->line, "attribute", (int64_t)attribute);
    line_number(&call->line, "allocation", memory_allocation_id(&a));
    if (!value || !is_cuda(&a) || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return cudaErrorInvalidValue;
    memory_shadow(&a).shadow->always_waits = *(const unsigned *)value != 0;
    return cudaSuccess;
}

/* ---- values ---- */

/* Returns the size of the value of an operation, or 0. */
static size_t value_bytes(CUstreamBatchMemOpType operation)
{
    switch (operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return 4;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return 8;
    default: return 0;
    }
}

static bool is_wait(const CUstreamBatchMemOpParams *p)
{
    return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32
        || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

/* The two kinds of operations have their members at the same places. */
static cudaError_t check_value_op(const CUstreamBatchMemOpParams *p, const struct stream *s)
{
    const size_t bytes = value_bytes(p->operation);
    if (p->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES
        || (bytes && is_wait(p) && p->waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH))
        return cudaErrorNotSupported; /* Measured (probe-values.txt, "value_arguments"). */
    if (!bytes)
        return p->operation == CU_STREAM_MEM_OP_BARRIER && p->memoryBarrier.flags < 2
                 ? cudaSuccess
                 : cudaErrorInvalidValue;
    if (p->waitValue.flags > (is_wait(p) ? CU_STREAM_WAIT_VALUE_NOR : 0))
        return cudaErrorInvalidValue;
    return command_allows_value((void *)p->waitValue.address, bytes, s->device)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

/* A barrier of the memory orders no streams. Assumed: one wrong operation refuses all. */
cudaError_t do_cuStreamBatchMemOp_v2(struct call *call, CUstream stream, unsigned int count,
                                     CUstreamBatchMemOpParams *all, unsigned int flags)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (count > 255 || (count && !all) || flags)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++) {
        const cudaError_t e = check_value_op(&all[i], s);
        if (e)
            return e;
    }
    const cudaError_t e = capture_check(s);
    if (e || s->capturing)
        return e ? e : call_not_simulated(call, "a value that a graph writes or waits for is");
    for (unsigned i = 0; i < count; i++) {
        const size_t bytes = value_bytes(all[i].operation);
        void *const address = (void *)all[i].waitValue.address;
        if (bytes && is_wait(&all[i]))
            command_wait_value(call, address, all[i].waitValue.value64, bytes,
                               (enum value_condition)all[i].waitValue.flags, s);
        else if (bytes)
            command_write_value(call, address, all[i].writeValue.value64, bytes, s);
    }
    return cudaSuccess;
}
