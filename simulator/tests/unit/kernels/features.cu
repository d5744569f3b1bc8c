// What kernels that nvcc built are launched with besides <<<...>>>: variables, kernel nodes,
// cooperative launches, attributes. Prints the same on a GPU.
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__constant__ float coefficients[4];
__device__ int total;
__device__ int table[8] = {1, 2, 3, 4};
__device__ int *pointer = table + 1;

__global__ void scale(float *a, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = a[i] * factor + coefficients[i & 3] + table[i & 7] + pointer[0];
    atomicAdd(&total, 1);
}

__global__ void turned(int *a, int *out)
{
    auto grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    a[i] = i;
    grid.sync();
    out[i] = a[n - 1 - i];
    grid.sync();
    a[i] = out[i] + 1;
}

#define OK(call)                                                                 \
    do {                                                                         \
        cudaError_t e = (call);                                                  \
        if (e)                                                                   \
            printf("line %d: %s\n", __LINE__, cudaGetErrorName(e));              \
    } while (0)

static float *a;

static void print_first()
{
    float here[8];
    OK(cudaMemcpy(here, a, sizeof here, cudaMemcpyDefault));
    printf("%g %g\n", here[0], here[5]);
}

static void variables()
{
    float values[4] = {1, 2, 3, 4}, back[4];
    void *address;
    size_t bytes;
    OK(cudaMemcpyToSymbol(coefficients, values, sizeof values));
    OK(cudaMemcpyFromSymbol(back, coefficients, sizeof back));
    OK(cudaGetSymbolAddress(&address, total));
    OK(cudaGetSymbolSize(&bytes, coefficients));
    printf("%g %g, %zu bytes, %s\n", back[0], back[3], bytes, address ? "somewhere" : "nowhere");
}

static void nodes()
{
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    cudaGraphExec_t exec;
    float factor = 2;
    int count = 1024, launched;
    void *arguments[] = {&a, &factor, &count};
    cudaKernelNodeParams p = {}, got;
    p.func = (void *)scale;
    p.gridDim = 4;
    p.blockDim = 256;
    p.kernelParams = arguments;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &p));
    OK(cudaGraphAddKernelNode(&second, graph, &first, 1, &p));
    OK(cudaGraphKernelNodeGetParams(first, &got));
    printf("%d, %u threads, factor %g\n", got.func == (void *)scale, got.blockDim.x,
           *(float *)got.kernelParams[1]);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    print_first();
    factor = 0;
    OK(cudaGraphExecKernelNodeSetParams(exec, second, &p));
    OK(cudaGraphLaunch(exec, 0));
    print_first();
    OK(cudaMemcpyFromSymbol(&launched, total, sizeof launched));
    printf("%d threads in all\n", launched);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static void cooperative()
{
    int *x, *y, here[1024];
    OK(cudaMalloc(&x, sizeof here));
    OK(cudaMalloc(&y, sizeof here));
    void *arguments[] = {&x, &y};
    OK(cudaLaunchCooperativeKernel((void *)turned, dim3(8), dim3(128), arguments, 0, 0));
    OK(cudaMemcpy(here, x, sizeof here, cudaMemcpyDefault));
    printf("%d %d\n", here[0], here[1023]);
    cudaError_t e =
        cudaLaunchCooperativeKernel((void *)turned, dim3(100000), dim3(1024), arguments, 0, 0);
    printf("%s\n", cudaGetErrorName(e));
    cudaGetLastError();
    OK(cudaFree(x));
    OK(cudaFree(y));
}

static void attributes()
{
    cudaFuncAttributes of_scale;
    int blocks, none;
    size_t most;
    cudaFunction_t function;
    OK(cudaFuncGetAttributes(&of_scale, scale));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
    printf("%d threads, %zu bytes, %d blocks\n", of_scale.maxThreadsPerBlock,
           of_scale.sharedSizeBytes, blocks);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&none, scale, 256, (48 << 10) + 1));
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&most, scale, 1, 256));
    if (none || most != 48 << 10)
        printf("%d blocks, %zu bytes\n", none, most);
    OK(cudaGetFuncBySymbol(&function, (void *)scale));
    scale<<<1, 2000>>>(a, 1, 1);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    cudaLaunchConfig_t config = {};
    config.gridDim = 4;
    config.blockDim = 256;
    OK(cudaLaunchKernelEx(&config, scale, a, 1.0f, 1024));
    print_first();
}

int main()
{
    OK(cudaMalloc(&a, 4096));
    OK(cudaMemset(a, 0, 4096));
    variables();
    nodes();
    cooperative();
    attributes();
    OK(cudaFree(a));
    return 0;
}
