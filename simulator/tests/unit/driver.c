/* The driver API. Each case is a program of its own (driver.bats). */
#include <cuda.h>
#include <stdbool.h>

#include "expect.h"

static CUdevice device;
static CUcontext context;

/* As a program of the driver API begins. */
static void begin(void)
{
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
}

CASE(contexts)
{
    CUcontext own, current, first;
    CUdeviceptr p = 0;
    CUdevice d = -1;
    unsigned flags;
    int active, runtime_device;
    GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&device, 0));
    GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&p, 16));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    DO(cuInit(0));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 16));
    GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 99));
    DO(cuCtxGetCurrent(&current));
    SAME(0, (uintptr_t)current);
    DO(cuDevicePrimaryCtxGetState(1, &flags, &active));
    SAME(0, active);
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(1));

    /* A stack, whose top is current. */
    DO(cuDevicePrimaryCtxRetain(&first, 0));
    DO(cuCtxPushCurrent(first));
    DO(cuCtxCreate(&own, NULL, 0, 1));
    DO(cuCtxGetDevice(&d));
    SAME(1, d);
    DO(cuMemAlloc(&p, 16));
    DO(cuMemFree(p));
    DO(cuCtxPopCurrent(&current));
    SAME((uintptr_t)own, (uintptr_t)current);
    DO(cuCtxGetDevice(&d));
    SAME(0, d);

    /* Another thread's, or a destroyed, context. */
    DO(cuCtxPushCurrent(own));
    DO(cuCtxDestroy(own));
    DO(cuCtxGetCurrent(&current));
    SAME((uintptr_t)first, (uintptr_t)current);
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(own));

    /* Both APIs have the same current device. */
    OK(cudaSetDevice(1));
    DO(cuCtxGetDevice(&d));
    SAME(1, d);
    DO(cuCtxSetCurrent(first));
    OK(cudaGetDevice(&runtime_device));
    SAME(0, runtime_device);
    DO(cuDevicePrimaryCtxGetState(0, &flags, &active));
    SAME(1, active);
    DO(cuDevicePrimaryCtxRelease(0));
}

CASE(devices)
{
    char name[100], shorter[5];
    int count, major, minor, value;
    size_t bytes;
    CUuuid one, other;
    struct cudaDeviceProp properties;
    begin();
    OK(cudaGetDeviceProperties(&properties, 0));
    DO(cuDeviceGetCount(&count));
    SAME(2, count);
    DO(cuDeviceGetName(name, sizeof name, 0));
    SAME(0, strcmp(name, properties.name));
    DO(cuDeviceGetName(shorter, sizeof shorter, 0));
    SAME(4, strlen(shorter));
    DO(cuDeviceTotalMem(&bytes, 0));
    SAME(properties.totalGlobalMem, bytes);
    DO(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    DO(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    SAME(90, 10 * major + minor);
    GIVES(CUDA_ERROR_INVALID_DEVICE,
          cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2));
    DO(cuDeviceGetUuid(&one, 0));
    DO(cuDeviceGetUuid(&other, 1));
    SAME(1, memcmp(&one, &other, sizeof one) != 0);
    SAME(0, memcmp(&one, &properties.uuid, sizeof one));
    DO(cuCtxResetPersistingL2Cache());
}

CASE(errors)
{
    const char *text;
    CUdeviceptr p;
    begin();
    DO(cuGetErrorName(CUDA_ERROR_INVALID_CONTEXT, &text));
    SAME(0, strcmp(text, "CUDA_ERROR_INVALID_CONTEXT"));
    DO(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    SAME(0, strcmp(text, "out of memory"));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)15, &text));
    SAME(0, (uintptr_t)text);
    /* The runtime does not remember the driver's errors. */
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&p, 0));
    IS(cudaSuccess, cudaGetLastError());
    /* What is not modeled. */
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMipmappedArrayDestroy(NULL));
    /* Without a word: a table that NVRTC asks for, and does without. */
    static const CUuuid other = {{1, 2, 3}};
    const void *table;
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &other));
}

/* Attributes of several at once; an address in no allocation has none and is no error. */
CASE(attributes)
{
    static int mine;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    CUcontext owner = NULL;
    unsigned type = 0;
    size_t bytes = 0;
    void *host = &mine, *values[] = {&owner, &type, &bytes, &host};
    CUdeviceptr p;
    begin();
    DO(cuMemAlloc(&p, 300));
    DO(cuPointerGetAttributes(4, which, values, p + 100));
    SAME((uintptr_t)context, (uintptr_t)owner);
    SAME(CU_MEMORYTYPE_DEVICE, type);
    SAME(300, bytes);
    SAME(0, (uintptr_t)host);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&host, which[3], p));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(p + 2, 0, 1));
    DO(cuMemFree(p));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, which[1], (CUdeviceptr)&mine));
    DO(cuPointerGetAttributes(4, which, values, (CUdeviceptr)&mine));
    SAME(0, (uintptr_t)owner);
    SAME(0, type);
    SAME(0, bytes);
    GIVES(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&p, &bytes, (CUdeviceptr)&mine));
}

/* cuGetProcAddress finds the version that a program was compiled for. */
CASE(addresses)
{
    CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    CUdriverProcAddressQueryResult status;
    void *found, *other;
    DO(cuGetProcAddress("cuGetProcAddress", (void **)&get, 13000, 0, NULL));
    DO(get("cuMemAlloc", &found, 13000, 0, &status));
    SAME((uintptr_t)cuMemAlloc, (uintptr_t)found);
    DO(get("cuCtxCreate", &found, 11000, 0, &status));
    DO(get("cuCtxCreate", &other, 13000, 0, &status));
    SAME((uintptr_t)cuCtxCreate, (uintptr_t)other);
    SAME(1, found != other);
    DO(get("cuStreamQuery", &found, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status));
    DO(get("cuStreamQuery", &other, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    SAME(1, found != other);
    GIVES(CUDA_ERROR_NOT_FOUND, get("cuMemAllocAsync", &found, 11000, 0, &status));
    SAME(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
    GIVES(CUDA_ERROR_NOT_FOUND, get("cuNothing", &found, 13000, 0, &status));
    SAME(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
    SAME(0, (uintptr_t)found);
    /* It exists, and says that it is not simulated. */
    DO(get("cuMipmappedArrayCreate", &found, 13000, 0, &status));
}

/* A library that must load where a driver has no pools looks their functions up by the runtime. */
CASE(entry_points)
{
    CUresult (*allocate)(CUdeviceptr *, size_t, CUstream);
    CUdeviceptr p = 0;
    enum cudaDriverEntryPointQueryResult status;
    void *found, *other;
    OK(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", (void **)&allocate, 12000,
                                        cudaEnableDefault, &status));
    SAME(cudaDriverEntryPointSuccess, status);
    DO(allocate(&p, 64, 0));
    OK(cudaFreeAsync((void *)p, 0));
    OK(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &other, 12000,
                                        cudaEnablePerThreadDefaultStream, NULL));
    SAME(1, other != (void *)(uintptr_t)allocate);
    OK(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &found, 11000, cudaEnableDefault,
                                        &status));
    SAME(cudaDriverEntryPointVersionNotSufficent, status);
    SAME(0, (uintptr_t)found);
    OK(cudaGetDriverEntryPointByVersion("cuNothing", &found, 12000, cudaEnableDefault, &status));
    SAME(cudaDriverEntryPointSymbolNotFound, status);
    SAME(0, (uintptr_t)found);
    IS(cudaErrorInvalidValue,
       cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &found, 99000, cudaEnableDefault, NULL));
    IS(cudaErrorInvalidValue,
       cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &found, 12000, 3, NULL));
}

/* ---- kernels: simulator/tests/unit/kernels/sums.ptx, argv[2] ---- */

static const char *path;
/* argv[3] is "ordered". */
static bool ordered;

static int sum_of(int n) { return n < 2 ? n : 2 + sum_of(n - 1); }

CASE(modules)
{
    enum { COUNT = 1000, BLOCKS = 5 };
    static int data[COUNT], each[BLOCKS];
    int count = COUNT, all = 0, sum = 0, threads, grid, block;
    CUmodule module, again;
    CUfunction function;
    CUdeviceptr data_at, each_at, all_at;
    CUlinkState link;
    size_t bytes, offset;
    void *image;
    const char *name;
    char log[200] = "?";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    begin();
    GIVES(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nothing"));
    GIVES(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadDataEx(&module, "nonsense", 2, options, values));
    SAME(1, strlen(log) > 10 && (size_t)values[1] == strlen(log));
    GIVES(CUDA_ERROR_INVALID_PTX,
          cuModuleLoadData(&module, ".version 9.0\n.target sm_100\n.address_size 64\n"));

    DO(cuModuleLoad(&module, path));
    GIVES(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "differences"));
    DO(cuModuleGetFunction(&function, module, "sums"));
    DO(cuFuncGetName(&name, function));
    SAME(0, strcmp(name, "sums"));
    DO(cuFuncGetModule(&again, function));
    SAME((uintptr_t)module, (uintptr_t)again);
    DO(cuModuleGetFunctionCount((unsigned *)&count, module));
    SAME(1, count);
    count = COUNT;
    DO(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    SAME(256, threads);
    DO(cuFuncGetParamInfo(function, 3, &offset, &bytes));
    SAME(24, offset);
    SAME(4, bytes);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(function, 4, &offset, &bytes));
    DO(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 0));
    SAME(1, block % 32 == 0 && grid % 132 == 0 && grid > 0);

    DO(cuMemAlloc(&data_at, sizeof data));
    DO(cuMemAlloc(&each_at, sizeof each));
    DO(cuMemAlloc(&all_at, sizeof all));
    DO(cuMemsetD32(all_at, 0, 1));
    for (int i = 0; i < COUNT; i++) {
        data[i] = i % 7;
        sum += sum_of(data[i]);
    }
    DO(cuMemcpyHtoD(data_at, data, sizeof data));
    void *arguments[] = {&data_at, &each_at, &all_at, &count};
    DO(cuLaunchKernel(function, BLOCKS, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    DO(cuMemcpyDtoH(&all, all_at, sizeof all));
    SAME(sum, all);
    DO(cuMemcpyDtoH(each, each_at, sizeof each));
    SAME(sum, each[0] + each[1] + each[2] + each[3] + each[4]);

    /* The arguments in one buffer; and errors. */
    struct {
        CUdeviceptr data, each, all;
        int count;
    } buffer = {data_at, each_at, all_at, COUNT / 2};
    bytes = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    for (int i = 0; i < COUNT / 2; i++)
        sum += sum_of(data[i]);
    DO(cuLaunchKernel(function, BLOCKS, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    DO(cuMemcpyDtoH(&all, all_at, sizeof all));
    SAME(sum, all);
    bytes = 24;
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, extra));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(function, 1, 1, 1, 2000, 1, 1, 0, NULL, arguments, NULL));

    /* The linker's image has the same kernel. */
    DO(cuLinkCreate(0, NULL, NULL, &link));
    DO(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
    DO(cuLinkComplete(link, &image, &bytes));
    DO(cuModuleLoadData(&again, image));
    DO(cuLinkDestroy(link));
    DO(cuModuleUnload(module));
    GIVES(CUDA_ERROR_INVALID_HANDLE,
          cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    DO(cuModuleGetFunction(&function, again, "sums"));
    DO(cuMemsetD32(all_at, 0, 1));
    DO(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    DO(cuMemcpyDtoH(&sum, all_at, sizeof sum));
    DO(cuMemcpyDtoH(each, each_at, sizeof each));
    SAME(each[0], sum);
    DO(cuModuleUnload(again));
    DO(cuMemFree(data_at));
    DO(cuMemFree(each_at));
    DO(cuMemFree(all_at));
}

/* ---- what is reported ---- */

/* A copy in one stream, and a kernel in another that reads it; correct: with an event. */
CASE(race)
{
    static int *numbers;
    CUmodule module;
    CUfunction function;
    CUstream load, work;
    CUevent event;
    CUdeviceptr p;
    int count = 64;
    begin();
    DO(cuModuleLoad(&module, path));
    DO(cuModuleGetFunction(&function, module, "sums"));
    DO(cuStreamCreate(&load, CU_STREAM_NON_BLOCKING));
    DO(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
    DO(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    DO(cuMemAllocHost((void **)&numbers, 256));
    DO(cuMemAlloc(&p, 264));
    memset(numbers, 0, 256);
    DO(cuMemsetD8(p, 0, 264));
    DO(cuCtxSynchronize());
    CUdeviceptr each = p + 256, all = p + 260;
    void *arguments[] = {&p, &each, &all, &count};
    DO(cuMemcpyHtoDAsync(p, numbers, 256, load));
    if (ordered) {
        DO(cuEventRecord(event, load));
        DO(cuStreamWaitEvent(work, event, 0));
    }
    DO(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, work, arguments, NULL));
    DO(cuCtxSynchronize());
    DO(cuMemFree(p));
    DO(cuMemFreeHost(numbers));
}

/* A variable of a module is used after the module is unloaded; correct: before. */
CASE(unloaded)
{
    CUmodule module;
    CUdeviceptr p;
    size_t bytes;
    int got = 0;
    begin();
    DO(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.address_size 64\n"
                                 ".visible .global .align 4 .u32 counter = 7;\n"));
    DO(cuModuleGetGlobal(&p, &bytes, module, "counter"));
    if (!ordered)
        DO(cuModuleUnload(module));
    cuMemcpyDtoH(&got, p, bytes);
    if (ordered)
        DO(cuModuleUnload(module));
    SAME(ordered ? 7 : 0, got);
}

/* An image that is a GPU's machine code. */
CASE(machine_code)
{
    static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [18] = 190};
    CUmodule module;
    begin();
    GIVES(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, elf));
}

static void ask_for_table(const char *bytes)
{
    CUuuid id;
    const void *table = &id;
    memcpy(&id, bytes, sizeof id);
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));
    SAME(0, (uintptr_t)table);
}

/* What NVIDIA's static runtime does at the program's first call. */
CASE(static_runtime)
{
    ask_for_table("\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9");
}

/* What cuFFT does before it makes a plan. */
CASE(fft_library)
{
    ask_for_table("\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2");
}

/* A refused call whose result nobody looks at: 0 bytes. */
CASE(refused)
{
    CUdeviceptr p;
    begin();
    cuMemAlloc(&p, 0);
    DO(cuMemAlloc(&p, 16));
    DO(cuMemFree(p));
}

/* SIM_FAIL=cuMemAlloc:2. */
CASE(failing)
{
    CUdeviceptr p, q;
    begin();
    DO(cuMemAlloc(&p, 16));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&q, 16));
    DO(cuMemFree(p));
}

int main(int argc, char **argv)
{
    path = argc > 2 ? argv[2] : "";
    ordered = argc > 3 && !strcmp(argv[3], "ordered");
    return run_named(argc, argv);
}
