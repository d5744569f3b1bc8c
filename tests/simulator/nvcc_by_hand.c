/* What code compiled by nvcc calls, called by hand: so a machine without nvcc tries it, too.
 * nvcc_by_hand refused: the launches of a kernel whose binary has no PTX. */
#include "expect.h"

/* The prototypes of the toolkit's crt/host_runtime.h, which is for C++. */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **binary);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *symbol,
                            int thread_limit, void *thread, void *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream);

static const dim3 one = {1, 1, 1};

/* The functions of the host that stand for kernels, and one that stands for none. */
static void no_image(void) {}
static void no_kernel(void) {}

/* What <<<1, 1>>> becomes. */
static cudaError_t launch(void (*host)(void), void **arguments)
{
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    cudaKernel_t kernel;
    SAME(0, __cudaPushCallConfiguration(one, one, 0, 0));
    IS(cudaSuccess, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    IS(cudaSuccess, __cudaGetKernel(&kernel, (const void *)host));
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

static void refused(void)
{
    static const struct {
        int magic, version;
        const void *data;
        void *file;
    } wrapper = {0x466243b1, 1, "no binary", NULL};
    void **binary = __cudaRegisterFatBinary((void *)&wrapper), *arguments[] = {NULL};
    const void *kernel = (const void *)no_image, *none = (const void *)no_kernel;
    __cudaRegisterFunction(binary, kernel, NULL, "_ZN5image4blurEPfi", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);

    IS(cudaErrorNoKernelImageForDevice, launch(no_image, arguments));
    IS(cudaErrorNoKernelImageForDevice, cudaPeekAtLastError());
    IS(cudaErrorNoKernelImageForDevice, cudaGetLastError());
    IS(cudaSuccess, cudaGetLastError());
    cudaKernel_t handle = (cudaKernel_t)kernel;
    IS(cudaErrorNoKernelImageForDevice, __cudaLaunchKernel_ptsz(handle, one, one, arguments, 0, 0));
    IS(cudaErrorNoKernelImageForDevice, cudaLaunchKernel(kernel, one, one, arguments, 0, 0));
    IS(cudaErrorNoKernelImageForDevice,
       cudaLaunchCooperativeKernel(kernel, one, one, arguments, 0, 0));
    cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one};
    IS(cudaErrorNoKernelImageForDevice, cudaLaunchKernelExC(&config, kernel, arguments));
    cudaGetLastError();

    IS(cudaErrorInvalidDeviceFunction, launch(no_kernel, arguments));
    IS(cudaErrorInvalidDeviceFunction, cudaGetLastError());
    IS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(none, one, one, arguments, 0, 0));
    IS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(NULL, one, one, arguments, 0, 0));
    IS(cudaErrorInvalidValue, cudaLaunchKernelExC(NULL, kernel, arguments));
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    IS(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "refused"))
        refused();
    else
        return 2;
    if (!wrong)
        puts("all as expected");
    return wrong;
}
