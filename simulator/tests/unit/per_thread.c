/* Compiled like a program that asks for a default stream for each thread: stream 0 is the calling
 * thread's. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include "kernels.h"

static void *device;

static void *other_thread(void *unused)
{
    (void)unused;
    int back = 0;
    cudaMemsetAsync(device, 1, 4, 0);
    cudaMemcpyAsync(&back, device, 4, cudaMemcpyDeviceToHost, 0);
    printf("another thread, its stream 0 synchronised: %s",
           cudaGetErrorName(cudaStreamSynchronize(0)));
    printf(", read 0x%x\n", (unsigned)back);
    return NULL;
}

int main(void)
{
    void *gate, *block = NULL;
    pthread_t thread;
    cudaHostAlloc(&gate, sizeof(int), cudaHostAllocMapped);
    cudaMalloc(&device, 4096);
    *(volatile int *)gate = 0;
    launch_hold(gate, cudaStreamPerThread);
    printf("this thread's stream 0 is held: %s\n", cudaGetErrorName(cudaStreamQuery(0)));
    printf("the same stream by its name: %s\n",
           cudaGetErrorName(cudaStreamQuery(cudaStreamPerThread)));
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    printf("this thread's stream 0 is still held: %s\n", cudaGetErrorName(cudaStreamQuery(0)));
    *(volatile int *)gate = 1;
    printf("opened: %s\n", cudaGetErrorName(cudaStreamSynchronize(0)));
    cudaMallocAsync(&block, 4096, 0);
    cudaFreeAsync(block, 0);
    cudaStreamSynchronize(0);
    cudaFree(device);
    cudaFreeHost(gate);
    return 0;
}
