/* Records what the driver API answers where it is given odd arguments or no current context. Random
 * calls found these. */
#include "ask_driver.h"

static CUcontext context;
static CUdeviceptr memory, of_pool;
static CUmemoryPool pool;
static CUevent event, later;
static CUgraph graph;
static CUgraphExec exec;
static CUgraphNode node;
static CUarray array;
static CUmodule module;
static CUfunction function;
static void *pinned;
static unsigned char small[64];
static unsigned flags;
static size_t count, bytes;

static const char *const code =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n";

static void set_up(void)
{
    CUDA_ARRAY_DESCRIPTOR texels = {.Width = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    DRIVER(cuCtxGetCurrent)(&context);
    DRIVER(cuMemAlloc)(&memory, 4096);
    DRIVER(cuMemAllocAsync)(&of_pool, 4096, s);
    DRIVER(cuDeviceGetDefaultMemPool)(&pool, 0);
    DRIVER(cuEventCreate)(&event, 0);
    DRIVER(cuEventCreate)(&later, 0);
    DRIVER(cuEventRecord)(event, s);
    DRIVER(cuArrayCreate)(&array, &texels);
    DRIVER(cuMemAllocHost)(&pinned, 4096);
    DRIVER(cuGraphCreate)(&graph, 0);
    DRIVER(cuGraphAddEmptyNode)(&node, graph, NULL, 0);
    DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0);
    DRIVER(cuModuleLoadData)(&module, code);
    DRIVER(cuModuleGetFunction)(&function, module, "k");
    DRIVER(cuStreamSynchronize)(s);
}

static void leave(void)
{
    set_up();
    DRIVER(cuCtxSetCurrent)(NULL);
}

/* What belongs to a context that is not current: calls for a stream of it, ... */
CASE_AFTER(leave, streams_without_a_context)
{
    void *arguments[] = {&memory};
    CUcontext of_stream = NULL;
    CUdeviceptr p = 0;
    int device = 9;
    ASK(cuMemAllocAsync, &p, 4096, s);
    ASK(cuMemsetD8Async, memory, 1, 64, s);
    ASK(cuMemcpyHtoDAsync, memory, pinned, 64, s);
    ASK(cuMemcpyDtoHAsync, pinned, memory, 64, s);
    ASK(cuMemcpyDtoDAsync, of_pool, memory, 64, s);
    ASK(cuMemcpyAsync, of_pool, memory, 64, s);
    ASK(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL);
    ASK(cuEventRecord, event, s);
    ASK(cuStreamWaitEvent, s, event, 0);
    ASK(cuGraphLaunch, exec, s);
    ASK(cuGraphUpload, exec, s);
    ASK(cuMemAllocFromPoolAsync, &p, 4096, pool, s);
    ASK(cuMemFreeAsync, of_pool, s);
    ASK(cuStreamGetFlags, s, &flags);
    ASK(cuStreamGetDevice, s, &device);
    ASK(cuStreamGetCtx, s, &of_stream);
    ASK(cuStreamBeginCapture, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    ASK(cuStreamEndCapture, s, &graph);
    ASK(cuStreamSynchronize, s);
    ASK(cuStreamQuery, s);
    ASK(cuStreamDestroy, s);
}

/* ... for events, memory, arrays, graphs and kernels of it, ... */
CASE_AFTER(leave, objects_without_a_context)
{
    CUDA_ARRAY_DESCRIPTOR texels;
    CUdeviceptr start;
    float time;
    unsigned type = 0;
    int value = 0;
    ASK(cuEventQuery, event);
    ASK(cuEventSynchronize, event);
    ASK(cuEventElapsedTime, &time, event, later);
    ASK(cuEventRecord, event, NULL);
    ASK(cuEventDestroy, event);
    ASK(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory);
    ASK(cuMemGetAddressRange, &start, &bytes, memory);
    ASK(cuMemHostGetFlags, &flags, pinned);
    ASK(cuMemHostGetDevicePointer, &start, pinned, 0);
    ASK(cuArrayGetDescriptor, &texels, array);
    ASK(cuArrayDestroy, array);
    ASK(cuGraphAddEmptyNode, &node, graph, NULL, 0);
    ASK(cuGraphGetNodes, graph, NULL, &count);
    ASK(cuGraphInstantiateWithFlags, &exec, graph, 0);
    ASK(cuGraphLaunch, exec, NULL);
    ASK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    ASK(cuModuleGetFunction, &function, module, "k");
    ASK(cuModuleUnload, module);
    ASK(cuMemcpyDtoH, small, memory, 64);
    ASK(cuMemcpyPeer, of_pool, context, memory, context, 64);
    ASK(cuMemcpyPeer, of_pool, NULL, memory, NULL, 64);
    ASK(cuMemsetD8, memory, 1, 64);
    ASK(cuMemFree, memory);
    ASK(cuMemFreeHost, pinned);
    ASK(cuMemHostRegister, small, sizeof small, 0);
    ASK(cuMemHostUnregister, small);
    ASK(cuMemAlloc, &memory, 4096);
    ASK(cuMemAllocAsync, &memory, 4096, NULL);
    ASK(cuStreamSynchronize, NULL);
}

/* ... and for none. */
CASE_AFTER(leave, null_handles_without_a_context)
{
    CUdeviceptr p = 0;
    ASK(cuEventDestroy, NULL);
    ASK(cuEventQuery, NULL);
    ASK(cuEventRecord, NULL, s);
    ASK(cuArrayDestroy, NULL);
    ASK(cuGraphAddEmptyNode, &node, NULL, NULL, 0);
    ASK(cuGraphInstantiateWithFlags, &exec, NULL, 0);
    ASK(cuGraphLaunch, NULL, s);
    ASK(cuFuncGetAttribute, NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL);
    ASK(cuModuleUnload, NULL);
    ASK(cuMemFree, 0);
    ASK(cuMemFreeAsync, 0, s);
    ASK(cuMemAllocFromPoolAsync, &p, 4096, NULL, s);
    ASK(cuMemHostUnregister, NULL);
    ASK(cuStreamDestroy, NULL);
}

/* Flags of the primary context and of a new one. */
CASE_AFTER(set_up, flags_of_contexts)
{
    int active;
    for (unsigned wanted = 0; wanted <= 256; wanted = wanted < 8   ? wanted + 1
                                                    : wanted == 32 ? 128
                                                                   : 2 * wanted) {
        CUcontext new = NULL;
        CUresult set = DRIVER(cuDevicePrimaryCtxSetFlags)(0, wanted), got, made;
        unsigned state = 77, current = 77, own = 77;
        DRIVER(cuDevicePrimaryCtxGetState)(0, &state, &active);
        got = DRIVER(cuCtxGetFlags)(&current);
        made = DRIVER(cuCtxCreate)(&new, NULL, wanted, 0);
        if (!made) {
            DRIVER(cuCtxGetFlags)(&own);
            DRIVER(cuCtxDestroy)(new);
        }
        NOTE("%#x: %d, state %#x; %d, current %#x; %d, new %#x", wanted, (int)set, state, (int)got,
             current, (int)made, own);
        DRIVER(cuDevicePrimaryCtxSetFlags)(0, 0);
    }
    ASK(cuDevicePrimaryCtxSetFlags, 99, ~0u);
    ASK(cuCtxCreate, &context, NULL, ~0u, 99);
}

/* Which of two wrong arguments does a call tell? */
CASE_AFTER(set_up, two_wrong_arguments)
{
    int value;
    ASK(cuEventRecordWithFlags, event, s, 8);
    ASK(cuEventRecordWithFlags, NULL, s, 8);
    RECORD(cudaEventRecordWithFlags(NULL, s, 8));
    ASK(cuArrayGetDescriptor, NULL, NULL);
    ASK(cuArray3DGetDescriptor, NULL, NULL);
    ASK(cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL, 99);
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor, &value, NULL, -20, 0);
    ASK(cuModuleGetFunction, NULL, NULL, NULL);
    ASK(cuModuleGetGlobal, NULL, NULL, NULL, NULL);
    ASK(cuModuleGetGlobal, NULL, NULL, module, "");
    ASK(cuModuleGetFunction, &function, module, "");
    ASK(cuFuncGetName, NULL, NULL);
    ASK(cuFuncGetModule, &module, NULL);
    ASK(cuFuncGetParamInfo, NULL, 0, &bytes, &bytes);
    ASK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL);
    ASK(cuModuleLoad, &module, "");
    ASK(cuModuleLoad, &module, "/nonexistent");
    ASK(cuModuleLoad, &module, "/dev/null");
    ASK(cuDevicePrimaryCtxRetain, NULL, 99);
}

/* Copies of no bytes, whose memory has an unknown type. */
CASE_AFTER(set_up, empty_copies)
{
    CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory,
                          .srcPitch = 16,
                          .dstMemoryType = 6,
                          .dstPitch = 16,
                          .WidthInBytes = 16};
    CUDA_MEMCPY3D solid = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = memory,
                           .srcPitch = 16,
                           .dstMemoryType = 6,
                           .dstPitch = 16,
                           .WidthInBytes = 16};
    ASK(cuMemcpy2D, &flat);
    ASK(cuMemcpy2DUnaligned, &flat);
    ASK(cuMemcpy2DAsync, &flat, s);
    ASK(cuMemcpy3D, &solid);
    ASK(cuMemcpy3DAsync, &solid, s);
    flat.Height = 1;
    ASK(cuMemcpy2D, &flat);
    flat.WidthInBytes = 0;
    ASK(cuMemcpy2D, &flat);
    flat.dstMemoryType = 0;
    ASK(cuMemcpy2D, &flat);
    solid.Height = solid.Depth = 1;
    ASK(cuMemcpy3D, &solid);
    solid.Depth = 0;
    solid.srcLOD = 1;
    ASK(cuMemcpy3D, &solid);
}

/* Where the next row and the next slice are if a pitch and a height are 0. */
CASE_AFTER(set_up, packed_copies)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = small,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory,
                          .dstPitch = 8,
                          .dstHeight = 3,
                          .srcXInBytes = 1,
                          .srcY = 1,
                          .WidthInBytes = 2,
                          .Height = 2,
                          .Depth = 2};
    for (unsigned char i = 0; i < sizeof small; i++)
        small[i] = i;
    for (copy.srcPitch = 0; copy.srcPitch < 9; copy.srcPitch += 8) {
        unsigned char got[40];
        ASK(cuMemsetD8, memory, 99, sizeof got);
        ASK(cuMemcpy3D, &copy);
        ASK(cuMemcpyDtoH, got, memory, sizeof got);
        for (size_t i = 0; i < sizeof got; i += 8)
            NOTE("%d %d %d", got[i], got[i + 1], got[i + 2]);
    }
}

/* Domains of memory synchronization that there are not, and an empty list. */
CASE_AFTER(set_up, attributes)
{
    CUstreamAttrValue value = {0};
    for (unsigned i = 0; i < 6; i++) {
        value.memSyncDomain = i;
        NOTE("domain %u: %d", i,
             (int)DRIVER(cuStreamSetAttribute)(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value));
        value.memSyncDomainMap.default_ = (unsigned char)i;
        value.memSyncDomainMap.remote = 0;
        NOTE("map to %u: %d", i,
             (int)DRIVER(cuStreamSetAttribute)(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value));
    }
    ASK(cuMemPoolSetAccess, pool, NULL, 1);
    ASK(cuMemPoolSetAccess, pool, NULL, 0);
}

static void ask_pointer(const char *what, CUdeviceptr address)
{
    static const CUpointer_attribute told[] = {0, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                               CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                               CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, 22};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        uint64_t value = 0;
        CUresult result = DRIVER(cuPointerGetAttribute)(&value, told[i], address);
        NOTE("%s, attribute %d: %d, %llu", what, (int)told[i], (int)result,
             (unsigned long long)value);
    }
}

CASE_AFTER(set_up, pointers)
{
    ask_pointer("cuMemAlloc", memory);
    ask_pointer("a pool", of_pool);
    ask_pointer("pinned", (CUdeviceptr)pinned);
}

/* Calls while another stream captures, and whether the capture survives them. */
#define IN_CAPTURE(question)                                                          \
    do {                                                                              \
        DRIVER(cuStreamBeginCapture)(s, CU_STREAM_CAPTURE_MODE_GLOBAL);               \
        question;                                                                     \
        NOTE("the capture ends with %d", (int)DRIVER(cuStreamEndCapture)(s, &graph)); \
    } while (0)

CASE_AFTER(set_up, in_a_capture)
{
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    IN_CAPTURE(ASK(cuTexObjectDestroy, 0));
    IN_CAPTURE(ASK(cuSurfObjectDestroy, 0));
    IN_CAPTURE(RECORD(cudaDestroyTextureObject(0)));
    IN_CAPTURE(RECORD(cudaDestroySurfaceObject(0)));
    IN_CAPTURE(ASK(cuCtxDisablePeerAccess, context));
    IN_CAPTURE(ASK(cuMemAdvise, memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    IN_CAPTURE(ASK(cuStreamGetFlags, CU_STREAM_LEGACY, &flags));
    IN_CAPTURE(RECORD(cudaStreamGetFlags(cudaStreamLegacy, &flags)));
    IN_CAPTURE(ASK(cuStreamGetFlags, CU_STREAM_PER_THREAD, &flags));
    ASK(cuStreamGetCtx, CU_STREAM_LEGACY, &context);
    ASK(cuStreamGetCtx, CU_STREAM_PER_THREAD, &context);
    ASK(cuStreamGetCtx, NULL, &context);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
