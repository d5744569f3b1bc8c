/* What is in arrays, textures, and surfaces of the driver API; the codes of wrong arguments are in
 * simulator/tests/facts/probe-more-answers.c. Each case is a program of its own (driver.bats). */
#include <cuda.h>

#include "expect.h"

enum { WIDTH = 4, HEIGHT = 4, TEXELS = WIDTH * HEIGHT };

static CUcontext context;
/* Of simulator/tests/unit/kernels/texels.ptx, argv[2]. */
static CUmodule module;

static CUarray array_of(CUarray_format format, unsigned channels, size_t width, size_t height)
{
    CUDA_ARRAY_DESCRIPTOR d = {width, height, format, channels};
    CUarray a;
    DO(cuArrayCreate(&a, &d));
    return a;
}

/* All rows of an array and, if it is `to`, host memory without gaps. */
static CUDA_MEMCPY2D rows_to(CUarray a, const void *host, size_t row, size_t height)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = row,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = a,
                           .WidthInBytes = row,
                           .Height = height};
}

static CUDA_MEMCPY2D rows_from(CUarray a, void *host, size_t row, size_t height)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = a,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = host,
                           .dstPitch = row,
                           .WidthInBytes = row,
                           .Height = height};
}

static CUDA_RESOURCE_DESC resource_of(CUarray a)
{
    return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
}

static float texels[TEXELS];

/* An array of 0.5, 1.5, ... */
static CUarray filled_array(void)
{
    CUarray a = array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT);
    for (unsigned i = 0; i < TEXELS; i++)
        texels[i] = (float)i + 0.5f;
    CUDA_MEMCPY2D c = rows_to(a, texels, WIDTH * sizeof(float), HEIGHT);
    DO(cuMemcpy2D(&c));
    return a;
}

CASE(descriptors)
{
    CUDA_ARRAY_DESCRIPTOR d;
    CUDA_ARRAY3D_DESCRIPTOR all;
    CUarray a, b;
    a = array_of(CU_AD_FORMAT_HALF, 2, 20, 3);
    DO(cuArrayGetDescriptor(&d, a));
    SAME(20, d.Width);
    SAME(3, d.Height);
    SAME(CU_AD_FORMAT_HALF, d.Format);
    SAME(2, d.NumChannels);
    DO(cuArray3DGetDescriptor(&all, a));
    SAME(3, all.Height);
    SAME(0, all.Depth);
    SAME(0, all.Flags);

    all = (CUDA_ARRAY3D_DESCRIPTOR){
        5, 4, 3, CU_AD_FORMAT_SIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST};
    DO(cuArray3DCreate(&b, &all));
    memset(&all, 0x55, sizeof all);
    DO(cuArray3DGetDescriptor(&all, b));
    SAME(5, all.Width);
    SAME(3, all.Depth);
    SAME(CU_AD_FORMAT_SIGNED_INT8, all.Format);
    SAME(4, all.NumChannels);
    SAME(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST, all.Flags);

    /* The runtime's name for the same array. */
    struct cudaChannelFormatDesc channels;
    OK(cudaGetChannelDesc(&channels, (cudaArray_t)b));
    SAME(8, channels.w);
    DO(cuArrayDestroy(a));
    DO(cuArrayDestroy(b));
}

/* What is not simulated says so (driver.bats). */
CASE(refused)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {4, 4, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0};
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t = {.flags = 0};
    CUDA_RESOURCE_VIEW_DESC view = {.width = 0};
    CUtexObject texture;
    CUmipmappedArray levels;
    CUtexref reference;
    CUarray a;
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate(&a, &d));
    d.Format = CU_AD_FORMAT_FLOAT;
    d.Flags = CUDA_ARRAY3D_SPARSE;
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate(&a, &d));
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMipmappedArrayCreate(&levels, &d, 2));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuModuleGetTexRef(&reference, NULL, "t"));
#pragma GCC diagnostic pop
    a = array_of(CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, 4);
    r = resource_of(a);
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectCreate(&texture, &r, &t, &view));
    t.flags = CU_TRSF_SRGB;
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectCreate(&texture, &r, &t, NULL));
    t.flags = 0;
    r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectCreate(&texture, &r, &t, NULL));
    DO(cuArrayDestroy(a));
}

/* Copies of rows. */
CASE(rows)
{
    enum { ROW = WIDTH * sizeof(float) };
    float back[TEXELS], part[4] = {-1, -2, -3, -4};
    CUDA_MEMCPY2D c;
    CUarray a, b;
    CUdeviceptr p;
    CUstream s;
    DO(cuStreamCreate(&s, 0));
    a = filled_array();
    b = array_of(CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT);

    /* Columns 1 and 2 of rows 2 and 3. */
    c = rows_to(a, part, 2 * sizeof *part, 2);
    c.dstXInBytes = sizeof(float);
    c.dstY = 2;
    DO(cuMemcpy2DUnaligned(&c));
    /* All by way of another array, and memory of the device. */
    c = rows_from(a, NULL, ROW, HEIGHT);
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = b;
    DO(cuMemcpy2D(&c));
    DO(cuMemAlloc(&p, sizeof back));
    c = rows_from(b, NULL, ROW, HEIGHT);
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = p;
    DO(cuMemcpy2DAsync(&c, s));
    DO(cuMemcpyDtoHAsync(back, p, sizeof back, s));
    DO(cuStreamSynchronize(s));
    texels[2 * WIDTH + 1] = -1;
    texels[2 * WIDTH + 2] = -2;
    texels[3 * WIDTH + 1] = -3;
    texels[3 * WIDTH + 2] = -4;
    SAME(0, memcmp(texels, back, sizeof back));

    /* From where the copy's end is, if it says only where memory is. */
    c = rows_to(a, NULL, ROW, 1);
    c.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.srcDevice = p;
    c.srcPitch = 0;
    c.dstY = 3;
    DO(cuMemcpy2D(&c));
    c = rows_from(a, back, ROW, 1);
    c.srcY = 3;
    DO(cuMemcpy2D(&c));
    SAME(0, memcmp(texels, back, ROW));

    DO(cuArrayDestroy(a));
    DO(cuArrayDestroy(b));
    DO(cuMemFree(p));
}

/* Copies of so many bytes from a place in an array on. */
CASE(lines)
{
    enum { COUNT = 8 };
    static const unsigned short one[COUNT] = {1, 2, 3, 4, 5, 6, 7, 8};
    unsigned short back[COUNT] = {0};
    CUarray a, b;
    CUdeviceptr p;
    CUstream s;
    DO(cuStreamCreate(&s, 0));
    a = array_of(CU_AD_FORMAT_UNSIGNED_INT16, 1, COUNT, 0);
    b = array_of(CU_AD_FORMAT_UNSIGNED_INT16, 1, COUNT, 0);
    DO(cuMemAlloc(&p, sizeof one));
    DO(cuMemcpyHtoA(a, 0, one, sizeof one));
    DO(cuMemcpyHtoA(a, 4, one, 4));
    DO(cuMemcpyAtoA(b, 2, a, 0, sizeof one - 2));
    DO(cuMemcpyDtoH(back, p, 0));
    DO(cuMemcpyHtoAAsync(b, 0, &one[7], 2, s));
    DO(cuMemcpyAtoHAsync(back, b, 0, sizeof back, s));
    DO(cuStreamSynchronize(s));
    SAME(8, back[0]);
    SAME(1, back[1]);
    SAME(2, back[2]);
    SAME(1, back[3]);
    SAME(2, back[4]);
    SAME(5, back[5]);
    SAME(7, back[7]);
    DO(cuMemcpyAtoD(p, a, 0, sizeof one));
    DO(cuMemcpyDtoA(b, 8, p + 4, 8));
    DO(cuMemcpyAtoH(back, b, 8, 8));
    SAME(1, back[0]);
    SAME(2, back[1]);
    SAME(6, back[3]);
    DO(cuArrayDestroy(a));
    DO(cuArrayDestroy(b));
    DO(cuMemFree(p));
}

/* Copies of slices, and as nodes of a graph. */
CASE(slices)
{
    enum { W = 3, H = 2, D = 4 };
    static int all[D][H][W], part[2][2][W];
    CUDA_ARRAY3D_DESCRIPTOR d = {W, H, D, CU_AD_FORMAT_SIGNED_INT32, 1, 0};
    CUDA_MEMCPY3D c;
    CUarray a;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUstream s;
    DO(cuStreamCreate(&s, 0));
    DO(cuArray3DCreate(&a, &d));
    for (int i = 0; i < D * H * W; i++)
        ((int *)all)[i] = i;
    c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = all,
                        .srcPitch = sizeof **all,
                        .srcHeight = H,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = a,
                        .WidthInBytes = sizeof **all,
                        .Height = H,
                        .Depth = D};
    DO(cuMemcpy3D(&c));

    /* Of slices 1 and 2, columns 1 and 2. */
    c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                        .srcArray = a,
                        .srcXInBytes = sizeof(int),
                        .srcZ = 1,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = part,
                        .dstPitch = sizeof **part,
                        .dstHeight = 2,
                        .WidthInBytes = 2 * sizeof(int),
                        .Height = H,
                        .Depth = 2};
    DO(cuMemcpy3DAsync(&c, s));
    DO(cuStreamSynchronize(s));
    SAME(all[1][0][1], part[0][0][0]);
    SAME(all[1][1][2], part[0][1][1]);
    SAME(all[2][1][1], part[1][1][0]);
    SAME(0, part[1][1][2]);

    c.srcZ = 2;
    DO(cuGraphCreate(&graph, 0));
    DO(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &c, context));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemcpyNode(&node, graph, NULL, 0, &c, NULL));
    DO(cuGraphInstantiate(&exec, graph, 0));
    DO(cuGraphLaunch(exec, s));
    DO(cuStreamSynchronize(s));
    SAME(all[3][1][1], part[1][1][0]);
    DO(cuArrayDestroy(a));
}

/* ---- what kernels read and write ---- */

/* What is done with the texels of an object (texels.ptx). */
enum how { READ_FLOATS, READ_WHOLE, READ_LINE, WRITE };

/* Returns what was read. */
static const void *use_texels(CUtexObject object, enum how how)
{
    static unsigned words[TEXELS];
    CUfunction function;
    CUdeviceptr p;
    DO(cuMemAlloc(&p, sizeof words));
    DO(cuMemsetD8(p, 0, sizeof words));
    void *arguments[] = {&object, &how, &p};
    DO(cuModuleGetFunction(&function, module, "texel"));
    DO(cuLaunchKernel(function, 1, 1, 1, WIDTH, HEIGHT, 1, 0, NULL, arguments, NULL));
    DO(cuMemcpyDtoH(words, p, sizeof words));
    DO(cuMemFree(p));
    return words;
}

static CUDA_TEXTURE_DESC clamped(unsigned flags)
{
    const CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP;
    return (CUDA_TEXTURE_DESC){.addressMode = {clamp, clamp, clamp}, .flags = flags};
}

CASE(textures)
{
    static const unsigned char bytes[TEXELS] = {255, 51, 0};
    const float *floats;
    CUDA_RESOURCE_DESC r, got;
    CUDA_TEXTURE_DESC t = clamped(0), told;
    CUtexObject texture;
    CUarray a, b;
    CUdeviceptr p;
    size_t pitch;
    a = filled_array();
    r = resource_of(a);
    /* Documented: floats are floats, whether they are to be read as integers or not. */
    t.borderColor[2] = 7;
    t.maxAnisotropy = 3;
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(0, memcmp(texels, use_texels(texture, READ_FLOATS), sizeof texels));
    DO(cuTexObjectGetResourceDesc(&got, texture));
    SAME(CU_RESOURCE_TYPE_ARRAY, got.resType);
    SAME((uintptr_t)a, (uintptr_t)got.res.array.hArray);
    DO(cuTexObjectGetTextureDesc(&told, texture));
    SAME(0, memcmp(&t, &told, sizeof t));
    DO(cuTexObjectDestroy(texture));
    t.flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES;
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    DO(cuTexObjectGetTextureDesc(&told, texture));
    SAME(t.flags, told.flags);
    DO(cuTexObjectDestroy(texture));

    /* Bytes are fractions, unless they are to be read as integers. */
    b = array_of(CU_AD_FORMAT_UNSIGNED_INT8, 1, WIDTH, HEIGHT);
    CUDA_MEMCPY2D c = rows_to(b, bytes, WIDTH, HEIGHT);
    DO(cuMemcpy2D(&c));
    r.res.array.hArray = b;
    t = clamped(0);
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    floats = use_texels(texture, READ_FLOATS);
    SAME(1, floats[0] == 1 && floats[1] > 0.1999f && floats[1] < 0.2001f && floats[2] == 0);
    DO(cuTexObjectDestroy(texture));
    t = clamped(CU_TRSF_READ_AS_INTEGER);
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(51, ((const unsigned *)use_texels(texture, READ_WHOLE))[1]);
    DO(cuTexObjectDestroy(texture));
    /* Measured (probe-more-answers.txt, "driver_textures"): a filter of integers is no error. */
    t.filterMode = CU_TR_FILTER_MODE_LINEAR;
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(51, ((const unsigned *)use_texels(texture, READ_WHOLE))[1]);
    DO(cuTexObjectDestroy(texture));

    /* Memory, in rows and without. */
    t = clamped(0);
    DO(cuMemAllocPitch(&p, &pitch, WIDTH * sizeof(float), HEIGHT, 4));
    c = rows_to(NULL, texels, WIDTH * sizeof(float), HEIGHT);
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = p;
    c.dstPitch = pitch;
    DO(cuMemcpy2D(&c));
    r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
                             .res.pitch2D = {p, CU_AD_FORMAT_FLOAT, 1, WIDTH, HEIGHT, pitch}};
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(0, memcmp(texels, use_texels(texture, READ_FLOATS), sizeof texels));
    DO(cuTexObjectGetResourceDesc(&got, texture));
    SAME(0, memcmp(&r.res.pitch2D, &got.res.pitch2D, sizeof r.res.pitch2D));
    DO(cuTexObjectDestroy(texture));
    DO(cuMemcpyHtoD(p, texels, sizeof texels));
    r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                             .res.linear = {p, CU_AD_FORMAT_FLOAT, 1, sizeof texels}};
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(0, memcmp(texels, use_texels(texture, READ_LINE), sizeof texels));
    DO(cuTexObjectGetResourceDesc(&got, texture));
    SAME(0, memcmp(&r.res.linear, &got.res.linear, sizeof r.res.linear));
    DO(cuTexObjectDestroy(texture));

    DO(cuMemFree(p));
    DO(cuArrayDestroy(a));
    DO(cuArrayDestroy(b));
}

CASE(surfaces)
{
    float back[TEXELS];
    CUDA_ARRAY3D_DESCRIPTOR d = {
        WIDTH, HEIGHT, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC r, got;
    CUsurfObject surface;
    CUarray a;
    DO(cuArray3DCreate(&a, &d));
    r = resource_of(a);
    DO(cuSurfObjectCreate(&surface, &r));
    use_texels(surface, WRITE);
    CUDA_MEMCPY2D c = rows_from(a, back, WIDTH * sizeof(float), HEIGHT);
    DO(cuMemcpy2D(&c));
    for (unsigned i = 0; i < TEXELS; i++)
        SAME(100 + i, back[i]);
    DO(cuSurfObjectGetResourceDesc(&got, surface));
    SAME((uintptr_t)a, (uintptr_t)got.res.array.hArray);
    DO(cuSurfObjectDestroy(surface));
    DO(cuArrayDestroy(a));
}

/* Incorrect: an object is destroyed twice. */
CASE(destroyed)
{
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t = clamped(0);
    CUtexObject texture;
    r = resource_of(filled_array());
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    DO(cuTexObjectDestroy(texture));
    DO(cuTexObjectDestroy(texture));
}

int main(int argc, char **argv)
{
    DO(cuInit(0));
    DO(cuDevicePrimaryCtxRetain(&context, 0));
    DO(cuCtxSetCurrent(context));
    if (argc > 2)
        DO(cuModuleLoad(&module, argv[2]));
    return run_named(argc, argv);
}
