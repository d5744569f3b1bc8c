// Products of matrices by a warp (wmma), of each type and shape and layout. The host computes what
// each element is. All numbers are small integers or halves, so every sum is exact.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdio>

using namespace nvcuda;

template <typename F, typename T, int M, int N, int K, typename A, typename B, typename S>
__global__ void product(const T *a, const T *b, const S *c, S *d, bool by_column)
{
    wmma::fragment<wmma::matrix_a, M, N, K, F, A> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, F, B> fb;
    wmma::fragment<wmma::accumulator, M, N, K, S> fc, sum;
    const bool row_a = std::is_same<A, wmma::row_major>::value;
    const bool row_b = std::is_same<B, wmma::row_major>::value;
    auto layout = by_column ? wmma::mem_col_major : wmma::mem_row_major;
    // The rows of memory are longer than the matrix.
    wmma::load_matrix_sync(fa, a, (row_a ? K : M) + 16);
    wmma::load_matrix_sync(fb, b, (row_b ? N : K) + 16);
    wmma::load_matrix_sync(fc, c, (by_column ? M : N) + 16, layout);
    wmma::fill_fragment(sum, S(0));
    wmma::mma_sync(sum, fa, fb, sum);
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] = sum.x[i] + fc.x[i];
    __shared__ S staged[64 * 64];
    wmma::store_matrix_sync(staged, sum, (by_column ? M : N) + 16, layout);
    __syncwarp();
    for (int i = threadIdx.x; i < (by_column ? N : M) * ((by_column ? M : N) + 16); i += 32)
        if (i % ((by_column ? M : N) + 16) < (by_column ? M : N))
            d[i] = staged[i];
}

static int wrong, tried;

template <typename F, typename T, int M, int N, int K, typename A, typename B, typename S>
static void check(const char *name, double unit)
{
    static T *a, *b;
    static S *c, *d;
    constexpr bool row_a = std::is_same<A, wmma::row_major>::value;
    constexpr bool row_b = std::is_same<B, wmma::row_major>::value;
    cudaMallocManaged(&a, 4096 * sizeof(T));
    cudaMallocManaged(&b, 4096 * sizeof(T));
    cudaMallocManaged(&c, 4096 * sizeof(S));
    cudaMallocManaged(&d, 4096 * sizeof(S));
    for (int by_column = 0; by_column < 2; by_column++) {
        int la = (row_a ? K : M) + 16, lb = (row_b ? N : K) + 16, lc = (by_column ? M : N) + 16;
        for (int i = 0; i < 4096; i++) {
            a[i] = T((float)((i * 7 % 13) - 6) * (float)unit);
            b[i] = T((float)((i * 5 % 11) - 5));
            c[i] = S((float)(i % 17));
            d[i] = S(0);
        }
        product<F, T, M, N, K, A, B, S><<<1, 32>>>(a, b, c, d, by_column);
        cudaError_t e = cudaDeviceSynchronize();
        int bad = e != cudaSuccess;
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = (double)(float)c[by_column ? j * lc + i : i * lc + j];
                for (int k = 0; k < K; k++)
                    sum += (double)(float)a[row_a ? i * la + k : k * la + i]
                         * (double)(float)b[row_b ? k * lb + j : j * lb + k];
                bad += (double)(float)d[by_column ? j * lc + i : i * lc + j] != sum;
            }
        tried++;
        if (bad) {
            printf("%s %dx%dx%d: %d wrong, %s\n", name, M, N, K, bad, cudaGetErrorName(e));
            wrong++;
        }
    }
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(d);
}

template <typename F, typename T, int M, int N, int K, typename S>
static void layouts(const char *name, double unit = 1)
{
    check<F, T, M, N, K, wmma::row_major, wmma::row_major, S>(name, unit);
    check<F, T, M, N, K, wmma::row_major, wmma::col_major, S>(name, unit);
    check<F, T, M, N, K, wmma::col_major, wmma::row_major, S>(name, unit);
    check<F, T, M, N, K, wmma::col_major, wmma::col_major, S>(name, unit);
}

template <typename F, typename T, typename S>
static void shapes(const char *name, double unit = 1)
{
    layouts<F, T, 16, 16, 16, S>(name, unit);
    layouts<F, T, 32, 8, 16, S>(name, unit);
    layouts<F, T, 8, 32, 16, S>(name, unit);
}

// tf32: what its 10 bits of fraction do not hold does not count.
__global__ void truncated(const float *a, const float *b, float *d)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::load_matrix_sync(fa, a, 8);
    wmma::load_matrix_sync(fb, b, 8);
    wmma::fill_fragment(sum, 0.0f);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

int main()
{
    shapes<half, half, float>("f16, f32", 0.5);
    shapes<half, half, half>("f16, f16", 0.5);
    shapes<__nv_bfloat16, __nv_bfloat16, float>("bf16", 0.5);
    layouts<wmma::precision::tf32, float, 16, 16, 8, float>("tf32", 0.25);
    layouts<double, double, 8, 8, 4, double>("f64", 0.125);
    shapes<signed char, signed char, int>("s8");
    float *m;
    cudaMallocManaged(&m, 1024 * sizeof(float));
    for (int i = 0; i < 128; i++)
        m[i] = 1.0009765625f + 1.0f / 4096, m[256 + i] = 1;
    truncated<<<1, 32>>>(m, m + 256, m + 512);
    cudaDeviceSynchronize();
    if (m[512] != 8 * 1.0009765625f)
        printf("tf32 of %.9g: %.9g\n", m[0], m[512]), wrong++;
    cudaFree(m);
    printf("%d products, %d wrong\n", tried, wrong);
    return wrong != 0;
}
