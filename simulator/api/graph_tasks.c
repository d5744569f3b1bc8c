/* Makes tasks of graph nodes from the structures in which programs describe them. */
#include "api/graph_tasks.h"

#include "api/copies.h"
#include "graph/dispatch.h"
#include "os/os.h"

cudaError_t task_of_memset(struct task *t, const void *parameters)
{
    const struct cudaMemsetParams *p = parameters;
    return dispatch_memset_task(t, p->dst, p->pitch, p->value, p->elementSize, p->width, p->height);
}

cudaError_t task_of_copy(struct task *t, void *to, const void *from, size_t bytes,
                         enum cudaMemcpyKind kind)
{
    t->kind = TASK_COPY;
    t->to = to;
    t->from = from;
    t->rows = rows_of(bytes);
    t->direction = kind;
    return bytes ? dispatch_check_copy(t) : cudaErrorInvalidValue;
}

/* Describes a 3D copy as rows. Several slices become rows of one slice if no row is left out
 * between them; other slices are not simulated. */
cudaError_t task_of_copy_3d(struct task *t, const void *parameters)
{
    const struct cudaMemcpy3DParms *p = parameters;
    const struct cudaPitchedPtr *to = &p->dstPtr, *from = &p->srcPtr;
    const struct cudaExtent *extent = &p->extent;
    bool is_stacked =
        extent->depth == 1 || (to->ysize == extent->height && from->ysize == extent->height);
    if (p->srcArray || p->dstArray) {
        diag("a memcpy node: arrays are not simulated there: the call returns "
             "cudaErrorNotSupported. A captured copy of an array works.");
        return cudaErrorNotSupported;
    }
    if (!to->ptr || !from->ptr || !extent->width || !extent->height || !extent->depth
        || extent->depth > SIZE_MAX / extent->height)
        return cudaErrorInvalidValue;
    /* Measured (probe-more-answers.txt, "graph_nodes"): rows that overlap are rejected. */
    cudaError_t e =
        copy_rows(to->pitch, from->pitch, extent->width, extent->height * extent->depth, &t->rows);
    if (e)
        return e;
    if (!is_stacked) {
        diag("a memcpy node: slices with rows between them are not simulated: the call "
             "returns cudaErrorNotSupported.");
        return cudaErrorNotSupported;
    }
    t->kind = TASK_COPY;
    t->to = (char *)to->ptr + p->dstPos.x + to->pitch * (p->dstPos.y + to->ysize * p->dstPos.z);
    t->from = (const char *)from->ptr + p->srcPos.x
            + from->pitch * (p->srcPos.y + from->ysize * p->srcPos.z);
    t->direction = p->kind;
    return dispatch_check_copy(t);
}

cudaError_t task_of_host_function(struct task *t, const void *parameters)
{
    const struct cudaHostNodeParams *p = parameters;
    t->kind = TASK_HOST;
    t->function = p->fn;
    t->argument = p->userData;
    return p->fn ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- parameters of any type ---- */

struct cudaMemsetParams params_of_memset(const struct cudaGraphNodeParams *p)
{
    return (struct cudaMemsetParams){.dst = p->memset.dst,
                                     .pitch = p->memset.pitch,
                                     .value = p->memset.value,
                                     .elementSize = p->memset.elementSize,
                                     .width = p->memset.width,
                                     .height = p->memset.height};
}

struct cudaHostNodeParams params_of_host_function(const struct cudaGraphNodeParams *p)
{
    return (struct cudaHostNodeParams){p->host.fn, p->host.userData};
}

struct cudaKernelNodeParams params_of_kernel(const struct cudaGraphNodeParams *p)
{
    return (struct cudaKernelNodeParams){.func = p->kernel.func,
                                         .gridDim = p->kernel.gridDim,
                                         .blockDim = p->kernel.blockDim,
                                         .sharedMemBytes = p->kernel.sharedMemBytes,
                                         .kernelParams = p->kernel.kernelParams,
                                         .extra = p->kernel.extra};
}
