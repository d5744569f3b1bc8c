// Launches that are large enough for several cores. cores CASE prints a checksum of what the launch
// has left in memory; cores CASE threads also prints how many threads were started for it, and
// cores CASE none starts none. Without an argument: the cases.
#include <cassert>
#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>
#include <vector>

#include "cases.h"

#ifndef BLOCKS
#define BLOCKS 2048
#endif
#define T    256
#define N    (T * BLOCKS)
#define LATE (BLOCKS / 6 * 5)

__device__ int rank() { return blockIdx.x * T + threadIdx.x; }
__device__ unsigned mixed(unsigned v)
{
    for (int k = 0; k < 8; k++)
        v = (v ^ v >> 15) * 1664525 + 1013904223;
    return v;
}

// A kernel of many blocks is a case.
static void run(void (*kernel)(int *, int *), const char *name);
#define LAUNCH(name)                               \
    __global__ void name(int *x, int *y);          \
    static void run_##name() { run(name, #name); } \
    LIST_CASE(name, run_##name)                    \
    __global__ void name(int *x, int *y)

// ---- blocks that are independent ----

LAUNCH(each_its_own) { y[rank()] = x[rank()] + mixed(rank()); }
LAUNCH(in_place) { y[rank()] = y[rank()] * 3 + mixed(x[rank()]); }
LAUNCH(tiles)
{
    __shared__ int t[32][33];
    const int w = 512, h = BLOCKS / 2, bx = blockIdx.x % 16 * 32, by = blockIdx.x / 16 % 32 * 32;
    for (int k = threadIdx.x; k < 1024 && blockIdx.x < BLOCKS / 4; k += T)
        t[k / 32][k % 32] = mixed(x[(by + k / 32) * w + bx + k % 32]);
    __syncthreads();
    for (int k = threadIdx.x; k < 1024 && blockIdx.x < BLOCKS / 4; k += T)
        y[(bx + k / 32) * h + by + k % 32] = t[k % 32][k / 32];
}
LAUNCH(sums)
{
    __shared__ int s[T];
    s[threadIdx.x] = mixed(x[rank()]);
    for (int k = T / 2; k; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
    }
    if (!threadIdx.x)
        y[blockIdx.x] = s[0];
}
LAUNCH(bins) { atomicAdd(&y[mixed(x[rank()]) % 64], 1); }
LAUNCH(least) { atomicMin(&y[rank() % 5], (int)mixed(x[rank()])); }
LAUNCH(bits64) { atomicOr((unsigned long long *)y + rank() % 5, 1ull << mixed(x[rank()]) % 64); }
__device__ __noinline__ int depth(int n, int v) { return n ? 1 + depth(n - 1, v ^ n) : v; }
LAUNCH(calls) { y[rank()] = depth((unsigned)x[rank()] % 4, rank()); }
// Light blocks come first.
LAUNCH(uneven)
{
    for (unsigned k = 0; k < blockIdx.x / 64; k++)
        y[rank()] += mixed(x[rank()] + k);
}
// What is in a block's own memory before it has written there.
LAUNCH(leftovers)
{
    __shared__ int s[T];
    volatile int v[4];
    y[rank()] = v[threadIdx.x % 4] + s[T - 1 - threadIdx.x];
    __syncthreads();
    v[threadIdx.x % 4] = mixed(rank());
    s[threadIdx.x] = mixed(rank()) + v[threadIdx.x % 4];
}

// ---- blocks that are not, or may not be ----

LAUNCH(float_sum) { atomicAdd((float *)y, mixed(x[rank()]) * 1e-7f); }
LAUNCH(tickets) { y[1 + atomicAdd(y, 1)] = x[rank()]; }
LAUNCH(said)
{
    y[rank()] = mixed(x[rank()]);
    if (rank() % 100000 == 99999)
        printf("%d\n", y[rank()]);
}
LAUNCH(turns)
{
    volatile int *next = y;
    if (threadIdx.x == 0) {
        while (*next != blockIdx.x)
            ;
        y[1] = y[1] * 31 + mixed(x[rank()]);
        __threadfence();
        *next = blockIdx.x + 1;
    }
}
LAUNCH(added_and_read)
{
    atomicAdd(y, (int)mixed(x[rank()]));
    y[rank() + T] = y[rank() % 2 * 4];
}
LAUNCH(own_counter)
{
    atomicAdd(&y[blockIdx.x], (int)mixed(x[rank()]));
    __syncthreads();
    y[BLOCKS + rank()] = y[blockIdx.x];
}
LAUNCH(added_and_less)
{
    atomicAdd(y, (int)mixed(x[rank()]));
    atomicMin(y, rank());
}

// ---- what is reported ----

LAUNCH(far_race) { y[rank() % (N - 5000)] = mixed(x[rank()]); }
LAUNCH(near_race) { y[rank() + (blockIdx.x == LATE && threadIdx.x == T - 1)] = mixed(x[rank()]); }
LAUNCH(middle_race)
{
    y[rank() - (blockIdx.x >= LATE - BLOCKS / 20 && blockIdx.x < LATE ? BLOCKS / 20 * T : 0)] =
        mixed(x[rank()]);
}
LAUNCH(neighbors) { y[rank()] = mixed(y[(rank() + T) % N] + x[rank()]); }
LAUNCH(same_value)
{
    if (mixed(x[rank()]) % 100 == 0)
        y[0] = 1;
}
LAUNCH(late_fault) { y[rank() + (rank() == N - N / 8 ? 1 << 28 : 0)] = mixed(x[rank()]); }
LAUNCH(late_end) { y[rank() + 3] = mixed(x[rank()]); }
LAUNCH(late_assertion)
{
    y[rank()] = mixed(x[rank()]);
    assert(rank() != N - N / 8);
}
LAUNCH(late_shared_race)
{
    __shared__ int s[T];
    s[threadIdx.x] = mixed(x[rank()]);
    if (blockIdx.x != LATE)
        __syncthreads();
    y[rank()] = s[T - 1 - threadIdx.x];
}
LAUNCH(unwritten)
{
    int *z = x + N;
    y[rank()] = mixed(x[rank()]) + (blockIdx.x == LATE ? z[rank()] * 2 : 0);
}
LAUNCH(carried)
{
    y[rank()] = mixed(x[rank()]);
    if (blockIdx.x > LATE)
        y[N + rank()] = x[N + rank()];
}
__global__ void use_carried(int *x, int *y) { y[rank()] = mixed(y[N + rank()]); }

// ---- the order of reports ----

struct many {
    int *all[12];
};
// Which allocation is touched first depends on the order of the blocks.
__global__ void touch_all(many m, int *y)
{
    const int n = blockIdx.x * 12 / BLOCKS;
    y[rank()] = mixed(rank());
    m.all[(n * 5 + 3) % 12][threadIdx.x + (blockIdx.x % 171) * T] += n;
}

// Each thread reads a texel, between others, and writes one; those from `end` on, outside.
__global__ void copy_texels(cudaTextureObject_t from, cudaSurfaceObject_t to, int end, int *y)
{
    const int n = rank(), column = n % 512, row = n / 512;
    const float value = tex2D<float>(from, column + .25f, row + .75f);
    surf2Dwrite(value, to, (n < end ? column : 512) * 4, row);
    y[n] = __float_as_int(value) + mixed(n);
}

static int started;
static bool none_starts, counts;

// The simulated device calls this one.
extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*main)(void *), void *argument) noexcept
{
    static const auto real = (decltype(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
    started += counts;
    return counts && none_starts ? EAGAIN : real(thread, attributes, main, argument);
}

static void print_sum(const char *name, const int *memory, size_t count)
{
    std::vector<int> here(count);
    unsigned sum = 0;
    cudaError_t e = cudaMemcpy(here.data(), memory, count * 4, cudaMemcpyDeviceToHost);
    for (int v : here)
        sum = sum * 31 + v;
    printf("%s: %08x, %s\n", name, sum, cudaGetErrorName(e));
}

CASE(spread)
{
    cudaStream_t s[13];
    many m;
    int *y;
    for (auto &each : s)
        CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&y, N * 4));
    for (auto &each : m.all)
        CHECK(cudaMalloc(&each, N * 4));
    for (auto each : m.all)
        CHECK(cudaMemset(each, 0, N * 4));
    CHECK(cudaDeviceSynchronize());
    for (int n = 0; n < 12; n++)
        CHECK(cudaMemsetAsync(m.all[n], 0, N * 4, s[n]));
    counts = true;
    touch_all<<<BLOCKS, T, 0, s[12]>>>(m, y);
    CHECK(cudaDeviceSynchronize());
    counts = false;
    print_sum("spread", y, N);
    for (auto each : m.all)
        print_sum("memory", each, N);
}

static cudaResourceDesc new_array()
{
    cudaResourceDesc r = {};
    const cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
    r.resType = cudaResourceTypeArray;
    CHECK(cudaMallocArray(&r.res.array.array, &c, 512, N / 512, cudaArraySurfaceLoadStore));
    return r;
}

static void run_textured(const char *name, bool whole, int end)
{
    const cudaResourceDesc from = new_array(), to = new_array();
    cudaTextureDesc d = {};
    d.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    std::vector<float> here(N);
    int *y;
    for (int i = 0; i < N; i++)
        here[i] = (float)(i * 2654435761u >> 7) / 100;
    CHECK(cudaMalloc(&y, N * 4));
    CHECK(cudaMemcpy2DToArray(from.res.array.array, 0, 0, here.data(), 2048, 2048,
                              N / 512 / (whole ? 1 : 2), cudaMemcpyHostToDevice));
    CHECK(cudaCreateTextureObject(&t, &from, &d, nullptr));
    CHECK(cudaCreateSurfaceObject(&s, &to));
    CHECK(cudaMemset(y, 0, N * 4));
    CHECK(cudaDeviceSynchronize());
    counts = true;
    copy_texels<<<BLOCKS, T>>>(t, s, end, y);
    cudaDeviceSynchronize();
    counts = false;
    print_sum(name, y, N);
    cudaMemcpy2DFromArray(y, 2048, to.res.array.array, 0, 0, 2048, N / 512,
                          cudaMemcpyDeviceToDevice);
    print_sum(name, y, N);
}

CASE(textured) { run_textured("textured", true, N); }
CASE(unwritten_texture) { run_textured("unwritten_texture", false, N); }
CASE(late_surface) { run_textured("late_surface", true, N - 100); }

static void run(void (*kernel)(int *, int *), const char *name)
{
    const size_t size = 2 * N;
    std::vector<int> here(size);
    int *x, *y;
    for (size_t i = 0; i < size; i++)
        here[i] = (int)(i * 2654435761u >> 7);
    CHECK(cudaMalloc(&x, size * 4));
    CHECK(cudaMalloc(&y, kernel == late_end ? N * 4 : size * 4));
    const bool half = kernel == unwritten || kernel == carried;
    CHECK(cudaMemcpy(x, here.data(), half ? N * 4 : size * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(y, kernel == least ? 127 : 0, N * 4));
    if (!half && kernel != late_end)
        CHECK(cudaMemset(y + N, 0, N * 4));
    CHECK(cudaDeviceSynchronize());
    for (int turn = 0; turn < 2; turn++) {
        counts = true;
        kernel<<<BLOCKS, T>>>(x, y);
        cudaDeviceSynchronize();
        counts = false;
        print_sum(name, y, N);
        if (kernel == tickets || kernel == turns)
            cudaMemset(y, 0, N * 4);
    }
    if (kernel == carried) {
        use_carried<<<BLOCKS, T>>>(x, y);
        print_sum(name, y, N);
    }
}

int main(int argc, char **argv)
{
    none_starts = argc > 2 && !strcmp(argv[2], "none");
    const int status = run_cases(argc, argv);
    if (argc > 2)
        printf("threads: %d\n", started);
    return status;
}
