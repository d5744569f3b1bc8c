/* What code compiled by nvcc calls, called by hand: so a machine without nvcc tries it, too.
 * nvcc_by_hand refused: the launches of a kernel whose binary has no PTX.
 * nvcc_by_hand FILE.ptx: the kernel of tests/simulator/kernels/sums.cu. */
#include "expect.h"
#include "nvcc_by_hand.h"

static const dim3 one = {1, 1, 1};

/* Their addresses stand for kernels, the last one's for none. */
static const char no_image, sums_kernel, no_kernel;

/* What <<<1, 1>>> becomes. */
static cudaError_t launch(const char *host, void **arguments)
{
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    cudaKernel_t kernel;
    SAME(0, __cudaPushCallConfiguration(one, one, 0, 0));
    IS(cudaSuccess, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    IS(cudaSuccess, __cudaGetKernel(&kernel, host));
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
    const void *kernel = &no_image, *none = &no_kernel;
    __cudaRegisterFunction(binary, kernel, NULL, "_ZN5image4blurEPfi", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);

    IS(cudaErrorNoKernelImageForDevice, launch(&no_image, arguments));
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

    IS(cudaErrorInvalidDeviceFunction, launch(&no_kernel, arguments));
    IS(cudaErrorInvalidDeviceFunction, cudaGetLastError());
    IS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(none, one, one, arguments, 0, 0));
    IS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(NULL, one, one, arguments, 0, 0));
    IS(cudaErrorInvalidValue, cudaLaunchKernelExC(NULL, kernel, arguments));
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    IS(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
}

/* ---- PTX that is in a file ---- */

/* Registers the file's PTX. */
static void **register_file(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    if (!file)
        exit(2);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = 0;
    return register_ptx(text);
}

static void run_sums(const char *path)
{
    enum { COUNT = 1000, BLOCKS = 3 };
    int here[COUNT], each[BLOCKS], all = 0, sum = 0, n = COUNT, *data, *out;
    void **handle = register_file(path);
    __cudaRegisterFunction(handle, &sums_kernel, NULL, "sums", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    for (int i = 0; i < COUNT; i++) {
        here[i] = i % 11 - 3;
        sum += here[i] > 1 ? 2 * here[i] - 1 : here[i];
    }
    OK(cudaMalloc((void **)&data, sizeof here));
    OK(cudaMalloc((void **)&out, sizeof each + sizeof all));
    OK(cudaMemcpy(data, here, sizeof here, cudaMemcpyHostToDevice));
    OK(cudaMemset(out, 0, sizeof each + sizeof all));
    int *total = out + BLOCKS;
    void *arguments[] = {&data, &out, &total, &n};
    dim3 blocks = {BLOCKS, 1, 1}, threads = {64, 1, 1};
    IS(cudaSuccess, cudaLaunchKernel(&sums_kernel, blocks, threads, arguments, 0, 0));
    OK(cudaMemcpy(each, out, sizeof each, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&all, total, sizeof all, cudaMemcpyDeviceToHost));
    SAME(sum, all);
    SAME(sum, each[0] + each[1] + each[2]);
    OK(cudaFree(data));
    OK(cudaFree(out));
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "refused"))
        refused();
    else if (argc == 2)
        run_sums(argv[1]);
    else
        return 2;
    if (!wrong)
        puts("all as expected");
    return wrong;
}
