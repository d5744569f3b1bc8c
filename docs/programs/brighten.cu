/* A frame is copied in one stream and brightened in another. Nothing makes `work` wait for `load`,
 * so each pixel may come out as 42 or as 1. -DREPAIRED adds the missing wait.
 *
 *     make mine FILE=docs/programs/brighten.cu
 *     make mine FILE=docs/programs/brighten.cu FLAGS=-DREPAIRED */
#include <cstdio>

__global__ void brighten(const int *frame, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = frame[i] + 1;
}

int main()
{
    const int n = 1 << 16, bytes = n * sizeof(int);
    int *input, *output, *frame, *out;
    cudaStream_t load, work;
    cudaEvent_t loaded;
    cudaMallocHost(&input, bytes);
    cudaMallocHost(&output, bytes);
    cudaMalloc(&frame, bytes);
    cudaMalloc(&out, bytes);
    cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaEventCreate(&loaded);
    for (int i = 0; i < n; i++)
        input[i] = 41;
    cudaMemset(frame, 0, bytes);
    cudaDeviceSynchronize();

    cudaMemcpyAsync(frame, input, bytes, cudaMemcpyHostToDevice, load);
#ifdef REPAIRED
    cudaEventRecord(loaded, load);
    cudaStreamWaitEvent(work, loaded, 0);
#endif
    brighten<<<n / 256, 256, 0, work>>>(frame, out, n);
    cudaMemcpyAsync(output, out, bytes, cudaMemcpyDeviceToHost, work);
    cudaStreamSynchronize(work);
    printf("%d\n", output[0]);

    cudaStreamSynchronize(load);
    cudaEventDestroy(loaded);
    cudaStreamDestroy(work);
    cudaStreamDestroy(load);
    cudaFree(out);
    cudaFree(frame);
    cudaFreeHost(output);
    cudaFreeHost(input);
}
