// Where simulator/tests/unit/kernels/texels.ptx comes from: nvcc -ptx texels.cu, without comments
// and empty lines.
extern "C" __global__ void fetch(float *to, cudaTextureObject_t texture, int width)
{
    int i = threadIdx.x;
    to[i] = tex2D<float>(texture, i % width + 0.5f, i / width + 0.5f);
}

extern "C" __global__ void fetch_whole(unsigned *to, cudaTextureObject_t texture, int width)
{
    int i = threadIdx.x;
    to[i] = tex2D<unsigned>(texture, i % width + 0.5f, i / width + 0.5f);
}

extern "C" __global__ void fetch_line(float *to, cudaTextureObject_t texture)
{
    to[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
}

extern "C" __global__ void store(cudaSurfaceObject_t surface, int width)
{
    int i = threadIdx.x;
    surf2Dwrite(100.0f + i, surface, i % width * (int)sizeof(float), i / width);
}
