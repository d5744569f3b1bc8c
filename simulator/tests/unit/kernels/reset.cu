// What handles and variables from before cudaDeviceReset are good for: reset CASE. Each case prints
// the line that a GPU prints for it, unless the call crashes. What an H200 printed for them is in
// simulator/tests/facts/kernels-reset.txt.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__device__ int counter = 10;
__global__ void bump() { counter++; }

static int bumped()
{
    int value;
    bump<<<1, 1>>>();
    cudaMemcpyFromSymbol(&value, counter, 4);
    return value;
}

static cudaStream_t before, after;
static cudaEvent_t event;
static cudaGraphExec_t exec;
static void *p;

static void make()
{
    cudaGraph_t graph;
    cudaStreamCreate(&before);
    cudaEventCreate(&event);
    cudaMalloc(&p, 16);
    cudaStreamBeginCapture(before, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(p, 0, 16, before);
    cudaStreamEndCapture(before, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaDeviceSynchronize();
    cudaDeviceReset();
    cudaStreamCreate(&after);
    cudaMalloc(&p, 16);
}

static cudaError_t launch()
{
    cudaError_t e = cudaGraphLaunch(exec, after);
    return e ? e : cudaStreamSynchronize(after);
}

int main(int argc, char **argv)
{
    static int here[4];
    const int number = argc > 1 ? atoi(argv[1]) : 6;
    if (number == 6) {
        printf("%d ", bumped());
        cudaDeviceReset();
        printf("%d\n", bumped());
        return 0;
    }
    make();
#define CASE(n, name, call) \
    case n: printf(name ": %s\n", cudaGetErrorName(call)); break
    switch (number) {
        CASE(0, "cudaStreamSynchronize(old)", cudaStreamSynchronize(before));
        CASE(1, "cudaStreamWaitEvent(new, old event)", cudaStreamWaitEvent(after, event, 0));
        CASE(2, "cudaMemcpyAsync(old stream)",
             cudaMemcpyAsync(here, p, 16, cudaMemcpyDeviceToHost, before));
        CASE(3, "cudaGraphLaunch(old)", launch());
        CASE(4, "cudaGraphExecDestroy(old)", cudaGraphExecDestroy(exec));
        CASE(5, "cudaStreamQuery(old)", cudaStreamQuery(before));
    }
    return 0;
}
