/* The functions that nvcc's generated code calls: before main, to announce the program's kernels
 * and variables, and in a launch.
 *
 *   kernel<<<grid, block>>>(a, b)     __cudaPushCallConfiguration(grid, block, ...)
 *                                     nvcc's stub: __cudaPopCallConfiguration(...)
 *                                                  __cudaGetKernel(...), once
 *                                                  __cudaLaunchKernel(...)
 *
 * None of these is a call of the program, so they have no cost and no line in the journal. Their
 * prototypes are in the toolkit's crt/host_runtime.h, which is for C++ alone. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "api/launches.h"
#include "api/own_process.h"
#include "os/os.h"
#include "run/device_variable.h"
#include "run/kernel_library.h"

/* ---- before main ---- */

EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
    lock_acquire();
    struct binary *binary = registry_add_binary(wrapper);
    /* If it cannot be loaded, the first launch says so. */
    kernel_library_load();
    lock_release();
    return (void **)binary;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **binary) { (void)binary; }
/* Registered code stays, because queued work may refer to it. */
EXPORT void __cudaUnregisterFatBinary(void **binary) { (void)binary; }

/* Called before the host first uses a __managed__ variable, perhaps before any call. */
EXPORT char __cudaInitModule(void **handle)
{
    struct binary *binary = (struct binary *)handle;
    if (!binary)
        return 0;
    lock_acquire();
    if (!process.started)
        process_start();
    const char *missing = registry_place_managed(binary, device_variable_address);
    if (missing)
        os_fatal("the __managed__ variable %s is not in the program's device code: %s.", missing,
                 binary->refusal ? binary->refusal : "the PTX has no variable of this name");
    lock_release();
    return 1;
}

EXPORT void __cudaRegisterFunction(void **binary, const char *host, char *device,
                                   const char *symbol, int thread_limit, void *thread, void *block,
                                   dim3 *block_size, dim3 *grid_size, int *warp_size)
{
    lock_acquire();
    registry_add_kernel((struct binary *)binary, host, symbol);
    lock_release();
}

EXPORT void __cudaRegisterVar(void **binary, char *host, char *device, const char *symbol, int ext,
                              size_t bytes, int constant, int global)
{
    lock_acquire();
    registry_add_variable((struct binary *)binary, host, symbol, bytes);
    lock_release();
}

EXPORT void __cudaRegisterManagedVar(void **binary, void **host, char *device, const char *symbol,
                                     int ext, size_t bytes, int constant, int global)
{
    lock_acquire();
    registry_add_managed((struct binary *)binary, host, symbol);
    lock_release();
}

/* ---- launches ---- */

/* The configuration of a <<<...>>>, on its way to the stub. An argument of a launch may contain
 * another launch, so there may be several. */
#define PENDING_MAX 16
struct configuration {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    void *site;
};
static _Thread_local struct configuration pending[PENDING_MAX];
static _Thread_local unsigned pending_count;
/* The site of the configuration that the stub has taken, or NULL. */
static _Thread_local void *popped_site;

/* A nonzero result cancels the launch. */
EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                            cudaStream_t stream)
{
    if (pending_count == PENDING_MAX)
        os_fatal("more than %d launches stand in the arguments of each other.", PENDING_MAX);
    lock_acquire();
    void *site = os_call_site(OS_CALL_ADDRESS, OS_CALL_FRAME);
    lock_release();
    pending[pending_count++] = (struct configuration){grid, block, shared_bytes, stream, site};
    return 0;
}

EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes,
                                              void *stream)
{
    if (!pending_count)
        return cudaErrorMissingConfiguration;
    const struct configuration *c = &pending[--pending_count];
    *grid = c->grid;
    *block = c->block;
    *shared_bytes = c->shared_bytes;
    *(cudaStream_t *)stream = c->stream;
    popped_site = c->site;
    return cudaSuccess;
}

/* The host function's address stands for the kernel, so a launch accepts both. */
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    *kernel = (cudaKernel_t)host;
    return cudaSuccess;
}

struct call_place launch_place(void *address, void *const *frame)
{
    /* The site already contains its callers, so it is passed with a frame that has none. */
    static void *const no_caller[2];
    if (!popped_site)
        return (struct call_place){address, frame};
    struct call_place place = {popped_site, no_caller};
    popped_site = NULL;
    return place;
}
