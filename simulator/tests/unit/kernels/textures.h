// Shared by textures.cu and texture_words.cu: arrays, their textures, and one fetch of each kind.
// What is made lasts to the end of the program.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

enum { MOST = 1 << 16 };

static int wrong_cases;
static float4 *at; // the coordinates of up to MOST reads
static std::vector<void *> kept;
static std::vector<cudaArray_t> arrays;

static void must(cudaError_t e, const char *what)
{
    if (e)
        printf("%s: %s\n", what, cudaGetErrorName(e)), wrong_cases++;
}
#define MUST(call) must(call, #call)

// D is the number of dimensions; of layers 10 more, of a level 20, and of slopes 30. A cube is 6, a
// gather 7, and linear memory 0.
template <typename T, int D> __device__ T fetched(cudaTextureObject_t t, float4 c)
{
    if constexpr (D == 1)
        return tex1D<T>(t, c.x);
    else if constexpr (D == 2)
        return tex2D<T>(t, c.x, c.y);
    else if constexpr (D == 3)
        return tex3D<T>(t, c.x, c.y, c.z);
    else if constexpr (D == 11)
        return tex1DLayered<T>(t, c.x, (int)c.w);
    else if constexpr (D == 12)
        return tex2DLayered<T>(t, c.x, c.y, (int)c.w);
    else if constexpr (D == 6)
        return texCubemap<T>(t, c.x, c.y, c.z);
    else if constexpr (D == 16)
        return texCubemapLayered<T>(t, c.x, c.y, c.z, (int)c.w);
    else if constexpr (D == 22)
        return tex2DLod<T>(t, c.x, c.y, 0);
    else if constexpr (D == 32)
        return tex2DGrad<T>(t, c.x, c.y, make_float2(0.25f, 0), make_float2(0, 0.25f));
    else if constexpr (D == 7)
        return tex2Dgather<T>(t, c.x, c.y, 0);
    else
        return tex1Dfetch<T>(t, (int)c.x);
}

static cudaTextureObject_t texture_of(cudaArray_t a, const cudaTextureDesc &d)
{
    cudaResourceDesc r = {};
    cudaTextureObject_t t = 0;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
    return t;
}

// The address modes of the three directions, as numbers.
static cudaTextureDesc desc(int x, int y, int z, bool linear, bool normalized = false,
                            bool fractions = false)
{
    cudaTextureDesc d = {};
    d.addressMode[0] = (cudaTextureAddressMode)x;
    d.addressMode[1] = (cudaTextureAddressMode)y;
    d.addressMode[2] = (cudaTextureAddressMode)z;
    d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    d.readMode = fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    d.normalizedCoords = normalized;
    return d;
}

template <typename T> static cudaChannelFormatDesc channel() { return cudaCreateChannelDesc<T>(); }
template <> cudaChannelFormatDesc channel<__half>() { return cudaCreateChannelDescHalf(); }

template <typename T>
static cudaArray_t array_of(const T *from, size_t w, size_t h, size_t d, unsigned flags = 0)
{
    cudaArray_t a = nullptr;
    cudaChannelFormatDesc c = channel<T>();
    MUST(cudaMalloc3DArray(&a, &c, make_cudaExtent(w, h, d), flags));
    arrays.push_back(a);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)from, w * sizeof(T), w, h ? h : 1);
    p.dstArray = a;
    p.extent = make_cudaExtent(w, h ? h : 1, d ? d : 1);
    p.kind = cudaMemcpyHostToDevice;
    MUST(cudaMemcpy3D(&p));
    return a;
}

template <typename T> static T *managed(size_t count)
{
    T *memory;
    MUST(cudaMallocManaged(&memory, count * sizeof *memory));
    kept.push_back(memory);
    return memory;
}

template <typename T, int D>
__global__ void read(cudaTextureObject_t t, const float4 *at, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = fetched<T, D>(t, at[i]);
}

// Reads the first n places and ends the texture. The result is valid until the next call.
template <typename T, int D> static const T *read_all(cudaTextureObject_t t, int n)
{
    static T *const out = managed<T>(MOST);
    memset((void *)out, 0x55, n * sizeof(T));
    read<T, D><<<(n + 127) / 128, 128>>>(t, at, out, n);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaDestroyTextureObject(t));
    return out;
}

static void tell(const char *what, cudaError_t e)
{
    printf("%s: %s\n", what, cudaGetErrorName(e));
    cudaGetLastError();
}

static void release_all()
{
    for (cudaArray_t a : arrays)
        MUST(cudaFreeArray(a));
    for (void *p : kept)
        MUST(cudaFree(p));
}
