// Threads touch memory in rows, backward, in steps, scattered and at one place; all of a warp, or
// some; elements of 1 to 16 bytes. What they read and write is what the host expects, and the bytes
// that they touch are exactly these: a kernel of another stream, which nothing orders, touches all
// others. With an argument it touches one more, and each of these is reported.
#include <cstdio>
#include <cstring>

enum { PLACES = 256, THREADS = 64, SHAPES = 8, MASKS = 7 };

__host__ __device__ static int place(int shape, int t)
{
    switch (shape) {
    case 0: return t;
    case 1: return 100 - t;
    case 2: return 3 * t + 1;
    case 3: return t * 37 % 64 * 2;
    case 4: return t / 16 * 40 + t % 16;
    case 5: return 77;
    case 6: return t ^ 5;
    default: return t < 32 ? t : 2 * t;
    }
}

__host__ __device__ static bool takes_part(int mask, int t)
{
    switch (mask) {
    case 0: return true;
    case 1: return t < 7;
    case 2: return t & 1;
    case 3: return t == 9;
    case 4: return t >= 16 && t < 48;
    case 5: return t * 2654435761u >> 30;
    default: return t % 32 < 31;
    }
}

template <class T> __host__ __device__ static T changed(T x) { return x + 3; }
template <> __host__ __device__ int2 changed(int2 x) { return make_int2(x.x + 3, x.y + 5); }
template <> __host__ __device__ int4 changed(int4 x)
{
    return make_int4(x.x + 3, x.y + 5, x.z + 7, x.w + 9);
}
template <> __host__ __device__ longlong2 changed(longlong2 x)
{
    return make_longlong2(x.x + 3, x.y + 5);
}

// By way of shared memory. Threads that share a place do the same there.
template <class T> __global__ void touch(T *to, const T *from, int shape, int mask)
{
    __shared__ T here[PLACES];
    int t = threadIdx.x, at = place(shape, t);
    if (takes_part(mask, t))
        here[at] = from[at];
    __syncthreads();
    if (takes_part(mask, t))
        to[at] = changed(here[at]);
}

// What the first does not touch, in both, and `more` beside it.
template <class T> __global__ void touch_others(T *to, T *from, const bool *touched, int more)
{
    int at = threadIdx.x;
    if (touched[at] && at != more)
        return;
    to[at] = changed(to[at]);
    from[at] = changed(from[at]);
}

static cudaStream_t s, t;
static int failed;

template <class T> static void compare(int shape, int mask, int more)
{
    T from[PLACES], to[PLACES], result[PLACES], *device[2];
    bool touched[PLACES] = {}, *flags;
    memset(from, 0, sizeof from);
    for (unsigned n = 0; n < sizeof from; n++)
        ((unsigned char *)from)[n] = (unsigned char)(n * 89 + n / 50);
    memcpy(to, from, sizeof to);
    for (int n = 0; n < THREADS; n++)
        if (takes_part(mask, n))
            touched[place(shape, n)] = true;
    // One of those that are touched, another one each time.
    int one = more ? (31 * shape + 7 * mask) % PLACES : -1;
    while (more && !touched[one])
        one = (one + 1) % PLACES;
    for (T *&d : device) {
        cudaMalloc(&d, sizeof from);
        cudaMemcpy(d, from, sizeof from, cudaMemcpyHostToDevice);
    }
    cudaMalloc(&flags, sizeof touched);
    cudaMemcpy(flags, touched, sizeof touched, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
    touch<<<1, THREADS, 0, s>>>(device[0], device[1], shape, mask);
    touch_others<<<1, PLACES, 0, t>>>(device[0], device[1], flags, one);
    cudaDeviceSynchronize();
    cudaMemcpy(result, device[0], sizeof result, cudaMemcpyDeviceToHost);
    for (int n = 0; n < PLACES; n++)
        to[n] = changed(to[n]);
    if (!more && memcmp(result, to, sizeof to)) {
        printf("%zu bytes, shape %d, threads %d: another result\n", sizeof(T), shape, mask);
        failed++;
    }
    cudaFree(device[0]);
    cudaFree(device[1]);
    cudaFree(flags);
}

// Counts where threads meet, and what they exchange.
__global__ void exchange(unsigned *bins, unsigned long long *sums, int shape, int mask, int *out)
{
    int t = threadIdx.x, at = place(shape, t);
    bool part = takes_part(mask, t);
    unsigned who = __ballot_sync(~0u, part);
    if (!part)
        return;
    out[t] = atomicAdd(&bins[at], t + 1) != ~0u;
    atomicAdd(&sums[at / 2], (unsigned long long)t << 32);
    int x = 1000 * t;
    for (int width = 8; width <= 32; width *= 2) {
        int up = __shfl_up_sync(who, x, 3, width), down = __shfl_down_sync(who, x, 5, width);
        int other = __shfl_xor_sync(who, x, 6, width), at_3 = __shfl_sync(who, x, 3, width);
        int lane = t % 32, base = lane / width * width;
        bool has[] = {lane - 3 >= base, lane + 5 < base + width, true, true};
        int source[] = {lane - 3, lane + 5, lane ^ 6, base + 3}, got[] = {up, down, other, at_3};
        for (int n = 0; n < 4; n++)
            if (!has[n])
                out[t] &= got[n] == x;
            else if (who >> source[n] & 1)
                out[t] &= got[n] == 1000 * (t / 32 * 32 + source[n]);
    }
}

static void compare_exchange(int shape, int mask)
{
    unsigned *bins, expected[PLACES] = {};
    unsigned long long *sums, expected_sums[PLACES] = {};
    int *out;
    cudaMallocManaged(&bins, sizeof expected);
    cudaMallocManaged(&sums, sizeof expected_sums);
    cudaMallocManaged(&out, THREADS * sizeof *out);
    memset(bins, 0, sizeof expected);
    memset(sums, 0, sizeof expected_sums);
    exchange<<<1, THREADS>>>(bins, sums, shape, mask, out);
    cudaDeviceSynchronize();
    bool same = true;
    for (int n = 0; n < THREADS; n++)
        if (takes_part(mask, n)) {
            expected[place(shape, n)] += n + 1;
            expected_sums[place(shape, n) / 2] += (unsigned long long)n << 32;
            same &= out[n] == 1;
        }
    if (!same || memcmp(bins, expected, sizeof expected)
        || memcmp(sums, expected_sums, sizeof expected_sums)) {
        printf("shape %d, threads %d: exchanged another value\n", shape, mask);
        failed++;
    }
    cudaFree(bins);
    cudaFree(sums);
    cudaFree(out);
}

int main(int argc, char **)
{
    int more = argc > 1;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    for (int shape = 0; shape < SHAPES; shape++)
        for (int mask = 0; mask < MASKS; mask++) {
            compare<unsigned char>(shape, mask, more);
            compare<signed char>(shape, mask, more);
            compare<short>(shape, mask, more);
            compare<int>(shape, mask, more);
            compare<long long>(shape, mask, more);
            compare<int2>(shape, mask, more);
            compare<int4>(shape, mask, more);
            compare<longlong2>(shape, mask, more);
            compare_exchange(shape, mask);
        }
    printf("%d shapes, %d failed\n", SHAPES * MASKS * 9, failed);
    return failed > 0;
}
