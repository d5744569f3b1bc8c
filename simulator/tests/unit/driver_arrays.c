/* What is in arrays, textures, and surfaces of the driver API; the codes of wrong arguments are in
 * simulator/tests/facts/probe-more-answers.c. Each case is a program of its own (driver.bats). */
#include <cuda.h>

#include "expect.h"

enum { WIDTH = 4, HEIGHT = 4, TEXELS = WIDTH * HEIGHT };

static CUcontext context;

static CUarray array_of(CUarray_format format, unsigned channels, size_t width, size_t height)
{
    CUDA_ARRAY_DESCRIPTOR d = {width, height, format, channels};
    CUarray a;
    DO(cuArrayCreate(&a, &d));
    return a;
}

/* All rows of host memory without gaps, to an array. */
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

CASE(descriptor)
{
    CUDA_ARRAY_DESCRIPTOR d;
    CUarray a = array_of(CU_AD_FORMAT_HALF, 2, 20, 3);
    DO(cuArrayGetDescriptor(&d, a));
    SAME(20, d.Width);
    SAME(3, d.Height);
    SAME(CU_AD_FORMAT_HALF, d.Format);
    SAME(2, d.NumChannels);
    DO(cuArrayDestroy(a));
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

/* A copy of columns 1 and 2 of an array's slices, as a node of a graph. */
CASE(copy_node)
{
    enum { W = 3, H = 2, D = 2 };
    static int all[D][H][W] = {{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}}, part[D][H][W];
    static const int expected[D][H][W] = {{{2, 3}, {5, 6}}, {{8, 9}, {11, 12}}};
    CUDA_ARRAY3D_DESCRIPTOR d = {W, H, D, CU_AD_FORMAT_SIGNED_INT32, 1, 0};
    CUDA_MEMCPY3D c;
    CUarray a;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    DO(cuArray3DCreate(&a, &d));
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
    c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                        .srcArray = a,
                        .srcXInBytes = sizeof(int),
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = part,
                        .dstPitch = sizeof **part,
                        .dstHeight = H,
                        .WidthInBytes = 2 * sizeof(int),
                        .Height = H,
                        .Depth = D};
    DO(cuGraphCreate(&graph, 0));
    DO(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &c, context));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemcpyNode(&node, graph, NULL, 0, &c, NULL));
    DO(cuGraphInstantiate(&exec, graph, 0));
    DO(cuGraphLaunch(exec, NULL));
    DO(cuCtxSynchronize());
    SAME(0, memcmp(expected, part, sizeof part));
    DO(cuArrayDestroy(a));
}

/* ---- what kernels read ---- */

/* How each of a block's 4 x 4 threads reads a texel: a float or a whole number from a texture of
 * two dimensions, or a float from one of linear memory. */
enum how { READ_FLOATS, READ_WHOLE, READ_LINE };
static const char texel_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry texel(.param .u64 object, .param .u32 how, .param .u64 to)\n{\n"
    ".reg .pred %p<3>; .reg .b32 %r<8>; .reg .f32 %f<3>; .reg .b64 %d<2>;\n"
    "ld.param.u64 %d0, [object];\n"
    "ld.param.u32 %r0, [how];\n"
    "setp.eq.u32 %p0, %r0, 0;\n"
    "setp.eq.u32 %p1, %r0, 1;\n"
    "setp.eq.u32 %p2, %r0, 2;\n"
    "mov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, %tid.y;\n"
    "mad.lo.u32 %r3, %r2, 4, %r1;\n"
    "cvt.rn.f32.u32 %f1, %r1;\n"
    "cvt.rn.f32.u32 %f2, %r2;\n"
    "add.f32 %f1, %f1, 0f3F000000;\n"
    "add.f32 %f2, %f2, 0f3F000000;\n"
    "@%p0 tex.2d.v4.f32.f32 {%r4, %r5, %r6, %r7}, [%d0, {%f1, %f2}];\n"
    "@%p1 tex.2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%d0, {%f1, %f2}];\n"
    "@%p2 tex.1d.v4.f32.s32 {%r4, %r5, %r6, %r7}, [%d0, {%r3}];\n"
    "ld.param.u64 %d1, [to];\n"
    "mad.wide.u32 %d1, %r3, 4, %d1;\n"
    "st.global.u32 [%d1], %r4;\n"
    "ret;\n}\n";

static const void *read_texels(CUtexObject object, enum how how)
{
    static unsigned words[TEXELS];
    static CUmodule module;
    CUfunction function;
    CUdeviceptr p;
    DO(cuMemAlloc(&p, sizeof words));
    DO(cuMemsetD8(p, 0, sizeof words));
    void *arguments[] = {&object, &how, &p};
    if (!module)
        DO(cuModuleLoadData(&module, texel_ptx));
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
    SAME(0, memcmp(texels, read_texels(texture, READ_FLOATS), sizeof texels));
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
    floats = read_texels(texture, READ_FLOATS);
    SAME(1, floats[0] == 1 && floats[1] > 0.1999f && floats[1] < 0.2001f && floats[2] == 0);
    DO(cuTexObjectDestroy(texture));
    t = clamped(CU_TRSF_READ_AS_INTEGER);
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(51, ((const unsigned *)read_texels(texture, READ_WHOLE))[1]);
    DO(cuTexObjectDestroy(texture));
    /* Measured (probe-more-answers.txt, "driver_textures"): a filter of integers is no error. */
    t.filterMode = CU_TR_FILTER_MODE_LINEAR;
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(51, ((const unsigned *)read_texels(texture, READ_WHOLE))[1]);
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
    SAME(0, memcmp(texels, read_texels(texture, READ_FLOATS), sizeof texels));
    DO(cuTexObjectGetResourceDesc(&got, texture));
    SAME(0, memcmp(&r.res.pitch2D, &got.res.pitch2D, sizeof r.res.pitch2D));
    DO(cuTexObjectDestroy(texture));
    DO(cuMemcpyHtoD(p, texels, sizeof texels));
    r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                             .res.linear = {p, CU_AD_FORMAT_FLOAT, 1, sizeof texels}};
    DO(cuTexObjectCreate(&texture, &r, &t, NULL));
    SAME(0, memcmp(texels, read_texels(texture, READ_LINE), sizeof texels));
    DO(cuTexObjectGetResourceDesc(&got, texture));
    SAME(0, memcmp(&r.res.linear, &got.res.linear, sizeof r.res.linear));
    DO(cuTexObjectDestroy(texture));

    DO(cuMemFree(p));
    DO(cuArrayDestroy(a));
    DO(cuArrayDestroy(b));
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
    return run_named(argc, argv);
}
