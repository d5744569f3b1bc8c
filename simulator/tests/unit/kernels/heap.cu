// malloc, free, new, and delete in kernels: memory that outlives its kernel, a full heap, and
// mistakes. The argument is a case.
#include <cstdio>
#include <cstring>

struct Node {
    int value;
    Node *next;
    __device__ virtual int twice() const { return 2 * value; }
    __device__ Node(int value, Node *next) : value(value), next(next) {}
    __device__ virtual ~Node() {}
};

__device__ Node *lists[64];

__global__ void build(int length)
{
    Node *first = nullptr;
    for (int i = 0; i < length; i++)
        first = new Node(threadIdx.x * 100 + i, first);
    lists[threadIdx.x] = first;
}

__global__ void sums(int *sum)
{
    int total = 0;
    for (Node *n = lists[threadIdx.x]; n; n = n->next)
        total += n->twice();
    sum[threadIdx.x] = total;
}

__global__ void end(int)
{
    for (Node *n = lists[threadIdx.x], *next; n; n = next) {
        next = n->next;
        delete n;
    }
    lists[threadIdx.x] = nullptr;
}

__global__ void fill(int *count, size_t bytes, bool keep)
{
    void *all[100];
    *count = 0;
    while (*count < 100 && (all[*count] = malloc(bytes)))
        ++*count;
    for (int i = 0; i < *count && !keep; i++)
        free(all[i]);
    free(nullptr);
}

__global__ void mistaken(int *data, int which)
{
    int *p = (int *)malloc(64);
    p[0] = 1;
    if (which == 0)
        data[0] = p[16 * 1024];
    if (which == 1) {
        free(p);
        data[0] = p[0];
    }
    if (which == 2) {
        free(p);
        free(p);
    }
    if (which == 3)
        free(p + 4);
    if (which == 4)
        data[0] = ((volatile int *)p)[1] + 1;
    if (which == 5)
        free(data);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"beyond", "freed",     "twice",
                                        "inside", "unwritten", "foreign"};
    int *data, host[64], wrong = 0;
    cudaMalloc(&data, sizeof host);
    for (int i = 0; argc > 1 && i < 6; i++)
        if (!strcmp(argv[1], names[i])) {
            mistaken<<<1, 1>>>(data, i);
            puts(cudaGetErrorName(cudaDeviceSynchronize()));
            cudaFree(data);
            return 0;
        }
    for (int round = 0; round < 3; round++) {
        build<<<1, 64>>>(10);
        sums<<<1, 64>>>(data);
        end<<<1, 64>>>(0);
        cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
        for (int t = 0; t < 64; t++)
            wrong += host[t] != 2 * (10 * 100 * t + 45);
    }
    // The heap has 8 MiB, and after a free as much as before.
    for (int round = 0; round < 3; round++) {
        fill<<<1, 1>>>(data, 1 << 20, round == 2);
        cudaMemcpy(host, data, 4, cudaMemcpyDeviceToHost);
        wrong += host[0] != 7;
    }
    fill<<<1, 1>>>(data, 1 << 20, false);
    cudaMemcpy(host, data, 4, cudaMemcpyDeviceToHost);
    wrong += host[0] != 0;
    printf("%d wrong\n", wrong);
    return cudaFree(data) || wrong;
}
