/* Records what calls return that no other probe asks about: arrays and textures, in the words of
 * both APIs; images of modules; launches, kernel nodes, and faults; limits; copies of slices; nodes
 * and edges of graphs; and what a capture takes. */
#include "ask_driver.h"

#include <cuda_runtime.h>

enum { WIDTH = 8, HEIGHT = 4 };

static CUdeviceptr memory; /* 1 MiB */
static cudaGraph_t graph;
static cudaGraphNode_t node, first, second;

static void begin(void) { memory = (CUdeviceptr)m; }

/* ---- arrays of the driver API ---- */

static CUarray array_of(CUarray_format format, unsigned channels, size_t width, size_t height)
{
    CUDA_ARRAY_DESCRIPTOR d = {width, height, format, channels};
    CUarray a = NULL;
    DRIVER(cuArrayCreate)(&a, &d);
    return a;
}

static void make(const char *what, size_t width, size_t height, size_t depth, int format,
                 unsigned channels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, (CUarray_format)format, channels, flags};
    CUarray a;
    NOTE("%s", what);
    if (!ASK(cuArray3DCreate, &a, &d))
        DRIVER(cuArrayDestroy)(a);
}

CASE(driver_arrays)
{
    CUDA_ARRAY_DESCRIPTOR d = {WIDTH, HEIGHT, CU_AD_FORMAT_FLOAT, 1};
    CUDA_ARRAY3D_DESCRIPTOR all;
    CUarray a = NULL;
    make("three channels", 8, 4, 0, CU_AD_FORMAT_FLOAT, 3, 0);
    make("no channels", 8, 4, 0, CU_AD_FORMAT_FLOAT, 0, 0);
    make("format 0", 8, 4, 0, 0, 1, 0);
    make("format 7", 8, 4, 0, 7, 1, 0);
    make("format 0x30", 8, 4, 0, 0x30, 1, 0);
    make("width 0", 0, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    make("width 0, height 0", 0, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    make("too wide", 1 << 30, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    make("too high", 8, 1 << 30, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    make("too deep", 8, 8, 1 << 30, CU_AD_FORMAT_FLOAT, 1, 0);
    make("a depth and no height", 8, 0, 4, CU_AD_FORMAT_FLOAT, 1, 0);
    make("layered, no layers", 8, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED);
    make("a cube of 5 faces", 8, 8, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP);
    make("a cube that is no square", 8, 4, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP);
    make("gathers in 1D", 8, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER);
    make("an unknown flag", 8, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0x1000);
    ASK(cuArrayCreate, &a, &d);
    ASK(cuArray3DGetDescriptor, &all, a);
    NOTE("%zu x %zu x %zu, format %#x, %u channels, flags %#x", all.Width, all.Height, all.Depth,
         (unsigned)all.Format, all.NumChannels, all.Flags);
    ASK(cuArrayDestroy, a);
}

static CUDA_MEMCPY2D rows_to(CUarray a)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = WIDTH * sizeof(float),
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = a,
                           .WidthInBytes = 4 * sizeof(float),
                           .Height = 2};
}

/* Copies four floats of each of two rows to the array, but for what `change` says. */
#define COPY(what, change) CHANGED(CUDA_MEMCPY2D, c, rows_to(a), change, what, ASK(cuMemcpy2D, &c))

CASE(driver_rows)
{
    CUarray a = array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT);
    begin();
    COPY("a part", );
    COPY("between two elements", c.dstXInBytes = 2);
    COPY("beyond the row", c.dstXInBytes = 5 * sizeof(float));
    COPY("beyond the last row", c.dstY = 3);
    COPY("a part of an element", c.WidthInBytes = 6);
    COPY("no array", c.dstArray = NULL);
    COPY("a pitch less than the width", c.srcPitch = 8);
    COPY("a pitch less than the width, one row", (c.srcPitch = 8, c.Height = 1));
    COPY("no pitch, one row", (c.srcPitch = 0, c.Height = 1));
    COPY("no pitch, two rows", c.srcPitch = 0);
    COPY("a pitch less than the place and the width", c.srcXInBytes = 20);
    COPY("no source", c.srcHost = NULL);
    COPY("no source and no bytes", (c.srcHost = NULL, c.WidthInBytes = 0));
    COPY("no bytes, beyond the row", (c.srcHost = NULL, c.WidthInBytes = 0, c.dstXInBytes = 1000));
    COPY("no array and no bytes", (c.dstArray = NULL, c.WidthInBytes = 0));
    COPY("memory of type 9", c.srcMemoryType = (CUmemorytype)9);
    COPY("from device memory, unified",
         (c.srcMemoryType = CU_MEMORYTYPE_UNIFIED, c.srcDevice = memory));
    COPY("from device memory, called the host's",
         (c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = m));
    COPY("from pinned memory, called the device's",
         (c.srcMemoryType = CU_MEMORYTYPE_DEVICE, c.srcDevice = (CUdeviceptr)host));
}

CASE(driver_lines)
{
    CUarray a = array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, 0), h = array_of(CU_AD_FORMAT_HALF, 1, 8, 0),
            two = array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT);
    ASK(cuMemcpyHtoA, a, 0, host, 32);
    ASK(cuMemcpyHtoA, a, 2, host, 4);
    ASK(cuMemcpyHtoA, a, 0, host, 6);
    ASK(cuMemcpyHtoA, a, 4, host, 32);
    ASK(cuMemcpyHtoA, a, 0, NULL, 4);
    ASK(cuMemcpyHtoA, NULL, 0, host, 4);
    ASK(cuMemcpyHtoA, NULL, 0, host, 0);
    ASK(cuMemcpyAtoA, h, 0, a, 0, 16);
    ASK(cuMemcpyHtoA, two, 0, host, 32);
    ASK(cuMemcpyHtoA, two, 0, host, 64);
    ASK(cuMemcpyHtoA, two, 32, host, 32);
    ASK(cuMemcpyDtoA, a, 0, (CUdeviceptr)host, 32);
    ASK(cuMemcpyHtoA, a, 0, m, 32);
    ASK(cuMemcpyAtoHAsync, host, a, 0, 32, s);
    ASK(cuStreamSynchronize, s);
}

CASE(driver_slices)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {WIDTH, HEIGHT, 3, CU_AD_FORMAT_FLOAT, 1, 0};
    CUDA_MEMCPY3D whole = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = WIDTH * sizeof(float),
                           .srcHeight = HEIGHT,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .WidthInBytes = WIDTH * sizeof(float),
                           .Height = HEIGHT,
                           .Depth = 3};
    CUarray bytes;
    ASK(cuArray3DCreate, &whole.dstArray, &d);
    d.Format = CU_AD_FORMAT_UNSIGNED_INT8, d.Width = WIDTH * sizeof(float);
    ASK(cuArray3DCreate, &bytes, &d);
#define COPY_SLICES(what, change) \
    CHANGED(CUDA_MEMCPY3D, c, whole, change, what, ASK(cuMemcpy3D, &c))
    COPY_SLICES("all", );
    COPY_SLICES("beyond the last slice", c.dstZ = 1);
    COPY_SLICES("level of detail 1", c.dstLOD = 1);
    COPY_SLICES("reserved0 is no NULL", c.reserved0 = host);
    COPY_SLICES("slices that overlap", c.srcHeight = 2);
    COPY_SLICES("one slice, a height less than its rows", (c.srcHeight = 2, c.Depth = 1));
    COPY_SLICES("one slice, no height", (c.srcHeight = 0, c.Depth = 1));
    COPY_SLICES("no slices", c.Depth = 0);
    COPY_SLICES("from an array of bytes to one of floats",
                (c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = bytes));
}

/* ---- textures of the driver API ---- */

static CUDA_RESOURCE_DESC resource_of(CUarray a)
{
    CUDA_RESOURCE_DESC r;
    memset(&r, 0, sizeof r);
    r.resType = CU_RESOURCE_TYPE_ARRAY;
    r.res.array.hArray = a;
    return r;
}

static CUDA_TEXTURE_DESC clamped(unsigned flags)
{
    const CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP;
    return (CUDA_TEXTURE_DESC){.addressMode = {clamp, clamp, clamp}, .flags = flags};
}

static void create(const char *what, CUDA_RESOURCE_DESC r, CUDA_TEXTURE_DESC t)
{
    CUtexObject x = 0;
    NOTE("%s", what);
    if (ASK(cuTexObjectCreate, &x, &r, &t, NULL))
        return;
    DRIVER(cuTexObjectGetTextureDesc)(&t, x);
    NOTE("flags %#x, modes %d %d %d, anisotropy %u", t.flags, (int)t.addressMode[0],
         (int)t.addressMode[1], (int)t.addressMode[2], t.maxAnisotropy);
    DRIVER(cuTexObjectDestroy)(x);
}

/* Makes a texture of `whole` that is clamped, but for what `change` says of r and t. */
#define CREATE(what, change)              \
    do {                                  \
        CUDA_RESOURCE_DESC r = whole;     \
        CUDA_TEXTURE_DESC t = clamped(0); \
        change;                           \
        create(what, r, t);               \
    } while (0)
#define LINEAR t.filterMode = CU_TR_FILTER_MODE_LINEAR

CASE(driver_textures)
{
    CUDA_RESOURCE_DESC whole = resource_of(array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT)), q,
                       r = whole;
    CUDA_TEXTURE_DESC t = clamped(0);
    CUDA_RESOURCE_VIEW_DESC view;
    CUtexObject x = 0;
    begin();
    CREATE("no array", r = resource_of(NULL));
    CREATE("floats", );
    CREATE("floats, as integers", t.flags = CU_TRSF_READ_AS_INTEGER);
    CREATE("floats, normalized", t.flags = CU_TRSF_NORMALIZED_COORDINATES);
    CREATE("floats, sRGB", t.flags = CU_TRSF_SRGB);
    CREATE("all flags", t.flags = ~0u);
    CREATE("an unknown flag", t.flags = 0x100);
    CREATE("floats, linear", LINEAR);
    CREATE("filter 7", t.filterMode = (CUfilter_mode)7);
    CREATE("address mode 7", t.addressMode[0] = (CUaddress_mode)7);
    CREATE("wraps, not normalized", t.addressMode[0] = CU_TR_ADDRESS_MODE_WRAP);
    CREATE("anisotropy 1000", t.maxAnisotropy = 1000);
    CREATE("a resource with flag 1", r.flags = 1);
    CREATE("a resource of type 9", r.resType = (CUresourcetype)9);
    whole = resource_of(array_of(CU_AD_FORMAT_SIGNED_INT32, 1, WIDTH, HEIGHT));
    CREATE("ints", );
    CREATE("ints, linear", LINEAR);
    whole = resource_of(array_of(CU_AD_FORMAT_UNSIGNED_INT8, 1, WIDTH, HEIGHT));
    CREATE("bytes, linear", LINEAR);
    CREATE("bytes, linear, as integers", (LINEAR, t.flags = CU_TRSF_READ_AS_INTEGER));
    ASK(cuTexObjectCreate, &x, &r, &t, NULL);
    memset(&view, 0x55, sizeof view);
    ASK(cuTexObjectGetResourceViewDesc, &view, x);
    NOTE("view: format %d, %zu x %zu x %zu", (int)view.format, view.width, view.height, view.depth);
    ASK(cuTexObjectGetResourceDesc, &q, 0);
    ASK(cuTexObjectGetTextureDesc, &t, 0);
    ASK(cuSurfObjectGetResourceDesc, &q, x);
    ASK(cuTexObjectDestroy, x);
    ASK(cuTexObjectDestroy, 0);
}

CASE(driver_textures_of_memory)
{
    CUDA_RESOURCE_DESC whole = resource_of(NULL), r;
    CUsurfObject surface;
    begin();
    whole.resType = CU_RESOURCE_TYPE_LINEAR;
    whole.res.linear.devPtr = memory;
    whole.res.linear.format = CU_AD_FORMAT_FLOAT;
    whole.res.linear.numChannels = 1;
    whole.res.linear.sizeInBytes = 64;
    CREATE("linear", );
    CREATE("linear, filtered", LINEAR);
    CREATE("linear, address mode 7", t.addressMode[0] = (CUaddress_mode)7);
    CREATE("linear, three channels", r.res.linear.numChannels = 3);
    CREATE("linear, format 7", r.res.linear.format = (CUarray_format)7);
    CREATE("linear, no memory", r.res.linear.devPtr = 0);
    CREATE("linear, from byte 4", r.res.linear.devPtr = memory + 4);
    CREATE("linear, no bytes", r.res.linear.sizeInBytes = 0);
    CREATE("linear, 4 GiB", r.res.linear.sizeInBytes = 4ull << 30);
    memset(&whole, 0, sizeof whole);
    whole.resType = CU_RESOURCE_TYPE_PITCH2D;
    whole.res.pitch2D.devPtr = memory;
    whole.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    whole.res.pitch2D.numChannels = 1;
    whole.res.pitch2D.width = WIDTH;
    whole.res.pitch2D.height = HEIGHT;
    whole.res.pitch2D.pitchInBytes = 32;
    CREATE("pitched", );
    CREATE("pitched, pitch 16", r.res.pitch2D.pitchInBytes = 16);
    CREATE("pitched, no width", r.res.pitch2D.width = 0);
    r = whole, r.res.pitch2D.width = 0;
    ASK(cuSurfObjectCreate, &surface, &r);
    r = resource_of(NULL);
    ASK(cuSurfObjectCreate, &surface, &r);
    r = resource_of(array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT));
    ASK(cuSurfObjectCreate, &surface, &r);
    ASK(cuSurfObjectGetResourceDesc, NULL, surface);
    ASK(cuSurfObjectDestroy, surface);
    ASK(cuSurfObjectDestroy, 0);
}

/* ---- arrays of the runtime ---- */

static void make_array(const char *what, size_t width, size_t height, size_t depth, unsigned flags)
{
    struct cudaChannelFormatDesc d = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t a = NULL;
    NOTE("%s", what);
    if (!RECORD(cudaMalloc3DArray(&a, &d, make_cudaExtent(width, height, depth), flags)))
        cudaFreeArray(a);
}

CASE(arrays)
{
    struct cudaChannelFormatDesc d = {32, 0, 0, 0, cudaChannelFormatKindFloat},
                                 odd = {32, 16, 0, 0, cudaChannelFormatKindFloat},
                                 half = {16, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t a = NULL, h = NULL;
    make_array("width 0", 0, 4, 0, 0);
    make_array("all 0", 0, 0, 0, 0);
    make_array("too wide", 1 << 30, 0, 0, 0);
    make_array("too high", 8, 1 << 30, 0, 0);
    make_array("a depth and no height", 8, 0, 4, 0);
    make_array("layered, no layers", 8, 4, 0, cudaArrayLayered);
    make_array("a cube of 5 faces", 8, 8, 5, cudaArrayCubemap);
    make_array("a cube that is no square", 8, 4, 6, cudaArrayCubemap);
    make_array("gathers in 1D", 8, 0, 0, cudaArrayTextureGather);
    make_array("an unknown flag", 8, 4, 0, 0x1000);
    RECORD(cudaMallocArray(&a, &odd, 8, 4, 0));
    RECORD(cudaFreeArray(NULL));
    RECORD(cudaDestroyTextureObject(0));
    RECORD(cudaDestroySurfaceObject(0));
    RECORD(cudaMallocArray(&a, &d, 8, 4, 0));
    RECORD(cudaMallocArray(&h, &half, 16, 4, 0));
    struct cudaMemcpy3DParms p = {.srcArray = h,
                                  .dstArray = a,
                                  .extent = make_cudaExtent(4, 4, 1),
                                  .kind = cudaMemcpyDeviceToDevice};
    NOTE("elements of 2 bytes to ones of 4");
    RECORD(cudaMemcpy3D(&p));
    p.srcArray = NULL, p.srcPtr = make_cudaPitchedPtr(m, 32, 8, 4);
    p.dstPtr = p.srcPtr;
    NOTE("the destination is given twice");
    RECORD(cudaMemcpy3D(&p));
    RECORD_WAIT(hold(s), cudaFreeArray(h), "cudaFreeArray behind work of another stream");
    struct cudaExtent e;
    unsigned flags;
    RECORD(cudaArrayGetInfo(NULL, &e, &flags, a));
    NOTE("%zu x %zu x %zu, flags %#x", e.width, e.height, e.depth, flags);
}

/* ---- images of modules ---- */

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static const char kernels[] =
    HEAD ".visible .entry plain(.param .u64 p) { .reg .b64 %r<3>; .reg .b32 %w<2>;"
         " ld.param.u64 %r1, [p]; mov.u32 %w1, 7; st.global.u32 [%r1], %w1; ret; }\n"
         ".visible .entry few(.param .u64 p) .maxntid 64, 1, 1 { ret; }\n"
         ".visible .entry shares(.param .u64 p) { .shared .align 4 .b8 part[1024]; .reg .b32 %w<2>;"
         " mov.u32 %w1, part; st.shared.u32 [%w1], %w1; ret; }\n"
         ".visible .entry traps(.param .u64 p) { trap; ret; }\n"
         ".visible .global .align 4 .b8 words[12];\n";

static CUfunction plain, few, shares, traps;

static void load(void)
{
    CUmodule module;
    begin();
    ASK(cuModuleLoadData, &module, kernels);
    DRIVER(cuModuleGetFunction)(&plain, module, "plain");
    DRIVER(cuModuleGetFunction)(&few, module, "few");
    DRIVER(cuModuleGetFunction)(&shares, module, "shares");
    DRIVER(cuModuleGetFunction)(&traps, module, "traps");
}

static void load_image(const char *what, const void *text, size_t bytes)
{
    static char image[8192];
    CUmodule module = NULL;
    memset(image, 0, sizeof image);
    memcpy(image, text, bytes);
    NOTE("%s", what);
    ASK(cuModuleLoadData, &module, image);
}
#define LOAD(what, text) load_image(what, text, sizeof(text))

CASE(images)
{
    static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    CUmodule module = NULL;
    CUfunction f = NULL;
    CUdeviceptr at;
    size_t bytes;
    begin();
    LOAD("no text", "");
    LOAD("a word", "nonsense");
    LOAD("PTX without a target", ".version 8.0\n.address_size 64\n");
    LOAD("PTX for compute_100", ".version 9.0\n.target sm_100\n.address_size 64\n");
    LOAD("PTX of a later version", ".version 99.0\n.target sm_90\n.address_size 64\n");
    LOAD("an unknown instruction", HEAD ".visible .entry k() { frobnicate.u32; ret; }\n");
    LOAD("a function that is nowhere",
         HEAD ".extern .func f;\n.visible .entry k() { call f; ret; }\n");
    LOAD("only its head", HEAD);
    load_image("a GPU's code without contents", elf, sizeof elf);
    ASK(cuModuleLoad, &module, "/nothing");
    ASK(cuModuleLoad, &module, "/dev/null");
    ASK(cuModuleLoadData, &module, kernels);
    ASK(cuModuleGetFunction, &f, module, "nothing");
    ASK(cuModuleGetFunction, &f, module, "words");
    ASK(cuModuleGetGlobal, &at, &bytes, module, "words");
    NOTE("%zu bytes", bytes);
    ASK(cuModuleGetGlobal, NULL, NULL, module, "words");
    ASK(cuModuleGetGlobal, &at, &bytes, module, "plain");
    ASK(cuModuleUnload, module);
}

/* ---- launches ---- */

static void launch(const char *what, CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared)
{
    void *arguments[] = {&memory};
    CUgraph graph = NULL;
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS p = {.func = f,
                                 .gridDimX = gx,
                                 .gridDimY = gy,
                                 .gridDimZ = gz,
                                 .blockDimX = bx,
                                 .blockDimY = by,
                                 .blockDimZ = bz,
                                 .sharedMemBytes = shared,
                                 .kernelParams = arguments};
    NOTE("%s", what);
    ASK(cuLaunchKernel, f, gx, gy, gz, bx, by, bz, shared, s, arguments, NULL);
    DRIVER(cuGraphCreate)(&graph, 0);
    NOTE("%s", what);
    ASK(cuGraphAddKernelNode, &node, graph, NULL, 0, &p);
    DRIVER(cuGraphDestroy)(graph);
}

CASE_AFTER(load, launches)
{
    void *arguments[] = {&memory}, *extra[] = {CU_LAUNCH_PARAM_END};
    launch("plain", plain, 1, 1, 1, 32, 1, 1, 0);
    launch("an empty grid", plain, 0, 1, 1, 32, 1, 1, 0);
    launch("an empty block", plain, 1, 1, 1, 32, 0, 1, 0);
    launch("a grid too high", plain, 1, 65536, 1, 32, 1, 1, 0);
    launch("a grid too wide", plain, 1u << 31, 1, 1, 32, 1, 1, 0);
    launch("a block of 2000", plain, 1, 1, 1, 2000, 1, 1, 0);
    launch("a block of 64 x 32", plain, 1, 1, 1, 64, 32, 1, 0);
    launch("a block too deep", plain, 1, 1, 1, 1, 1, 65, 0);
    launch("more than .maxntid", few, 1, 1, 1, 128, 1, 1, 0);
    launch("48 KiB of shared memory", plain, 1, 1, 1, 32, 1, 1, 48 << 10);
    launch("and one byte", plain, 1, 1, 1, 32, 1, 1, (48 << 10) + 1);
    launch("48 KiB beside 1 KiB", shares, 1, 1, 1, 32, 1, 1, 48 << 10);
    ASK(cuFuncSetAttribute, plain, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10);
    launch("227 KiB", plain, 1, 1, 1, 32, 1, 1, 227 << 10);
    launch("228 KiB", plain, 1, 1, 1, 32, 1, 1, 228 << 10);
    ASK(cuFuncSetAttribute, plain, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 << 10);
    ASK(cuFuncSetAttribute, plain, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1);
    ASK(cuFuncSetAttribute, shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10);
    ASK(cuFuncSetAttribute, plain, CU_FUNC_ATTRIBUTE_NUM_REGS, 10);
    ASK(cuFuncSetAttribute, plain, (CUfunction_attribute)99, 1);
    ASK(cuLaunchKernel, plain, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
    ASK(cuLaunchKernel, plain, 1, 1, 1, 32, 1, 1, 0, s, arguments, extra);
    ASK(cuLaunchKernel, plain, 1, 1, 1, 32, 1, 1, 0, s, NULL, extra);
    ASK(cuLaunchCooperativeKernel, plain, 100000, 1, 1, 1024, 1, 1, 0, s, arguments);
    ASK(cuStreamSynchronize, s);
}

CASE(function_attributes)
{
    static const CUfunction_attribute which[] = {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_PTX_VERSION,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};
    load();
    CUfunction functions[] = {plain, few, shares};
    for (size_t i = 0; i < 3; i++)
        for (size_t n = 0; n < sizeof which / sizeof *which; n++) {
            int value = -99;
            CUresult e = DRIVER(cuFuncGetAttribute)(&value, which[n], functions[i]);
            NOTE("function %zu, attribute %d: result %d, %d", i, (int)which[n], (int)e, value);
        }
    int value;
    ASK(cuFuncGetAttribute, &value, (CUfunction_attribute)99, plain);
}

/* Nodes with a kernel of kernels.cu, by the runtime. */
CASE(kernel_nodes)
{
    int *data = m, value = 1;
    size_t count = 1;
    void *arguments[] = {&data, &value, &count};
    struct cudaKernelNodeParams good = {.func = kernel_fill(),
                                        .gridDim = {1, 1, 1},
                                        .blockDim = {32, 1, 1},
                                        .kernelParams = arguments};
    cudaGraphCreate(&graph, 0);
#define KERNEL_NODE(what, change)                               \
    CHANGED(struct cudaKernelNodeParams, p, good, change, what, \
            RECORD(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p)))
    KERNEL_NODE("fill", );
    KERNEL_NODE("an empty grid", p.gridDim.x = 0);
    KERNEL_NODE("an empty block", p.blockDim.y = 0);
    KERNEL_NODE("a block of 2000", p.blockDim.x = 2000);
    KERNEL_NODE("a grid too high", p.gridDim.y = 65536);
    KERNEL_NODE("no function", p.func = NULL);
    KERNEL_NODE("what is no function", p.func = arguments);
    KERNEL_NODE("no arguments", p.kernelParams = NULL);
    KERNEL_NODE("1 MiB of shared memory", p.sharedMemBytes = 1 << 20);
}

/* A fault is an error of all later calls, so each has a process. */
static void end_with_fault(CUfunction f, CUdeviceptr at)
{
    void *arguments[] = {&at};
    ASK(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL);
    ASK(cuStreamSynchronize, s);
    ASK(cuCtxSynchronize, );
    RECORD(cudaMemset(m, 0, 4));
}

CASE_AFTER(load, fault_trap) { end_with_fault(traps, 0); }

CASE_AFTER(load, fault_misaligned) { end_with_fault(plain, memory + 2); }

CASE_AFTER(load, fault_illegal) { end_with_fault(plain, 4096); }

CASE(limits)
{
    static const enum cudaLimit which[] = {cudaLimitStackSize,
                                           cudaLimitPrintfFifoSize,
                                           cudaLimitMallocHeapSize,
                                           cudaLimitDevRuntimeSyncDepth,
                                           cudaLimitDevRuntimePendingLaunchCount,
                                           cudaLimitMaxL2FetchGranularity,
                                           cudaLimitPersistingL2CacheSize};
    static const size_t values[] = {0, 1, 100, 12345, 1 << 20, 100 << 20, (size_t)1 << 50};
    for (size_t i = 0; i < sizeof which / sizeof *which; i++)
        for (size_t n = 0; n < sizeof values / sizeof *values; n++) {
            size_t got = 99;
            cudaError_t set = cudaDeviceSetLimit(which[i], values[n]);
            cudaError_t get = cudaDeviceGetLimit(&got, which[i]);
            NOTE("limit %d to %zu: %s; then %s %zu", (int)which[i], values[n],
                 cudaGetErrorName(set), cudaGetErrorName(get), got);
            cudaGetLastError();
        }
}

CASE(copies_of_slices)
{
    struct cudaMemcpy3DParms good = {.srcPtr = make_cudaPitchedPtr(host, 64, 64, 4),
                                     .dstPtr = make_cudaPitchedPtr(m, 64, 64, 4),
                                     .extent = make_cudaExtent(64, 4, 3),
                                     .kind = cudaMemcpyHostToDevice};
#define SLICES(what, change) \
    CHANGED(struct cudaMemcpy3DParms, p, good, change, what, RECORD(cudaMemcpy3D(&p)))
    SLICES("all", );
    SLICES("slices that overlap", p.dstPtr.ysize = 3);
    SLICES("slices of no rows", p.dstPtr.ysize = 0);
    SLICES("one slice of no rows", (p.dstPtr.ysize = 0, p.extent.depth = 1));
    SLICES("no slices of nothing", (p.extent.depth = 0, p.srcPtr.ptr = NULL));
    SLICES("no source", p.srcPtr.ptr = NULL);
    SLICES("a pitch less than the width", p.dstPtr.pitch = 32);
    SLICES("a pitch less than the width, one row",
           (p.dstPtr.pitch = 32, p.extent.depth = 1, p.extent.height = 1));
    SLICES("kind 9", p.kind = (enum cudaMemcpyKind)9);
    struct cudaPitchedPtr to = make_cudaPitchedPtr(m, 64, 64, 4);
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(64, 4, 3)));
    to.ysize = 3;
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(64, 4, 3)));
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(64, 4, 0)));
    to.pitch = 32;
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(64, 1, 1)));
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(64, 1, 2)));
    to.ptr = NULL;
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(0, 1, 1)));
}

/* ---- nodes and edges ---- */

static void print_copy(const char *what, cudaGraphNode_t node)
{
    struct cudaMemcpy3DParms p = {.kind = cudaMemcpyHostToHost};
    cudaError_t e = cudaGraphMemcpyNodeGetParams(node, &p);
    NOTE("%s: %s, extent %zu %zu %zu, from pitch %zu x %zu y %zu at %zu %zu %zu, to pitch %zu x "
         "%zu y %zu at %zu %zu %zu, kind %d",
         what, cudaGetErrorName(e), p.extent.width, p.extent.height, p.extent.depth, p.srcPtr.pitch,
         p.srcPtr.xsize, p.srcPtr.ysize, p.srcPos.x, p.srcPos.y, p.srcPos.z, p.dstPtr.pitch,
         p.dstPtr.xsize, p.dstPtr.ysize, p.dstPos.x, p.dstPos.y, p.dstPos.z, (int)p.kind);
}

static void add_memset(const char *what, size_t pitch, unsigned element, size_t width,
                       size_t height)
{
    struct cudaMemsetParams p = {m, pitch, 7, element, width, height}, got = {.dst = NULL};
    NOTE("%s", what);
    if (RECORD(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &p)))
        return;
    cudaGraphMemsetNodeGetParams(node, &got);
    NOTE("pitch %zu, elements of %u, %zu x %zu", got.pitch, got.elementSize, got.width, got.height);
}

CASE(graph_nodes)
{
    struct cudaMemcpy3DParms p = {.srcPtr = make_cudaPitchedPtr(host, 64, 60, 5),
                                  .dstPtr = make_cudaPitchedPtr(m, 128, 50, 8),
                                  .srcPos = make_cudaPos(1, 2, 0),
                                  .extent = make_cudaExtent(16, 3, 1),
                                  .kind = cudaMemcpyHostToDevice};
    cudaGraphCreate(&graph, 0);
    RECORD(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, m, host, 100, cudaMemcpyHostToDevice));
    print_copy("of 100 bytes", node);
    RECORD(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &p));
    print_copy("of rows", node);
    p.srcPos = make_cudaPos(0, 0, 0), p.extent = make_cudaExtent(16, 3, 2);
    RECORD(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &p));
    print_copy("of slices", node);
    p.srcPtr.pitch = 8;
    RECORD(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &p));
    p.srcPtr.pitch = 64, p.extent.width = 0;
    RECORD(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &p));
    add_memset("one row, no pitch", 0, 4, 8, 1);
    add_memset("one row, pitch 100", 100, 4, 8, 1);
    add_memset("two rows", 64, 4, 8, 2);
    add_memset("rows that overlap", 16, 4, 8, 2);
    add_memset("no bytes", 64, 4, 0, 2);
    add_memset("elements of 3 bytes", 64, 3, 8, 1);
    RECORD(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, NULL));
    RECORD(cudaGraphAddEventWaitNode(&node, graph, NULL, 0, NULL));
    struct cudaHostNodeParams none = {NULL, NULL};
    RECORD(cudaGraphAddHostNode(&node, graph, NULL, 0, &none));
}

static size_t edges(void)
{
    size_t count = 99;
    cudaGraphGetEdges(graph, NULL, NULL, NULL, &count);
    return count;
}

CASE(graph_edges)
{
    cudaGraph_t child, owned;
    cudaGraphExec_t x;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddEmptyNode(&first, graph, NULL, 0);
    cudaGraphAddEmptyNode(&second, graph, &first, 1);
    cudaGraphAddEmptyNode(&node, graph, &second, 1);
    cudaGraphNode_t from[] = {first, first}, to[] = {second, node};
    NOTE("%zu edges", edges());
    RECORD(cudaGraphRemoveDependencies(graph, from, to, NULL, 2));
    NOTE("%zu edges", edges());
    RECORD(cudaGraphAddDependencies(graph, &first, &first, NULL, 1));
    RECORD(cudaGraphAddDependencies(graph, &node, &first, NULL, 1));
    NOTE("%zu edges", edges());
    RECORD(cudaGraphInstantiate(&x, graph, 0));
    cudaGraphCreate(&child, 0);
    cudaGraphAddEmptyNode(&first, child, NULL, 0);
    RECORD(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    RECORD(cudaGraphChildGraphNodeGetGraph(node, &owned));
    RECORD(cudaGraphInstantiate(&x, owned, 0));
    RECORD(cudaGraphDestroy(owned));
    RECORD(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, graph));
}

/* A body of a conditional node with one node that the documentation does not list. */
static cudaGraph_t body_of(void)
{
    cudaGraphConditionalHandle h;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&h, graph, 1, cudaGraphCondAssignDefault);
    struct cudaGraphNodeParams p = condition_params(h);
    RECORD(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p));
    return p.conditional.phGraph_out[0];
}

static void instantiate(void)
{
    cudaGraphExec_t x = NULL;
    if (!RECORD(cudaGraphInstantiate(&x, graph, 0)))
        RECORD(cudaGraphLaunch(x, s));
    RECORD(cudaStreamSynchronize(s));
}

CASE(body_that_records)
{
    RECORD(cudaGraphAddEventRecordNode(&first, body_of(), NULL, 0, ev));
    instantiate();
}

CASE(body_that_waits)
{
    RECORD(cudaGraphAddEventWaitNode(&first, body_of(), NULL, 0, ev));
    instantiate();
}

CASE(body_with_a_child)
{
    cudaGraph_t child;
    cudaGraphCreate(&child, 0);
    cudaGraphAddEmptyNode(&first, child, NULL, 0);
    RECORD(cudaGraphAddChildGraphNode(&first, body_of(), NULL, 0, child));
    instantiate();
}

CASE(body_by_capture)
{
    cudaGraph_t body = body_of();
    RECORD(cudaStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    RECORD(cudaStreamBeginCaptureToGraph(t, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    RECORD(cudaMemsetAsync(m, 1, 4, s));
    RECORD(cudaStreamEndCapture(s, &body));
    instantiate();
}

/* ---- what a capture takes ---- */

#define CAPTURED(call)                                          \
    do {                                                        \
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); \
        record(#call, (call));                                  \
        end_capture();                                          \
    } while (0)

static void end_capture(void)
{
    size_t count = 0;
    cudaError_t e = cudaStreamEndCapture(s, &graph);
    if (!e) {
        cudaGraphGetNodes(graph, NULL, &count);
        cudaGraphDestroy(graph);
    }
    NOTE("the capture ends with %s, %zu nodes", cudaGetErrorName(e), count);
    cudaGetLastError();
}

CASE(captures)
{
    struct cudaChannelFormatDesc d = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaMemLocation here = {DEVICE, 0};
    cudaArray_t a, more = NULL;
    cudaStream_t own;
    cudaTextureObject_t x;
    struct cudaResourceDesc r;
    struct cudaTextureDesc td = {.sRGB = 0};
    void *managed;
    size_t free, total;
    cudaMallocManaged(&managed, MiB, cudaMemAttachGlobal);
    cudaMallocArray(&a, &d, 8, 4, 0);
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    CAPTURED(cudaMemcpy2DToArrayAsync(a, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice, s));
    CAPTURED(cudaMemcpy2DFromArrayAsync(host, 32, a, 0, 0, 32, 4, cudaMemcpyDeviceToHost, s));
    CAPTURED(cudaMallocArray(&more, &d, 8, 4, 0));
    CAPTURED(cudaFreeArray(more));
    CAPTURED(cudaCreateTextureObject(&x, &r, &td, NULL));
    CAPTURED(cudaMemPrefetchAsync(managed, MiB, here, 0, s));
    CAPTURED(cudaMemAdvise(managed, MiB, cudaMemAdviseSetReadMostly, here));
    CAPTURED(cudaStreamAttachMemAsync(s, managed, 0, cudaMemAttachGlobal));
    CAPTURED(cudaStreamCopyAttributes(s, t));
    CAPTURED(cudaStreamCreate(&own));
    CAPTURED(cudaMemGetInfo(&free, &total));
    CAPTURED(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
}

/* ---- null pointers: each has a process, since a driver may die of it ---- */

/* A case that makes one call, with these for what is not null. */
#define NULL_IN(title, name, ...)                                           \
    CASE(title)                                                             \
    {                                                                       \
        CUDA_ARRAY_DESCRIPTOR d = {WIDTH, HEIGHT, CU_AD_FORMAT_FLOAT, 1};   \
        CUDA_ARRAY3D_DESCRIPTOR all;                                        \
        CUarray a = array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT);         \
        CUDA_RESOURCE_DESC r = resource_of(a);                              \
        CUDA_TEXTURE_DESC t = clamped(0);                                   \
        CUtexObject x;                                                      \
        CUsurfObject surface;                                               \
        CUmodule module;                                                    \
        CUfunction f;                                                       \
        (void)&d, (void)&all, (void)&r, (void)&t, (void)&x, (void)&surface; \
        (void)&module, (void)&f;                                            \
        answer(#name "(" #__VA_ARGS__ ")", DRIVER(name)(__VA_ARGS__));      \
    }

NULL_IN(create_array_to_nowhere, cuArrayCreate, NULL, &d)
NULL_IN(create_array_of_nothing, cuArrayCreate, &a, NULL)
NULL_IN(create_3d_array_of_nothing, cuArray3DCreate, NULL, NULL)
NULL_IN(describe_array_to_nowhere, cuArrayGetDescriptor, NULL, a)
NULL_IN(describe_no_array, cuArrayGetDescriptor, &d, NULL)
NULL_IN(describe_3d_array_to_nowhere, cuArray3DGetDescriptor, NULL, a)
NULL_IN(describe_no_3d_array, cuArray3DGetDescriptor, &all, NULL)
NULL_IN(destroy_no_array, cuArrayDestroy, NULL)
NULL_IN(copy_nothing, cuMemcpy2D, NULL)
NULL_IN(copy_nothing_in_a_stream, cuMemcpy2DAsync, NULL, s)
NULL_IN(copy_no_slices, cuMemcpy3D, NULL)
NULL_IN(create_texture_to_nowhere, cuTexObjectCreate, NULL, &r, &t, NULL)
NULL_IN(create_texture_of_nothing, cuTexObjectCreate, &x, NULL, &t, NULL)
NULL_IN(create_texture_without_words, cuTexObjectCreate, &x, &r, NULL, NULL)

static CUtexObject texture(void)
{
    CUDA_RESOURCE_DESC r = resource_of(array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT));
    CUDA_TEXTURE_DESC t = clamped(0);
    CUtexObject x = 0;
    ASK(cuTexObjectCreate, &x, &r, &t, NULL);
    return x;
}

CASE(describe_resource_to_nowhere)
{
    CUtexObject x = texture();
    ASK(cuTexObjectGetResourceDesc, NULL, x);
}

CASE(describe_texture_to_nowhere)
{
    CUtexObject x = texture();
    ASK(cuTexObjectGetTextureDesc, NULL, x);
}

NULL_IN(create_surface_of_nothing, cuSurfObjectCreate, &surface, NULL)
NULL_IN(create_surface_to_nowhere, cuSurfObjectCreate, NULL, &r)
NULL_IN(load_nothing, cuModuleLoadData, &module, NULL)
NULL_IN(load_to_nowhere, cuModuleLoadData, NULL, kernels)

CASE(find_function_without_name)
{
    CUmodule module = NULL;
    CUfunction f;
    ASK(cuModuleLoadData, &module, kernels);
    ASK(cuModuleGetFunction, &f, module, NULL);
}

NULL_IN(find_function_in_no_module, cuModuleGetFunction, &f, NULL, "plain")
NULL_IN(unload_no_module, cuModuleUnload, NULL)

CASE(launch_no_function) { launch("no function", NULL, 1, 1, 1, 32, 1, 1, 0); }

CASE_AFTER(load, attribute_to_nowhere)
{
    ASK(cuFuncGetAttribute, NULL, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, plain);
}

CASE(make_array_to_nowhere)
{
    struct cudaChannelFormatDesc d = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    RECORD(cudaMallocArray(NULL, &d, 8, 4, 0));
}

CASE(make_array_of_nothing)
{
    cudaArray_t a;
    RECORD(cudaMallocArray(&a, NULL, 8, 4, 0));
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
