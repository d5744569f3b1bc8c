/* What code compiled by nvcc calls, called by hand: so a machine without nvcc tries it, too.
 * nvcc_by_hand refused: the launches of a kernel whose binary has no PTX.
 * nvcc_by_hand FILE.ptx: the kernel of tests/simulator/kernels/sums.cu. */
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

/* ---- PTX that is in a file ---- */

/* A fat binary with one text that is not compressed: what nvcc --compress-mode=none writes. */
struct binary {
    struct {
        unsigned magic;
        unsigned short version, header_bytes;
        unsigned long long bytes;
    } container;
    struct {
        unsigned short kind, version;
        unsigned header_bytes;
        unsigned long long bytes;
        unsigned compressed, unknown[2], architecture;
        unsigned long long more, flags, yet_more, text_bytes;
    } entry;
    char text[1 << 16];
};

static void read_binary(const char *path, struct binary *b)
{
    FILE *file = fopen(path, "r");
    if (!file)
        exit(2);
    size_t bytes = fread(b->text, 1, sizeof b->text - 1, file);
    fclose(file);
    b->container.magic = 0xBA55ED50;
    b->container.version = 1;
    b->container.header_bytes = sizeof b->container;
    b->container.bytes = sizeof b->entry + bytes + 1;
    b->entry.kind = 1;
    b->entry.header_bytes = sizeof b->entry;
    b->entry.bytes = bytes + 1;
    b->entry.architecture = 75;
}

static void sums_kernel(void) {}

static void run_sums(const char *path)
{
    enum { COUNT = 1000, BLOCKS = 3 };
    static struct binary binary;
    static const struct {
        int magic, version;
        const void *data;
        void *file;
    } wrapper = {0x466243b1, 1, &binary, NULL};
    int here[COUNT], each[BLOCKS], all = 0, sum = 0, n = COUNT, *data, *out;
    read_binary(path, &binary);
    void **handle = __cudaRegisterFatBinary((void *)&wrapper);
    __cudaRegisterFunction(handle, (const char *)(void *)sums_kernel, NULL, "sums", -1, 0, 0, 0, 0,
                           0);
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
    IS(cudaSuccess, cudaLaunchKernel((const void *)sums_kernel, blocks, threads, arguments, 0, 0));
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
