// What a warp adds to values that nobody wrote stays in shared memory, which is then all written;
// another warp stores it to device memory: handed_on sum correct|incorrect.
#include <cstring>

#define N 128

__global__ void sum(int *out, bool cleared)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    if (t >= 32 || cleared)
        s[t] = 0;
    s[t] += t;
    __syncthreads();
    out[t] = s[N - 1 - t];
}

int main(int argc, char **argv)
{
    int *out;
    cudaMalloc(&out, N * sizeof *out);
    sum<<<1, N>>>(out, argc > 2 && !strcmp(argv[2], "correct"));
    cudaDeviceSynchronize();
    return cudaFree(out);
}
