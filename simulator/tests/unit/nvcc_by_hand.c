/* What code compiled by nvcc calls, called by hand: so a machine without nvcc tries it, too.
 * nvcc_by_hand managed NAME: a __managed__ variable that is not in the device code.
 * nvcc_by_hand sums FILE.ptx: the kernel of simulator/tests/unit/kernels/sums.cu. */
#include <cuda.h>

#include "expect.h"
#include "nvcc_by_hand.h"

static const char *argument; /* argv[2], or NULL */
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

/* Launches of a kernel whose binary has no PTX. */
CASE(refused)
{
    void **binary = register_binary((const void *)"no binary"), *arguments[] = {NULL};
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

    IS(cudaErrorInvalidResourceHandle, launch(&no_kernel, arguments));
    IS(cudaErrorInvalidResourceHandle, cudaGetLastError());
    IS(cudaErrorInvalidResourceHandle, cudaLaunchKernel(none, one, one, arguments, 0, 0));
    IS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(NULL, one, one, arguments, 0, 0));
    IS(cudaErrorInvalidValue, cudaLaunchKernelExC(NULL, kernel, arguments));
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    IS(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
}

/* ---- PTX of its own ---- */

/* A variable of 16 bytes, and a kernel that does nothing and has 256 bytes of shared memory. */
static const char own_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                              ".global .align 4 .b8 table[16];\n"
                              ".visible .entry nothing()\n"
                              "{\n"
                              ".shared .align 4 .b8 part[256];\n"
                              "ret;\n"
                              "}\n"
                              ".visible .global .attribute(.managed) .align 4 .u32 counter = 5;\n"
                              ".visible .entry count() .maxntid 4, 2, 1\n"
                              "{ red.global.add.u32 [counter], 1; ret; }\n";
static char table;
static const char nothing_kernel, count_kernel;

static void register_own(void)
{
    void **binary = register_ptx(own_ptx);
    __cudaRegisterFunction(binary, &nothing_kernel, NULL, "nothing", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(binary, &table, NULL, "table", 0, 16, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);
}

CASE(variables)
{
    enum cudaMemcpyKind in = cudaMemcpyHostToDevice, out = cudaMemcpyDeviceToHost;
    int given[4] = {1, 2, 3, 4}, back[4] = {0}, other = 7;
    cudaStream_t s;
    register_own();
    OK(cudaStreamCreate(&s));
    OK(cudaMemcpyToSymbolAsync(&table, given, sizeof given, 0, in, s));
    OK(cudaMemcpyToSymbolAsync(&table, &other, sizeof other, 8, cudaMemcpyDefault, s));
    OK(cudaMemcpyFromSymbolAsync(back, &table, 12, 4, out, s));
    OK(cudaStreamSynchronize(s));
    SAME(2, back[0]);
    SAME(7, back[1]);
    SAME(4, back[2]);
    SAME(0, back[3]);
    IS(cudaErrorInvalidValue, cudaMemcpyToSymbolAsync(&table, given, 16, 1, in, s));
    IS(cudaErrorInvalidValue, cudaMemcpyFromSymbolAsync(back, &table, 1, 17, out, s));
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbolAsync(&table, given, 16, 0, out, s));
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpyFromSymbolAsync(back, &table, 16, 0, in, s));
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(&table, given, 16, 0, out));
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpyFromSymbol(back, &table, 16, 0, in));
    IS(cudaErrorInvalidSymbol, cudaMemcpyToSymbolAsync(&other, given, 4, 0, in, s));
    IS(cudaErrorInvalidSymbol, cudaMemcpyFromSymbolAsync(back, &other, 4, 0, out, s));
    size_t bytes;
    void *address;
    IS(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, &other));
    IS(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, &other));
    IS(cudaErrorInvalidValue, cudaGetSymbolSize(NULL, &table));
    IS(cudaErrorInvalidValue, cudaGetSymbolAddress(NULL, &table));
}

static cudaError_t launch_with(size_t shared_bytes)
{
    return cudaLaunchKernel(&nothing_kernel, one, one, NULL, shared_bytes, 0);
}

/* A multiprocessor has 228 KiB of shared memory and room for 2048 threads, a block at most 227 KiB,
 * and 1 KiB of each is the driver's. */
CASE(resources)
{
    enum cudaFuncAttribute shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const void *kernel = &nothing_kernel, *none = &no_kernel;
    size_t KiB = 1024, bytes = 0;
    int blocks = 0;
    register_own();
    IS(cudaSuccess, launch_with(48 * KiB - 256));
    IS(cudaErrorInvalidValue, launch_with(48 * KiB));
    IS(cudaErrorInvalidValue, cudaFuncSetAttribute(kernel, shared, 227 * 1024));
    IS(cudaErrorInvalidValue, cudaFuncSetAttribute(kernel, shared, -1));
    IS(cudaErrorInvalidResourceHandle, cudaFuncSetAttribute(none, shared, 1024));
    IS(cudaErrorInvalidValue, launch_with(48 * KiB));
    IS(cudaSuccess, cudaFuncSetAttribute(kernel, shared, 227 * 1024 - 256));
    IS(cudaSuccess, launch_with(227 * KiB - 256));
    IS(cudaErrorInvalidValue, launch_with(227 * KiB));
    IS(cudaSuccess, cudaFuncSetAttribute(kernel, shared, 0));
    IS(cudaErrorInvalidValue, launch_with(1));
    IS(cudaSuccess, cudaFuncSetAttribute(kernel, shared, 227 * 1024 - 256));

    IS(cudaSuccess, cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
    IS(cudaErrorInvalidResourceHandle, cudaFuncSetCacheConfig(none, cudaFuncCachePreferShared));
    enum cudaFuncCache config;
    IS(cudaSuccess, cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    IS(cudaSuccess, cudaDeviceGetCacheConfig(&config));
    SAME(cudaFuncCachePreferL1, config);

#define BLOCKS(...) cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, __VA_ARGS__)
    IS(cudaSuccess, BLOCKS(kernel, 256, 0, cudaOccupancyDefault));
    SAME(8, blocks);
    IS(cudaSuccess, BLOCKS(kernel, 256, 74 * KiB, cudaOccupancyDisableCachingOverride));
    SAME(3, blocks);
    IS(cudaSuccess, BLOCKS(kernel, 2048, 0, cudaOccupancyDefault));
    SAME(0, blocks);
    IS(cudaSuccess, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 0));
    SAME(2, blocks);
    IS(cudaErrorInvalidValue, BLOCKS(kernel, 256, 0, 2));
    IS(cudaErrorInvalidValue, BLOCKS(kernel, 0, 0, cudaOccupancyDefault));
    IS(cudaErrorInvalidResourceHandle, BLOCKS(none, 256, 0, cudaOccupancyDefault));

#define ROOM(...) cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, __VA_ARGS__)
    IS(cudaSuccess, ROOM(kernel, 1, 256));
    SAME(227 * KiB - 256, bytes);
    IS(cudaSuccess, ROOM(kernel, 4, 256));
    SAME(56 * KiB - 256, bytes);
    IS(cudaErrorInvalidValue, ROOM(kernel, 228, 32));
    IS(cudaErrorInvalidValue, ROOM(kernel, 0, 256));
    IS(cudaErrorInvalidValue, ROOM(kernel, 1, 0));
    IS(cudaErrorInvalidResourceHandle, ROOM(none, 1, 256));
}

CASE(managed)
{
    const char *name = argument ? argument : "counter";
    int *counter = NULL;
    void **binary = register_ptx(own_ptx);
    dim3 threads = {4, 2, 1};
    __cudaRegisterFunction(binary, &count_kernel, NULL, "count", -1, 0, 0, 0, 0, 0);
    __cudaRegisterManagedVar(binary, (void **)&counter, NULL, name, 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);
    SAME(0, __cudaInitModule(NULL));
    SAME(1, __cudaInitModule(binary));
    SAME(5, *counter);
    *counter = 10;
    OK(cudaLaunchKernel(&count_kernel, one, threads, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
    SAME(18, *counter);
    void *address;
    size_t bytes;
    OK(cudaGetSymbolAddress(&address, counter));
    SAME(counter, address);
    OK(cudaGetSymbolSize(&bytes, counter));
    SAME(4, bytes);
    CUmodule module;
    CUdeviceptr found;
    DO(cuFuncGetModule(&module, (CUfunction)&count_kernel));
    DO(cuModuleGetGlobal(&found, &bytes, module, "counter"));
    SAME(counter, found);
    struct cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, &count_kernel));
    SAME(8, attributes.maxThreadsPerBlock);
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaLaunchAttributeValue value = {.priority = -2};
    struct cudaKernelNodeParams p = {
        .func = (void *)&count_kernel, .gridDim = one, .blockDim = threads};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value));
    OK(cudaGraphKernelNodeSetParams(node, &p));
    value.priority = 7;
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
    SAME(-2, value.priority);
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &value));
    SAME(0, value.cooperative);
    IS(cudaErrorInvalidValue,
       cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeSynchronizationPolicy, &value));
    threads.z = 2;
    IS(cudaErrorInvalidValue, cudaLaunchKernel(&count_kernel, one, threads, NULL, 0, 0));
}

/* ---- forms of a binary ---- */

/* Writes what is left of a length of LZ4 whose first 4 bits were 15. */
static unsigned char *put_length(unsigned char *at, size_t length)
{
    for (; length >= 255; length -= 255)
        *at++ = 255;
    *at++ = (unsigned char)length;
    return at;
}

/* Writes a sequence of LZ4: literals, and then bytes of before again, unless that is 0. */
static unsigned char *put_sequence(unsigned char *at, const char *literals, size_t count,
                                   unsigned char distance, size_t again)
{
    size_t match = again ? again - 4 : 0;
    *at++ = (unsigned char)((count < 15 ? count : 15) << 4 | (match < 15 ? match : 15));
    if (count >= 15)
        at = put_length(at, count - 15);
    memcpy(at, literals, count);
    at += count;
    if (!again)
        return at;
    *at++ = distance;
    *at++ = 0;
    return match < 15 ? at : put_length(at, match - 15);
}

/* Registers the binary's kernel "nonono", and launches it. */
static cudaError_t launch_of(void **binary, const char *kernel)
{
    __cudaRegisterFunction(binary, kernel, NULL, "nonono", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);
    return cudaLaunchKernel(kernel, one, one, NULL, 0, 0);
}

/* As LZ4: "//aaa...", of which 300 repeat the byte before them, and a kernel whose name repeats the
 * two before. Then with a byte that is missing; and in a list, beside what is no binary. */
CASE(compressed)
{
    static const char kernels[4], name[] = "\n.version 7.0\n.target sm_75\n.entry no",
                                  body[] = "() { ret; }\n";
    unsigned char bytes[256], *end = put_sequence(bytes, "//a", 3, 1, 300);
    end = put_sequence(end, name, sizeof name - 1, 2, 4);
    end = put_sequence(end, body, sizeof body, 0, 0);
    size_t count = (size_t)(end - bytes);
    struct binary *b = new_binary((char *)bytes, count), *damaged;
    b->entry.flags = 0x2000;
    b->entry.compressed = (unsigned)count;
    b->entry.text_bytes = 3 + 300 + sizeof name - 1 + 4 + sizeof body;
    damaged = new_binary((char *)bytes, count);
    damaged->entry = b->entry;
    damaged->entry.text_bytes++;
    IS(cudaSuccess, launch_of(register_binary(b), &kernels[0]));
    IS(cudaErrorNoKernelImageForDevice, launch_of(register_binary(damaged), &kernels[1]));

    /* Version 2 of the wrapper has a list. */
    const void *list[] = {b, "no binary", NULL}, *none[] = {NULL};
    struct {
        int magic, version;
        const void *data, **prelinked;
    } of_list = {0x466243b1, 2, NULL, list}, of_none = {0x466243b1, 2, NULL, none};
    IS(cudaSuccess, launch_of(__cudaRegisterFatBinary(&of_list), &kernels[2]));
    IS(cudaErrorNoKernelImageForDevice, launch_of(__cudaRegisterFatBinary(&of_none), &kernels[3]));
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

CASE(sums)
{
    enum { COUNT = 1000, BLOCKS = 3 };
    int here[COUNT], each[BLOCKS], all = 0, sum = 0, n = COUNT, *data, *out;
    void **handle = register_file(argument);
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
    argument = argc > 2 ? argv[2] : NULL;
    return run_named(argc, argv);
}
