/* Records what calls about kernels answer that were given odd arguments, in the
 * words of both APIs: attributes, shapes and attributes of launches, modules,
 * variables; and those about memory of the host and managed memory. Random
 * calls with such arguments found these. */
#include "ask_driver.h"

enum { PAGE = 4096 };

static CUmodule module;
static CUfunction function;
static const void *kernel; /* the same one in the words of the runtime */
static const void *none;   /* no kernel, but a function of the host */
static void *managed;
static _Alignas(PAGE) char pageable[4 * PAGE];

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".const .align 4 .b8 table[400];\n"
                          ".visible .entry nothing() { ret; }\n"
                          ".visible .entry at_most_64() .maxntid 64, 1, 1 { ret; }\n";

static const void *kernel_named(const char *name)
{
    CUlibrary library;
    CUkernel found = NULL;
    DRIVER(cuLibraryLoadData)(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
    DRIVER(cuLibraryGetKernel)(&found, library, name);
    return found;
}

static void begin(void)
{
    kernel = kernel_named("nothing");
    none = (const void *)(uintptr_t)begin;
    DRIVER(cuModuleLoadData)(&module, ptx);
    DRIVER(cuModuleGetFunction)(&function, module, "nothing");
    cudaMallocManaged(&managed, PAGE, cudaMemAttachGlobal);
}

/* ---- attributes of kernels ---- */

/* Values at the ends of the range, and outside of it. */
CASE_AFTER(begin, attributes)
{
    static const int values[] = {-2, -1, 0, 1, 2, 3, 100, 101};
    struct cudaFuncAttributes a;
    RECORD(cudaFuncGetAttributes(&a, kernel));
    NOTE("constants %zu", a.constSizeBytes);
    for (int attribute = 7; attribute < 17; attribute++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            const void *fresh = kernel_named("nothing");
            enum cudaFuncAttribute asked = (enum cudaFuncAttribute)attribute;
            NOTE("%d = %d: %s", attribute, values[i],
                 cudaGetErrorName(cudaFuncSetAttribute(fresh, asked, values[i])));
        }
    for (int i = 8; i < 16; i++) {
        int value = -7;
        ASK(cuFuncGetAttribute, &value, (CUfunction_attribute)i, function);
        NOTE("%d: %d", i, value);
    }
    RECORD(cudaFuncSetAttribute(none, cudaFuncAttributeMax, 1));
    RECORD(cudaFuncSetAttribute(none, cudaFuncAttributePreferredSharedMemoryCarveout, 1));
    RECORD(cudaFuncGetAttributes(&a, none));
    RECORD(cudaFuncGetAttributes(&a, NULL));
}

CASE_AFTER(begin, cache)
{
    for (int i = -1; i < 5; i++)
        NOTE("%d: %s", i, cudaGetErrorName(cudaFuncSetCacheConfig(kernel, (enum cudaFuncCache)i)));
    RECORD(cudaFuncSetCacheConfig(none, cudaFuncCachePreferL1));
    RECORD(cudaFuncSetCacheConfig(NULL, cudaFuncCachePreferL1));
}

/* A multiprocessor has room for 2048 threads. */
CASE_AFTER(begin, room)
{
    size_t bytes;
    RECORD(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 2, 1024));
    RECORD(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 3, 1024));
    RECORD(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 1, 1025));
    RECORD(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, NULL, 0, 32));
}

/* ---- launches ---- */

static void launch(const char *what, const void *of, dim3 grid, dim3 block, size_t shared)
{
    NOTE("%s", what);
    RECORD(cudaLaunchKernel(of, grid, block, NULL, shared, s));
    RECORD(cudaLaunchCooperativeKernel(of, grid, block, NULL, shared, s));
}

CASE_AFTER(begin, shapes)
{
    const dim3 one = {1, 1, 1};
    const enum cudaFuncAttribute most_shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    launch("no blocks", kernel, (dim3){1, 0, 1}, one, 0);
    launch("no threads", kernel, one, (dim3){32, 1, 0}, 0);
    launch("a grid too high", kernel, (dim3){1, 65536, 1}, one, 0);
    launch("more than .maxntid", kernel_named("at_most_64"), one, (dim3){65, 1, 1}, 0);
    launch("49153 bytes", kernel, one, one, 49153);
    launch("no kernel", none, one, one, 0);
    launch("NULL", NULL, one, one, 0);
    RECORD(cudaFuncSetAttribute(kernel, most_shared, 0));
    launch("64 bytes, and may have none", kernel, one, one, 64);
    for (int i = 0; i < 3; i++) {
        launch("clusters", kernel, one, one, 0);
        enum cudaFuncAttribute size = cudaFuncAttributeRequiredClusterWidth + i;
        RECORD(cudaFuncSetAttribute(kernel, size, 1));
    }
    launch("clusters of one block", kernel, one, one, 0);
    RECORD(cudaDeviceSynchronize());
}

CASE_AFTER(begin, launch_attributes)
{
    static const struct {
        int id, value;
    } asked[] = {{0, 3},  {2, 0},  {3, 1},  {6, -1},  {8, 3},    {9, 3},    {9, 4},
                 {10, 1}, {10, 2}, {14, 0}, {14, -1}, {14, 100}, {14, 101}, {99, 0}};
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t c = {.gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .stream = s};
    c.numAttrs = 1;
    RECORD(cudaLaunchKernelExC(&c, kernel, NULL));
    RECORD(cudaLaunchKernelExC(&c, none, NULL));
    c.attrs = &attribute;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        memset(&attribute, 0, sizeof attribute);
        attribute.id = (cudaLaunchAttributeID)asked[i].id;
        memcpy(&attribute.val, &asked[i].value, sizeof(int));
        NOTE("%d = %d: %s", asked[i].id, asked[i].value,
             cudaGetErrorName(cudaLaunchKernelExC(&c, kernel, NULL)));
    }
    RECORD(cudaDeviceSynchronize());
}

CASE_AFTER(begin, node_attributes)
{
    static const struct {
        int id, value;
    } asked[] = {{0, 0}, {1, 0}, {2, 1},  {3, 1},  {6, 1},  {8, -2},  {8, 3},
                 {9, 3}, {9, 4}, {10, 1}, {10, 2}, {14, 3}, {14, -1}, {99, 0}};
    cudaGraph_t graph;
    cudaGraphNode_t node;
    struct cudaKernelNodeParams p = {
        .func = (void *)kernel, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    cudaGraphCreate(&graph, 0);
    RECORD(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        cudaLaunchAttributeID id = (cudaLaunchAttributeID)asked[i].id;
        cudaLaunchAttributeValue value;
        int got = 7;
        memset(&value, 0, sizeof value);
        cudaError_t error = cudaGraphKernelNodeGetAttribute(node, id, &value);
        memcpy(&got, &value, sizeof got);
        NOTE("%d: %s, %d", id, cudaGetErrorName(error), got);
        memset(&value, 0, sizeof value);
        memcpy(&value, &asked[i].value, sizeof got);
        error = cudaGraphKernelNodeSetAttribute(node, id, &value);
        NOTE("%d = %d: %s", id, asked[i].value, cudaGetErrorName(error));
        cudaGraphKernelNodeGetAttribute(node, id, &value);
        memcpy(&got, &value, sizeof got);
        NOTE("%d: %d", id, got);
    }
}

/* ---- modules and variables ---- */

CASE_AFTER(begin, modules)
{
    CUdeviceptr address;
    size_t bytes;
    CUmodule same = NULL;
    unsigned count = 77;
    ASK(cuModuleGetFunctionCount, &count, module);
    NOTE("%u", count);
    ASK(cuModuleGetGlobal, &address, &bytes, module, "");
    ASK(cuFuncGetModule, &same, function);
    NOTE("%s", same == module ? "the same" : "another");
}

/* A copy of no bytes asks for no variable. */
CASE(variables)
{
    RECORD(cudaMemcpyToSymbol(pageable, host, 0, 0, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpyToSymbol(pageable, host, 4, 0, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpyFromSymbolAsync(host, pageable, 0, 0, cudaMemcpyHostToDevice, s));
    RECORD(cudaMemcpyFromSymbolAsync(host, pageable, 4, 0, cudaMemcpyHostToDevice, s));
}

/* ---- memory of the host, and managed memory ---- */

CASE(read_only)
{
    RECORD(cudaHostRegister(pageable, PAGE, cudaHostRegisterReadOnly));
    RECORD(cudaMemset(pageable, 1, 64));
    RECORD(cudaMemsetAsync(pageable, 1, 64, s));
    RECORD(cudaMemcpy(pageable, m, 64, cudaMemcpyDefault));
    RECORD(cudaMemcpy(pageable, host, 64, cudaMemcpyHostToHost));
    RECORD(cudaMemcpyAsync(pageable, m, 64, cudaMemcpyDeviceToHost, s));
    RECORD(cudaMemcpyAsync(m, pageable, 64, cudaMemcpyHostToDevice, s));
    RECORD(cudaStreamSynchronize(s));
}

CASE_AFTER(begin, unregistered)
{
    void *of_pool = ready_memory(NULL, PAGE);
    RECORD(cudaHostUnregister(m));
    RECORD(cudaHostUnregister((char *)m + 8));
    RECORD(cudaHostUnregister(of_pool));
    RECORD(cudaHostUnregister(managed));
    RECORD(cudaHostUnregister(pageable));
}

CASE_AFTER(begin, pointers)
{
    unsigned always = 77;
    size_t bytes = 77;
    ASK(cuPointerGetAttribute, &always, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)managed);
    NOTE("%u", always);
    cudaHostRegister(pageable, 2 * PAGE + 1, 0);
    ASK(cuPointerGetAttribute, &bytes, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
        (CUdeviceptr)pageable + PAGE);
    NOTE("%zu", bytes);
}

/* Devices that are none. */
CASE_AFTER(begin, advice)
{
    for (int advice = 1; advice < 7; advice++)
        for (int device = -1; device < 9; device += 8) {
            struct cudaMemLocation at = location_of(DEVICE, device);
            cudaError_t error = cudaMemAdvise(managed, PAGE, (enum cudaMemoryAdvise)advice, at);
            NOTE("%d, %d: %s", advice, device, cudaGetErrorName(error));
        }
}

CASE_AFTER(begin, attached_to_none)
{
    RECORD(cudaStreamAttachMemAsync(s, managed, 0, 3));
    RECORD(cudaStreamAttachMemAsync(s, (char *)managed + 8, 0, 0));
    RECORD(cudaStreamAttachMemAsync(s, managed, 64, 0));
    RECORD(cudaStreamAttachMemAsync(s, managed, 0, 0));
}

CASE_AFTER(begin, whole_attached_to_none) { RECORD(cudaStreamAttachMemAsync(s, managed, PAGE, 0)); }

int main(int argc, char **argv) { return run_cases(argc, argv); }
