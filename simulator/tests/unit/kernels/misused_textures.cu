// Mistakes with arrays, textures, and surfaces, one for each word; with another word it is right.
#include <cstdio>
#include <cstring>
enum { N = 64 };
__global__ void fetch(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f);
}
__global__ void put(cudaSurfaceObject_t s, int x)
{
    surf2Dwrite(1.0f, s, (threadIdx.x + x) * 4, 0);
}
int main(int, char **argv)
{
    const char *what = argv[1];
    auto is = [&](const char *word) { return !strcmp(what, word); };
    float *host, *out;
    cudaArray_t array;
    cudaStream_t load, work;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaMallocHost(&host, N * sizeof *host);
    memset(host, 0, N * sizeof *host);
    cudaMalloc(&out, N * sizeof *out);
    cudaMallocArray(&array, &desc, N + 32, 1, cudaArraySurfaceLoadStore);
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    cudaTextureDesc d = {};
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    cudaCreateTextureObject(&t, &r, &d, nullptr);
    cudaCreateSurfaceObject(&s, &r);
    if (!is("unwritten"))
        cudaMemcpy2DToArrayAsync(array, 0, 0, host, N * 4, N * 4, 1, cudaMemcpyHostToDevice, load);
    if (!is("order"))
        cudaStreamSynchronize(load);
    // The second warp's texels, and those that no thread reads.
    if (is("second") || is("apart"))
        cudaMemcpy2DToArrayAsync(array, is("second") ? 128 : N * 4, 0, host, 128, 128, 1,
                                 cudaMemcpyHostToDevice, load);
    if (is("freed"))
        cudaFreeArray(array);
    if (is("destroyed"))
        cudaDestroyTextureObject(t);
    if (is("outside"))
        put<<<1, N, 0, work>>>(s, 33);
    else if (is("surface")) {
        put<<<1, N, 0, work>>>(s, 0);
        cudaMemcpy2DFromArrayAsync(host, N * 4, array, 0, 0, N * 4, 1, cudaMemcpyDeviceToHost,
                                   load);
    } else
        fetch<<<1, N, 0, work>>>(t, out);
    if (is("pending"))
        cudaDestroyTextureObject(t);
    cudaStreamSynchronize(load);
    cudaError_t e = cudaStreamSynchronize(work);
    printf("%s\n", cudaGetErrorName(e));
    if (!is("destroyed") && !is("pending"))
        cudaDestroyTextureObject(t);
    cudaDestroySurfaceObject(s);
    if (!is("leak") && !is("freed"))
        cudaFreeArray(array);
    cudaFree(out);
    cudaFreeHost(host);
    cudaStreamDestroy(load);
    cudaStreamDestroy(work);
}
