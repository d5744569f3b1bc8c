/* Kernel nodes. The error codes are measured (probe-more-answers.txt, "kernel_nodes"). */
#include "graph/kernel_node.h"

#include <string.h>

#include "base/device_state.h"
#include "base/hazards.h"
#include "check/checker.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "run/kernel_library.h"

/* The values of a kernel's arguments, and pointers to them. */
struct kernel_arguments {
    int *data;
    int value;
    size_t count;
    const volatile int *gate;
    void *pointers[3];
};

void *kernel_function(enum task_kind kind)
{
    static char functions[TASK_USER_KERNEL];
    return &functions[kind];
}

static cudaError_t refuse_extra(void)
{
    diag("kernel nodes with arguments in `extra` are not simulated: the call returns "
         "cudaErrorNotSupported.");
    hazards_gave_up("a kernel node was refused");
    return cudaErrorNotSupported;
}

static bool is_empty(dim3 d) { return !d.x || !d.y || !d.z; }

static cudaError_t check_params(const struct cudaKernelNodeParams *p)
{
    /* Documented: arguments come in kernelParams or in extra. Each kernel of kernels.h has some. */
    if (!p->kernelParams == !p->extra)
        return cudaErrorInvalidValue;
    if (p->extra)
        return refuse_extra();
    return p->sharedMemBytes > 48 << 10 ? cudaErrorInvalidValue
                                        : kernel_check_shape(p->gridDim, p->blockDim, 0);
}

/* Makes the task of a kernel that nvcc built. The caller releases the old contents of the task. */
static cudaError_t nvcc_task(struct task *t, const struct cudaKernelNodeParams *p,
                             struct registered_kernel *k)
{
    const char *why;
    const struct kernel_code *code = kernel_library_code(k, t->device, &why);
    if (!code)
        return nvcc_kernel_refuse_launch(k, why);
    if (p->extra)
        return refuse_extra();
    if (!p->kernelParams && code->entry->function->parameters.count)
        return cudaErrorInvalidValue;
    cudaError_t e = nvcc_kernel_check(k, code, p->gridDim, p->blockDim, p->sharedMemBytes);
    if (e)
        return e;
    t->kind = TASK_NVCC_KERNEL;
    t->nvcc_kernel =
        nvcc_kernel_new(k, code, p->gridDim, p->blockDim, p->sharedMemBytes, p->kernelParams);
    return cudaSuccess;
}

cudaError_t kernel_node_task(struct task *t, const void *parameters)
{
    NEEDS_LOCK();
    const struct cudaKernelNodeParams *p = parameters;
    enum task_kind kind = p->func == kernel_function(TASK_FILL) ? TASK_FILL
                        : p->func == kernel_function(TASK_ADD)  ? TASK_ADD
                        : p->func == kernel_function(TASK_HOLD) ? TASK_HOLD
                                                                : TASK_EMPTY;
    struct registered_kernel *k;
    if (kind == TASK_EMPTY) {
        cudaError_t missing = registry_find_kernel(p->func, &k);
        return missing ? missing : nvcc_task(t, p, k);
    }
    cudaError_t e = check_params(p);
    if (e)
        return e;
    t->kind = kind;
    t->shape.grid = p->gridDim;
    t->shape.block = p->blockDim;
    t->shape.shared_bytes = p->sharedMemBytes;
    if (kind == TASK_HOLD) {
        t->gate = *(const volatile int *const *)p->kernelParams[0];
        return cudaSuccess;
    }
    t->to = *(char *const *)p->kernelParams[0];
    t->value = *(const int *)p->kernelParams[1];
    t->count = *(const size_t *)p->kernelParams[2];
    return cudaSuccess;
}

/* Returns an error unless the node's kernel has known parameters. */
static cudaError_t check_kind(const struct task *t)
{
    if (t->kind == TASK_FILL || t->kind == TASK_ADD || t->kind == TASK_HOLD
        || t->kind == TASK_NVCC_KERNEL)
        return cudaSuccess;
    /* Documented: the call rejects a node that is no kernel node. */
    if (t->kind != TASK_USER_KERNEL)
        return cudaErrorInvalidValue;
    diag("the node of a program's own kernel (\"%s\", sim_launch) has no parameters to get or set: "
         "the call returns cudaErrorNotSupported.",
         t->user_kernel->name);
    return cudaErrorNotSupported;
}

/* Returns the parameters of a kernel of nvcc, and its arguments' values, in one piece of memory. */
static void nvcc_params(struct node *n, struct cudaKernelNodeParams *p)
{
    const struct nvcc_kernel *k = n->task.nvcc_kernel;
    const struct variables *all = &k->code->entry->function->parameters;
    os_free(n->arguments);
    void **pointers = os_allocate(all->count * sizeof *pointers + k->shape.parameter_bytes + 8);
    char *values = (char *)(pointers + all->count);
    n->arguments = (struct kernel_arguments *)pointers;
    memcpy(values, k->parameters, k->shape.parameter_bytes);
    for (size_t i = 0; i < all->count; i++)
        pointers[i] = values + all->all[i].offset;
    *p = (struct cudaKernelNodeParams){
        .func = (void *)k->kernel->host,
        .gridDim = {k->shape.grid.x, k->shape.grid.y, k->shape.grid.z},
        .blockDim = {k->shape.block.x, k->shape.block.y, k->shape.block.z},
        .sharedMemBytes = (unsigned)k->shape.shared_bytes,
        .kernelParams = pointers};
}

cudaError_t kernel_node_params(struct node *n, struct cudaKernelNodeParams *p)
{
    NEEDS_LOCK();
    const struct task *t = &n->task;
    cudaError_t e = check_kind(t);
    if (e)
        return e;
    if (t->kind == TASK_NVCC_KERNEL) {
        nvcc_params(n, p);
        return cudaSuccess;
    }
    if (!n->arguments)
        n->arguments = os_allocate(sizeof *n->arguments);
    struct kernel_arguments *a = n->arguments;
    *a = (struct kernel_arguments){
        .data = (int *)t->to, .value = t->value, .count = t->count, .gate = t->gate};
    a->pointers[0] = t->kind == TASK_HOLD ? (void *)&a->gate : (void *)&a->data;
    a->pointers[1] = &a->value;
    a->pointers[2] = &a->count;
    *p = (struct cudaKernelNodeParams){.func = kernel_function(t->kind),
                                       .gridDim = t->shape.grid,
                                       .blockDim = t->shape.block,
                                       .sharedMemBytes = t->shape.shared_bytes,
                                       .kernelParams = a->pointers};
    if (!is_empty(p->gridDim))
        return cudaSuccess;
    /* A captured node has the shape with which kernels.cu launches the kernel. */
    size_t blocks = (t->count + 255) / 256;
    p->gridDim = (dim3){blocks < 1024 ? (unsigned)blocks : 1024, 1, 1};
    p->blockDim = (dim3){256, 1, 1};
    if (t->kind == TASK_HOLD)
        p->gridDim = p->blockDim = (dim3){1, 1, 1};
    return cudaSuccess;
}

cudaError_t kernel_node_change(const struct call *call, struct task *t, const void *parameters)
{
    NEEDS_LOCK();
    cudaError_t e = check_kind(t);
    if (e)
        return e;
    struct task changed = *t;
    struct nvcc_kernel *before = t->nvcc_kernel;
    changed.nvcc_kernel = NULL;
    e = kernel_node_task(&changed, parameters);
    if (e)
        return e;
    if (before && changed.nvcc_kernel) {
        changed.nvcc_kernel->hints = before->hints;
        changed.nvcc_kernel->shape.cooperative = before->shape.cooperative;
    }
    os_free(before);
    changed.call = changed.nvcc_kernel ? changed.nvcc_kernel->kernel->name : call->origin.call;
    changed.site = call->origin.site;
    changed.newest_allocation = checker_newest_allocation();
    *t = changed;
    return cudaSuccess;
}
