// Barriers that are objects in shared memory: of libcu++, split into arrival and wait, with threads
// that drop out, and as the end of asynchronous copies; and the barrier of a cluster, here a block.
// The host computes the same. With an argument, one barrier is left out.
#include <cuda/barrier>

#include <cstdio>

using barrier = cuda::barrier<cuda::thread_scope_block>;

#define ROUNDS 5

// Each round, every thread writes its cell and reads its neighbor's.
__global__ void rotate(int *out, bool left_out)
{
    __shared__ barrier meet;
    __shared__ int cells[128];
    if (!threadIdx.x)
        init(&meet, blockDim.x);
    __syncthreads();
    int value = threadIdx.x + 1;
    for (int round = 0; round < ROUNDS; round++) {
        cells[threadIdx.x] = value;
        if (!left_out) {
            auto arrived = meet.arrive();
            meet.wait(std::move(arrived));
        }
        value = value * 3 + cells[(threadIdx.x + 1) % blockDim.x];
        meet.arrive_and_wait();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// Threads leave one after the other; the others go on without them.
__global__ void leave(int *out)
{
    __shared__ barrier meet;
    __shared__ int count;
    if (!threadIdx.x)
        init(&meet, blockDim.x), count = 0;
    __syncthreads();
    for (int round = 0; round < (int)threadIdx.x % 4; round++) {
        atomicAdd(&count, 1);
        meet.arrive_and_wait();
    }
    meet.arrive_and_drop();
    __syncthreads();
    out[threadIdx.x] = count;
}

// A producer warp fills a buffer, and a consumer warp reads it, by two barriers.
__global__ void stages(const int *in, int *sum, int count)
{
    __shared__ barrier full, empty;
    __shared__ int buffer[32];
    int lane = threadIdx.x % 32, total = 0;
    if (!threadIdx.x)
        init(&full, 64), init(&empty, 64);
    __syncthreads();
    if (threadIdx.x < 32)
        for (int k = 0; k < count; k++) {
            empty.arrive_and_wait();
            cuda::memcpy_async(&buffer[lane], &in[k * 32 + lane], sizeof(int), full);
            (void)full.arrive();
        }
    else
        for (int k = 0; k < count; k++) {
            (void)empty.arrive();
            full.arrive_and_wait();
            total += buffer[31 - lane];
        }
    if (threadIdx.x >= 32)
        atomicAdd(sum, total);
}

// cooperative_groups' generic group has this barrier in its code, too.
__global__ void reverse(int *out)
{
    __shared__ int cells[128];
    cells[threadIdx.x] = threadIdx.x;
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    out[threadIdx.x] = cells[127 - threadIdx.x];
}

int main(int argc, char **)
{
    int *out, wrong = 0, host[256];
    cudaMallocManaged(&out, 4096 * sizeof *out);
    rotate<<<2, 128>>>(out, argc > 1);
    cudaError_t e = cudaDeviceSynchronize();
    for (int i = 0; i < 128; i++)
        host[i] = i + 1;
    for (int round = 0; round < ROUNDS; round++) {
        int first = host[0];
        for (int i = 0; i < 128; i++)
            host[i] = host[i] * 3 + (i < 127 ? host[i + 1] : first);
    }
    for (int i = 0; i < 256; i++)
        wrong += out[i] != host[i % 128];
    leave<<<1, 64>>>(out);
    e = e ? e : cudaDeviceSynchronize();
    for (int i = 0; i < 64; i++)
        wrong += out[i] != 16 * (0 + 1 + 2 + 3);
    int *in = out + 1024, sum = 0;
    for (int i = 0; i < 10 * 32; i++)
        in[i] = i * i, sum += i * i;
    out[0] = 0;
    stages<<<1, 64>>>(in, out, 10);
    e = e ? e : cudaDeviceSynchronize();
    wrong += out[0] != sum;
    reverse<<<1, 128>>>(out);
    e = e ? e : cudaDeviceSynchronize();
    for (int i = 0; i < 128; i++)
        wrong += out[i] != 127 - i;
    printf("%s, %d wrong\n", cudaGetErrorName(e), wrong);
    return cudaFree(out) || wrong;
}
