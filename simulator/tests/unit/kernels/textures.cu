// CUDA arrays, textures, and surfaces. The host computes each texel from the formulas of the
// programming guide (Texture Fetching) and counts what differs. What the documents leave open is
// printed, so that a GPU can settle it: lines that begin with "open:".
#include <cmath>
#include <functional>

#include "textures.h"

enum { N = 8, M = 4, K = 2, READS = 4096 };

static int cases;

static void done(const char *name, int reads, int wrong, double error = 0)
{
    cases++;
    wrong_cases += wrong != 0;
    printf("%s: %d read, %d wrong\n", name, reads, wrong);
    if (error)
        fprintf(stderr, "%s: the largest error is %g\n", name, error);
}

// ---- kernels ----

template <typename T, int D> __global__ void read(cudaTextureObject_t t, const float4 *at, T *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fetched<T, D>(t, at[i]);
}

template <int C> __global__ void gather(cudaTextureObject_t t, const float4 *at, float4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex2Dgather<float4>(t, at[i].x, at[i].y, C);
}

// ---- arrays and textures ----

static cudaTextureDesc desc(cudaTextureAddressMode mode, bool linear = false,
                            bool normalized = false,
                            cudaTextureReadMode reading = cudaReadModeElementType)
{
    cudaTextureDesc d = {};
    for (int i = 0; i < 3; i++)
        d.addressMode[i] = mode;
    d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    d.readMode = reading;
    d.normalizedCoords = normalized;
    return d;
}

// Reads at all coordinates. The result is valid until the next call.
template <typename T, int D> static const T *read_all(cudaTextureObject_t t)
{
    static T *out;
    if (!out) {
        MUST(cudaMallocManaged(&out, READS * sizeof(T)));
        kept.push_back(out);
    }
    memset((void *)out, 0x55, READS * sizeof(T));
    read<T, D><<<READS / 128, 128>>>(t, at, out);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    return out;
}

// Multiples of 1/32 around the texels in each direction; of `width` of them if normalized.
static void set_coordinates(double w, double h, double d, bool normalized, double step = 32)
{
    unsigned seed = 1;
    for (int i = 0; i < READS; i++) {
        double c[3], size[3] = {w, h, d};
        for (int n = 0; n < 3; n++) {
            seed = seed * 1664525u + 1013904223u;
            double at = floor((seed >> 8) / 16777216.0 * (3 * size[n] * step)) / step - size[n];
            c[n] = (at + 0.5 / step) / (normalized ? size[n] : 1);
        }
        at[i] = make_float4((float)c[0], (float)c[1], (float)c[2], 0);
    }
}

// ---- what the guide says ----

static int fold(int i, int size, cudaTextureAddressMode mode)
{
    if (mode == cudaAddressModeWrap)
        return ((i % size) + size) % size;
    if (mode == cudaAddressModeMirror) {
        i = ((i % (2 * size)) + 2 * size) % (2 * size);
        return i < size ? i : 2 * size - 1 - i;
    }
    if (mode == cudaAddressModeClamp)
        return i < 0 ? 0 : i >= size ? size - 1 : i;
    return i < 0 || i >= size ? -1 : i;
}

enum weights { NEAREST, TRUNCATED, EXACT };

struct guide {
    int w, h, d; // h and d are 1 if the texture has fewer dimensions.
    cudaTextureAddressMode mode;
    bool linear, normalized;
    std::function<double(int, int, int)> texel;
    weights how = NEAREST;
    double border = 0;
    double second = 0;        // A texture of one dimension is read here in the second one.
    double least = -INFINITY; // of a result

    static int share(int weight, int part) { return (weight * part + 128) / 256; }
    double one(int i, int j, int k) const
    {
        i = fold(i, w, mode), j = fold(j, h, mode), k = fold(k, d, mode);
        return i < 0 || j < 0 || k < 0 ? border : texel(i, j, k);
    }
    double fraction(double b) const
    {
        double a = b - floor(b);
        return how == EXACT ? a : (how == NEAREST ? floor(a * 256 + 0.5) : floor(a * 256)) / 256;
    }
    double operator()(double x, double y, double z) const
    {
        if (normalized)
            x *= w, y *= h, z *= d;
        if (!linear)
            return fmax(least,
                        one((int)floor(x), h > 1 ? (int)floor(y) : 0, d > 1 ? (int)floor(z) : 0));
        double b[3] = {x - 0.5, h > 1 ? y - 0.5 : second, d > 1 ? z - 0.5 : 0}, sum = 0;
        if (how == EXACT) // of one dimension
            return (1 - fraction(b[0])) * one((int)floor(b[0]), 0, 0)
                 + fraction(b[0]) * one((int)floor(b[0]) + 1, 0, 0);
        // A product of two weights is rounded, and the neighbor gets the rest.
        int part[3], weights[8];
        const int sizes[3] = {w, h, d};
        for (int m = 0; m < 3; m++) {
            if (mode == cudaAddressModeClamp)
                b[m] = fmin(fmax(b[m], 0), sizes[m] - 1);
            b[m] = floor(b[m]) + fraction(b[m]);
            part[m] = (int)((b[m] - floor(b[m])) * 256);
        }
        for (int far = 0; far < 2; far++) {
            int slice = far ? part[2] : 256 - part[2];
            int right = share(slice, part[0]), left = slice - right, *w = weights + 4 * far;
            w[3] = share(right, part[1]), w[1] = right - w[3];
            w[0] = share(left, 256 - part[1]), w[2] = left - w[0];
        }
        for (int n = 0; n < 8; n++)
            if (weights[n])
                sum += weights[n] / 256.0
                     * one((int)floor(b[0]) + (n & 1), (int)floor(b[1]) + (n >> 1 & 1),
                           (int)floor(b[2]) + (n >> 2));
        return fmax(sum, least);
    }
};

template <typename T> static double first(T v) { return (double)v; }
static double first(uchar4 v) { return v.x + 256.0 * v.y + 65536.0 * v.z + 16777216.0 * v.w; }
static double first(short2 v) { return v.x + 65536.0 * v.y; }
static double first(float2 v) { return v.x + 2.0 * v.y; }
static double first(float4 v) { return v.x + 2.0 * v.y + 4.0 * v.z + 8.0 * v.w; }
static double first(int4 v) { return v.x + 3.0 * v.y + 5.0 * v.z + 7.0 * v.w; }

template <typename T, int D>
static void compare(const char *name, cudaTextureObject_t t, const guide &g, double tolerance = 0)
{
    const T *out = read_all<T, D>(t);
    int wrong = 0;
    double error = 0;
    for (int i = 0; i < READS; i++) {
        double e = fabs(first(out[i]) - g(at[i].x, at[i].y, at[i].z));
        wrong += !(e <= tolerance);
        error = e > error ? e : error;
    }
    done(name, READS, wrong, error);
}

static const char *mode_name(cudaTextureAddressMode m)
{
    static const char *const names[] = {"wrap", "clamp", "mirror", "border"};
    return names[m];
}

// ---- cases ----

template <typename T, typename E> static T element(E i) { return (T)i; }
template <> uchar4 element<uchar4>(int i) { return make_uchar4(i, 255 - i, i * 3, i * 7); }
template <> short2 element<short2>(int i) { return make_short2(-i * 5, i * 11); }
template <> float4 element<float4>(int i) { return make_float4(i, -i, i * 0.5f, 2 * i); }
template <> int4 element<int4>(int i) { return make_int4(-i, i, i * 1000, 1 << 20); }

// Each type, unfiltered, in a 3D texture.
template <typename T> static void types(const char *name)
{
    std::vector<T> v(N * M * K);
    for (int i = 0; i < N * M * K; i++)
        v[i] = element<T>(i);
    cudaArray_t a = array_of(v.data(), N, M, K);
    for (auto mode : {cudaAddressModeClamp, cudaAddressModeBorder}) {
        cudaTextureObject_t t = texture_of(a, desc(mode));
        set_coordinates(N, M, K, false);
        char text[80];
        snprintf(text, sizeof text, "%s, 3D, %s", name, mode_name(mode));
        compare<T, 3>(text, t, {N, M, K, mode, false, false, [&](int i, int j, int k) {
                                    return first(v[(k * M + j) * N + i]);
                                }});
        MUST(cudaDestroyTextureObject(t));
    }
    MUST(cudaFreeArray(a));
}

static void halves()
{
    std::vector<__half> v(2 * N);
    for (int i = 0; i < 2 * N; i++)
        v[i] = __float2half(i % 2 ? 100.0f : (i - 5) * 0.3f + ldexpf(1, -i));
    v[6] = __float2half(ldexpf(3, -24));
    cudaArray_t a = nullptr;
    cudaChannelFormatDesc c = cudaCreateChannelDescHalf2();
    MUST(cudaMallocArray(&a, &c, N, 1));
    MUST(cudaMemcpy2DToArray(a, 0, 0, v.data(), 4 * N, 4 * N, 1, cudaMemcpyHostToDevice));
    auto texel = [&](int i, int, int) {
        return (double)__half2float(v[2 * i]) + 2.0 * __half2float(v[2 * i + 1]);
    };
    for (int linear = 0; linear < 2; linear++) {
        cudaTextureObject_t t = texture_of(a, desc(cudaAddressModeClamp, linear));
        set_coordinates(N, 1, 1, false);
        compare<float2, 2>(linear ? "halves, linear" : "halves", t,
                           {N, 1, 1, cudaAddressModeClamp, (bool)linear, false, texel},
                           linear ? 4e-3 : 0);
        MUST(cudaDestroyTextureObject(t));
    }
    MUST(cudaFreeArray(a));
}

// Integers that are read as fractions.
template <typename T> static void fractions(const char *name, double most)
{
    std::vector<T> v(256);
    const bool is_signed = (T)-1 < 0;
    for (int i = 0; i < 256; i++)
        v[i] = (T)(sizeof(T) == 1 ? i : i * 257 + 128);
    v[128] = is_signed ? (T)(-most - 1) : (T)most;
    cudaArray_t a = array_of(v.data(), 256, 0, 0);
    auto texel = [&](int i, int, int) { return v[i] / most; };
    guide g = {256, 1, 1, cudaAddressModeClamp, false, false, texel};
    g.least = -1;
    cudaTextureObject_t t =
        texture_of(a, desc(cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat));
    set_coordinates(256, 1, 1, false);
    compare<float, 1>(name, t, g, 1e-7);
    MUST(cudaDestroyTextureObject(t));
    char text[80];
    snprintf(text, sizeof text, "%s, linear", name);
    t = texture_of(a, desc(cudaAddressModeClamp, true, false, cudaReadModeNormalizedFloat));
    g.linear = true;
    compare<float, 1>(text, t, g, 4e-5);
    MUST(cudaDestroyTextureObject(t));
    MUST(cudaFreeArray(a));
}

static float values[N * M * K];
static double value(int i, int j, int k) { return values[(k * M + j) * N + i]; }

// Address modes of one to three dimensions, with and without filtering.
static void address_modes(bool linear, bool normalized)
{
    cudaArray_t a1 = array_of(values, N, 0, 0), a2 = array_of(values, N, M, 0);
    cudaArray_t a3 = array_of(values, N, M, K);
    for (int m = 0; m < 4; m++) {
        auto mode = (cudaTextureAddressMode)m, is = mode;
        // Documented: of other coordinates, these two are clamped.
        if (!normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
            is = cudaAddressModeClamp;
        char text[80];
        double tolerance = linear ? 1e-6 : 0;
        for (int d = 1; d <= 3; d++) {
            cudaTextureDesc td = desc(mode, linear, normalized);
            td.borderColor[0] = 3;
            cudaTextureObject_t t = texture_of(d == 1 ? a1 : d == 2 ? a2 : a3, td);
            set_coordinates(N, M, K, normalized);
            snprintf(text, sizeof text, "%s, %s, %dD, %s", linear ? "linear" : "nearest",
                     normalized ? "normalized" : "texels", d, mode_name(mode));
            guide g = {N, d > 1 ? M : 1, d > 2 ? K : 1, is, linear, normalized, value};
            g.border = 3;
            g.second = d == 1 && linear ? -0.5 : 0;
            if (d == 1)
                compare<float, 1>(text, t, g, tolerance);
            else if (d == 2)
                compare<float, 2>(text, t, g, tolerance);
            else
                compare<float, 3>(text, t, g, tolerance);
            MUST(cudaDestroyTextureObject(t));
        }
    }
    MUST(cudaFreeArray(a1));
    MUST(cudaFreeArray(a2));
    MUST(cudaFreeArray(a3));
}

// How a weight gets its eight bits.
static void weights_of_filters()
{
    float step[2] = {0, 1};
    cudaArray_t a = array_of(step, 2, 0, 0);
    cudaTextureObject_t t = texture_of(a, desc(cudaAddressModeClamp, true));
    for (int i = 0; i < READS; i++)
        at[i] = make_float4(0.5f + (float)i / READS, 0, 0, 0);
    const float *out = read_all<float, 1>(t);
    int wrong[3] = {}, multiples = 0;
    for (int i = 0; i < READS; i++) {
        multiples += out[i] * 256 == floorf(out[i] * 256);
        for (int how = 0; how < 3; how++) {
            guide g = {2,
                       1,
                       1,
                       cudaAddressModeClamp,
                       true,
                       false,
                       [&](int x, int, int) { return step[x]; },
                       (weights)how};
            wrong[how] += fabs(out[i] - g(at[i].x, 0, 0)) > 1e-6;
        }
    }
    printf("open: of %d weights, %d are multiples of 1/256; not as rounded to nearest %d, as "
           "truncated %d, as exact %d\n",
           READS, multiples, wrong[NEAREST], wrong[TRUNCATED], wrong[EXACT]);
    printf("open: weights at 1/512 + n/4096 of the way:");
    for (int n = -3; n <= 3; n++)
        printf(" %g", out[8 + n] * 256);
    printf(", at 3/512:");
    for (int n = -3; n <= 3; n++)
        printf(" %g", out[24 + n] * 256);
    printf(", at the end:");
    for (int n = -10; n < 0; n++)
        printf(" %g", out[READS + n] * 256);
    printf("\n");
    MUST(cudaDestroyTextureObject(t));
    // Far from the first texel.
    {
        const int width = 1000;
        std::vector<float> v(width);
        for (int i = 0; i < width; i++)
            v[i] = (float)(i * 17 % 2);
        cudaArray_t far = array_of(v.data(), width, 0, 0);
        t = texture_of(far, desc(cudaAddressModeClamp, true));
        unsigned seed = 3;
        for (int i = 0; i < READS; i++) {
            seed = seed * 1664525u + 1013904223u;
            at[i].x = (float)((seed >> 8) / 16777216.0 * width);
        }
        out = read_all<float, 1>(t);
        for (int how = 0; how < 3; how++) {
            guide g = {width,
                       1,
                       1,
                       cudaAddressModeClamp,
                       true,
                       false,
                       [&](int x, int, int) { return v[x]; },
                       (weights)how};
            wrong[how] = 0;
            for (int i = 0; i < READS; i++)
                wrong[how] += fabs(out[i] - g(at[i].x, 0, 0)) > 1e-6;
        }
        printf("open: %d texels: of %d weights not as rounded to nearest %d, as truncated %d, as "
               "exact %d\n",
               width, READS, wrong[NEAREST], wrong[TRUNCATED], wrong[EXACT]);
        MUST(cudaDestroyTextureObject(t));
        MUST(cudaFreeArray(far));
    }
    // Both directions at once: is the sum that of exact products?
    float corners[4] = {0, 0, 0, 1};
    cudaArray_t b = array_of(corners, 2, 2, 0);
    t = texture_of(b, desc(cudaAddressModeClamp, true));
    for (int i = 0; i < READS; i++)
        at[i] = make_float4(0.5f + (float)(i % 64 * 4 + 1) / 256,
                            0.5f + (float)(i / 64 * 4 + 3) / 256, 0, 0);
    out = read_all<float, 2>(t);
    int differ = 0;
    double error = 0;
    for (int i = 0; i < READS; i++) {
        double e = fabs(out[i] - (at[i].x - 0.5) * (at[i].y - 0.5));
        differ += e > 1e-7;
        error = fmax(error, e);
    }
    printf("open: of %d products of two weights, %d are not exact, by at most %.3g\n", READS,
           differ, error);
    MUST(cudaDestroyTextureObject(t));
    MUST(cudaFreeArray(a));
    MUST(cudaFreeArray(b));
}

// Where the next texel begins, without filtering; and coordinates that are no numbers.
static void borders_of_texels()
{
    cudaArray_t a = array_of(values, N, 0, 0);
    for (int normalized = 0; normalized < 2; normalized++) {
        cudaTextureObject_t t = texture_of(a, desc(cudaAddressModeClamp, false, normalized));
        for (int i = 0; i < READS; i++)
            at[i] = make_float4(0, 0, 0, 0);
        for (int i = 4; i <= 24; i++)
            at[i].x = (float)((3 - ldexp(1, -i)) / (normalized ? N : 1));
        at[25].x = NAN, at[26].x = INFINITY, at[27].x = -INFINITY, at[28].x = 1e20f;
        const float *out = read_all<float, 1>(t);
        printf("open: 3 - 2^-n is in texel 3 for n =");
        for (int i = 4; i <= 24; i++)
            if (out[i] == values[3])
                printf(" %d", i);
        printf("; texels of nan, inf, -inf, 1e20:");
        for (int i = 25; i <= 28; i++)
            for (int x = 0; x < N; x++)
                if (out[i] == values[x])
                    printf(" %d", x);
        printf("\n");
        MUST(cudaDestroyTextureObject(t));
    }
    MUST(cudaFreeArray(a));
}

static void layers()
{
    cudaArray_t a = array_of(values, N, M, K, cudaArrayLayered);
    for (int linear = 0; linear < 2; linear++) {
        cudaTextureObject_t t = texture_of(a, desc(cudaAddressModeClamp, linear));
        set_coordinates(N, M, K, false);
        int wrong = 0;
        for (int i = 0; i < READS; i++)
            at[i].w = (float)(i % K);
        const float *out = read_all<float, 12>(t);
        for (int i = 0; i < READS; i++) {
            guide g = {N, M, 1, cudaAddressModeClamp, (bool)linear, false, [&](int x, int y, int) {
                           return value(x, y, i % K);
                       }};
            wrong += fabs(out[i] - g(at[i].x, at[i].y, 0)) > (linear ? 4e-3 : 0);
        }
        done(linear ? "layers, 2D, linear" : "layers, 2D", READS, wrong);
        for (int i = 0; i < 4; i++)
            at[i] = make_float4(2.5f, 1.5f, 0, (float)(i < 2 ? -1 - i * 1000 : K - 2 + i));
        out = read_all<float, 12>(t);
        printf("open: layers -1, -1001, %d, %d are", K, K + 1);
        for (int i = 0; i < 4; i++)
            printf(" %s", out[i] == (float)value(2, 1, 0)       ? "the first"
                          : out[i] == (float)value(2, 1, K - 1) ? "the last"
                          : out[i] == 0                         ? "zero"
                                                                : "else");
        printf("\n");
        MUST(cudaDestroyTextureObject(t));
    }
    MUST(cudaFreeArray(a));
    a = array_of(values, N, 0, M * K, cudaArrayLayered);
    cudaTextureObject_t t = texture_of(a, desc(cudaAddressModeClamp));
    set_coordinates(N, M, K, false);
    for (int i = 0; i < READS; i++)
        at[i].w = (float)(i % (M * K));
    const float *out = read_all<float, 11>(t);
    int wrong = 0;
    for (int i = 0; i < READS; i++)
        wrong +=
            out[i] != values[i % (M * K) * N + fold((int)floor(at[i].x), N, cudaAddressModeClamp)];
    done("layers, 1D", READS, wrong);
    MUST(cudaDestroyTextureObject(t));
    MUST(cudaFreeArray(a));
}

// The guide's table: the face, and s, t, m of a direction.
static int face_of(float x, float y, float z, double *s, double *t)
{
    double ax = fabs(x), ay = fabs(y), az = fabs(z), m, u, v;
    int face;
    if (ax >= ay && ax >= az)
        face = x < 0, m = ax, u = x < 0 ? z : -z, v = -y;
    else if (ay >= ax && ay >= az)
        face = 2 + (y < 0), m = ay, u = x, v = y < 0 ? -z : z;
    else
        face = 4 + (z < 0), m = az, u = z < 0 ? -x : x, v = -y;
    *s = (u / m + 1) / 2;
    *t = (v / m + 1) / 2;
    return face;
}

static void cubes()
{
    static float cube[2 * 6 * 4 * 4];
    for (int i = 0; i < 2 * 6 * 16; i++)
        cube[i] = (float)(i * i % 1009);
    cudaArray_t one = array_of(cube, 4, 4, 6, cudaArrayCubemap);
    cudaArray_t two = array_of(cube, 4, 4, 12, cudaArrayCubemap | cudaArrayLayered);
    // Directions whose greatest part is clear, and far from where texels meet.
    unsigned seed = 7;
    for (int i = 0; i < READS; i++) {
        double s, t;
        do {
            float c[3];
            for (int n = 0; n < 3; n++) {
                seed = seed * 1664525u + 1013904223u;
                c[n] = (float)((int)(seed >> 16) % 2001 - 1000) / 700;
            }
            at[i] = make_float4(c[0], c[1], c[2], (float)(i % 2));
            face_of(c[0], c[1], c[2], &s, &t);
        } while (!(s > 0.01 && s < 0.99 && t > 0.01 && t < 0.99 && fabs(s * 4 - round(s * 4)) > 0.02
                   && fabs(t * 4 - round(t * 4)) > 0.02));
    }
    for (int linear = 0; linear < 2; linear++) {
        int wrong = 0, of_layers = 0, inside = 0;
        cudaTextureObject_t t1 = texture_of(one, desc(cudaAddressModeClamp, linear, true));
        cudaTextureObject_t t2 = texture_of(two, desc(cudaAddressModeClamp, linear, true));
        const float *out = read_all<float, 6>(t1);
        std::vector<float> single(out, out + READS);
        out = read_all<float, 16>(t2);
        for (int i = 0; i < READS; i++) {
            double s, t;
            int face = face_of(at[i].x, at[i].y, at[i].z, &s, &t);
            if (linear && !(s > 0.13 && s < 0.87 && t > 0.13 && t < 0.87))
                continue;
            inside++;
            for (int layer = 0; layer < 2; layer++) {
                guide g = {
                    4, 4, 1, cudaAddressModeClamp, (bool)linear, true, [&](int x, int y, int) {
                        return cube[((layer * 6 + face) * 4 + y) * 4 + x];
                    }};
                double tolerance = linear ? 8 : 0;
                if (!layer)
                    wrong += fabs(single[i] - g(s, t, 0)) > tolerance;
                if (layer == i % 2)
                    of_layers += fabs(out[i] - g(s, t, 0)) > tolerance;
            }
        }
        done(linear ? "cubes, linear" : "cubes", inside, wrong);
        done(linear ? "layers of cubes, linear" : "layers of cubes", inside, of_layers);
        MUST(cudaDestroyTextureObject(t1));
        MUST(cudaDestroyTextureObject(t2));
    }
    // Directions in the middle of an edge or a corner: the face is printed.
    static float faces[6 * 4 * 4];
    for (int i = 0; i < 6 * 16; i++)
        faces[i] = (float)(i / 16);
    cudaArray_t of_faces = array_of(faces, 4, 4, 6, cudaArrayCubemap);
    cudaTextureObject_t f = texture_of(of_faces, desc(cudaAddressModeClamp, false, true));
    const int ties[][3] = {{1, 1, 0},  {1, -1, 0}, {-1, 1, 0},  {1, 0, 1},    {-1, 0, 1},
                           {0, 1, 1},  {0, -1, 1}, {0, 1, -1},  {1, 1, 1},    {-1, 1, 1},
                           {1, -1, 1}, {1, 1, -1}, {-1, -1, 1}, {-1, -1, -1}, {0, 0, 0}};
    const int tie_count = sizeof ties / sizeof *ties;
    for (int i = 0; i < tie_count; i++)
        at[i] = make_float4((float)ties[i][0], (float)ties[i][1], (float)ties[i][2], 0);
    const float *tied = read_all<float, 6>(f);
    printf("open: faces of directions between two:");
    for (int i = 0; i < tie_count; i++)
        printf(" (%d,%d,%d) %g", ties[i][0], ties[i][1], ties[i][2], tied[i]);
    printf("\n");
    MUST(cudaDestroyTextureObject(f));
    MUST(cudaFreeArray(of_faces));
    // At the edge of a face: does filtering look at the neighbor?
    cudaTextureObject_t edge = texture_of(one, desc(cudaAddressModeClamp, true, true));
    at[0] = make_float4(1, 0.25f, 0.999f, 0);
    printf("open: at the edge of a face: %.6g; the texel there is %g\n", *read_all<float, 6>(edge),
           cube[4]);
    MUST(cudaDestroyTextureObject(edge));
    MUST(cudaFreeArray(one));
    MUST(cudaFreeArray(two));
}

static void linear_memory()
{
    const int n = 1000;
    float *p;
    MUST(cudaMallocManaged(&p, n * sizeof *p));
    for (int i = 0; i < n; i++)
        p[i] = 7 + (float)i;
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = p;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = n * sizeof *p;
    cudaTextureDesc d = desc(cudaAddressModeClamp);
    cudaTextureObject_t t = 0;
    MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
    for (int i = 0; i < READS; i++)
        at[i] = make_float4((float)(i * 31 % n), 0, 0, 0);
    const float *out = read_all<float, 0>(t);
    int wrong = 0;
    for (int i = 0; i < READS; i++)
        wrong += out[i] != p[i * 31 % n];
    done("linear memory", READS, wrong);
    at[0].x = -1, at[1].x = n, at[2].x = n + 100, at[3].x = -1000;
    out = read_all<float, 0>(t);
    printf("open: linear memory outside: %g %g %g %g\n", out[0], out[1], out[2], out[3]);
    MUST(cudaDestroyTextureObject(t));
    // Integers, as fractions and as they are.
    unsigned char *bytes = (unsigned char *)p;
    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 7);
    r.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    r.res.linear.sizeInBytes = n;
    MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
    for (int i = 0; i < READS; i++)
        at[i] = make_float4((float)(i * 31 % (n / 4)), 0, 0, 0);
    const uchar4 *fours = read_all<uchar4, 0>(t);
    wrong = 0;
    for (int i = 0; i < READS; i++)
        wrong += memcmp(&fours[i], bytes + 4 * (i * 31 % (n / 4)), 4) != 0;
    done("linear memory, uchar4", READS, wrong);
    MUST(cudaDestroyTextureObject(t));
    MUST(cudaFree(p));
}

static void pitched_memory()
{
    char *p;
    size_t pitch;
    MUST(cudaMallocPitch(&p, &pitch, N * sizeof(float), M));
    MUST(cudaMemcpy2D(p, pitch, values, N * sizeof(float), N * sizeof(float), M,
                      cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    r.res.pitch2D.width = N;
    r.res.pitch2D.height = M;
    r.res.pitch2D.pitchInBytes = pitch;
    for (int kind = 0; kind < 4; kind++) {
        const bool linear = kind & 1, normalized = kind & 2;
        auto mode = normalized ? cudaAddressModeWrap : cudaAddressModeClamp;
        cudaTextureDesc d = desc(mode, linear, normalized);
        cudaTextureObject_t t = 0;
        MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
        set_coordinates(N, M, 1, normalized);
        char text[80];
        snprintf(text, sizeof text, "pitched memory, %s, %s", linear ? "linear" : "nearest",
                 mode_name(mode));
        compare<float, 2>(text, t, {N, M, 1, mode, linear, normalized, value}, linear ? 4e-3 : 0);
        MUST(cudaDestroyTextureObject(t));
    }
    MUST(cudaFree(p));
}

// Channels that an array does not have, and borders of integers.
static void channels()
{
    for (int i = 0; i < READS; i++)
        at[i] = make_float4(2.5f, 1.5f, 0, 0);
    cudaArray_t a = array_of(values, N, M, 0);
    cudaTextureObject_t t = texture_of(a, desc(cudaAddressModeClamp));
    const float4 *four = read_all<float4, 2>(t);
    printf("open: missing channels of floats: %g %g %g", four->y, four->z, four->w);
    MUST(cudaDestroyTextureObject(t));
    MUST(cudaFreeArray(a));
    std::vector<unsigned char> bytes(N * M, 9);
    a = array_of(bytes.data(), N, M, 0);
    t = texture_of(a, desc(cudaAddressModeClamp));
    const uchar4 *small = read_all<uchar4, 2>(t);
    printf("; of bytes: %d %d %d", small->y, small->z, small->w);
    MUST(cudaDestroyTextureObject(t));
    for (int fraction = 0; fraction < 2; fraction++) {
        cudaTextureDesc d = desc(cudaAddressModeBorder, false, false,
                                 fraction ? cudaReadModeNormalizedFloat : cudaReadModeElementType);
        d.borderColor[0] = 3;
        t = texture_of(a, d);
        at[0].x = -1;
        if (fraction)
            printf("; read as fractions %g\n", *read_all<float, 2>(t));
        else
            printf("; the border 3 of bytes: %u", *read_all<unsigned, 2>(t));
        MUST(cudaDestroyTextureObject(t));
    }
    MUST(cudaFreeArray(a));
}

static void other_reads()
{
    cudaArray_t a = array_of(values, N, M, 0, cudaArrayTextureGather);
    cudaTextureObject_t t = texture_of(a, desc(cudaAddressModeClamp, true));
    set_coordinates(N, M, 1, false);
    guide g = {N, M, 1, cudaAddressModeClamp, true, false, value};
    compare<float, 22>("level 0", t, g, 4e-3);
    compare<float, 32>("gradients of one level", t, g, 4e-3);
    MUST(cudaDestroyTextureObject(t));
    t = texture_of(a, desc(cudaAddressModeClamp));
    float4 *four;
    MUST(cudaMallocManaged(&four, READS * sizeof *four));
    gather<0><<<READS / 128, 128>>>(t, at, four);
    MUST(cudaDeviceSynchronize());
    int wrong = 0;
    for (int i = 0; i < READS; i++) {
        int x = (int)floor(at[i].x - 0.5), y = (int)floor(at[i].y - 0.5);
        guide n = {N, M, 1, cudaAddressModeClamp, false, false, value};
        wrong += four[i].x != (float)n.one(x, y + 1, 0)
              || four[i].y != (float)n.one(x + 1, y + 1, 0)
              || four[i].z != (float)n.one(x + 1, y, 0) || four[i].w != (float)n.one(x, y, 0);
    }
    done("gather", READS, wrong);
    MUST(cudaDestroyTextureObject(t));
    MUST(cudaFree(four));
    MUST(cudaFreeArray(a));
}

// ---- surfaces ----

__global__ void surface_2d(cudaSurfaceObject_t s, cudaSurfaceObject_t other)
{
    int x = threadIdx.x, y = threadIdx.y;
    float v = surf2Dread<float>(s, x * 4, y);
    surf2Dwrite(v * 2 + 1, other, (N - 1 - x) * 4, y);
}
__global__ void surface_outside(cudaSurfaceObject_t s, float *out)
{
    out[0] = surf2Dread<float>(s, -4, 0, cudaBoundaryModeZero);
    out[1] = surf2Dread<float>(s, N * 4, 1, cudaBoundaryModeZero);
    out[2] = surf2Dread<float>(s, 0, M, cudaBoundaryModeZero);
    out[3] = surf2Dread<float>(s, -4, 0, cudaBoundaryModeClamp);
    out[4] = surf2Dread<float>(s, N * 4, 1, cudaBoundaryModeClamp);
    out[5] = surf2Dread<float>(s, 4, M + 3, cudaBoundaryModeClamp);
    surf2Dwrite(1000.0f, s, -4, 0, cudaBoundaryModeZero);
    surf2Dwrite(1000.0f, s, 0, M, cudaBoundaryModeZero);
    surf2Dwrite(2000.0f, s, N * 4 + 8, 2, cudaBoundaryModeClamp);
}
__global__ void surfaces_3d(cudaSurfaceObject_t s, cudaSurfaceObject_t layered,
                            cudaSurfaceObject_t line, cudaSurfaceObject_t bytes)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    float v = surf3Dread<float>(s, x * 4, y, z);
    surf2DLayeredwrite(v + 1, layered, x * 4, y, z);
    if (!y && !z)
        surf1Dwrite(make_float4(x, 2 * x, 3 * x, v), line, x * 16);
    if (!z)
        surf2Dwrite((unsigned char)(x + 16 * y), bytes, x, y);
}
__global__ void surface_trap(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, N * 4, 0); }

static cudaSurfaceObject_t surface_of(cudaArray_t a)
{
    cudaResourceDesc r = {};
    cudaSurfaceObject_t s = 0;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    MUST(cudaCreateSurfaceObject(&s, &r));
    return s;
}

template <typename T> static std::vector<T> back(cudaArray_t a, size_t w, size_t h, size_t d)
{
    std::vector<T> v(w * h * d);
    cudaMemcpy3DParms p = {};
    p.srcArray = a;
    p.dstPtr = make_cudaPitchedPtr(v.data(), w * sizeof(T), w, h);
    p.extent = make_cudaExtent(w, h, d);
    p.kind = cudaMemcpyDeviceToHost;
    MUST(cudaMemcpy3D(&p));
    return v;
}

static void surfaces()
{
    cudaArray_t a = array_of(values, N, M, 0, cudaArraySurfaceLoadStore);
    cudaArray_t b = array_of(values, N, M, 0, cudaArraySurfaceLoadStore);
    cudaSurfaceObject_t s = surface_of(a), other = surface_of(b);
    surface_2d<<<1, dim3(N, M)>>>(s, other);
    MUST(cudaDeviceSynchronize());
    std::vector<float> v = back<float>(b, N, M, 1);
    int wrong = 0;
    for (int i = 0; i < N * M; i++)
        wrong += v[i] != (float)(value(N - 1 - i % N, i / N, 0) * 2 + 1);
    done("surfaces, 2D", N * M, wrong);
    float *out;
    MUST(cudaMallocManaged(&out, 8 * sizeof *out));
    surface_outside<<<1, 1>>>(s, out);
    MUST(cudaDeviceSynchronize());
    wrong = out[0] != 0 || out[1] != 0 || out[2] != 0 || out[3] != (float)value(0, 0, 0)
         || out[4] != (float)value(N - 1, 1, 0) || out[5] != (float)value(1, M - 1, 0);
    v = back<float>(a, N, M, 1);
    for (int i = 0; i < N * M; i++)
        wrong += v[i] != (i == 3 * N - 1 ? 2000.0f : values[i]);
    done("surfaces, outside", N * M + 6, wrong);
    MUST(cudaDestroySurfaceObject(s));
    MUST(cudaDestroySurfaceObject(other));
    MUST(cudaFree(out));
    MUST(cudaFreeArray(a));
    MUST(cudaFreeArray(b));

    std::vector<float4> lines(N);
    std::vector<unsigned char> small(N * M);
    cudaArray_t c[4] = {array_of(values, N, M, K, cudaArraySurfaceLoadStore),
                        array_of(values, N, M, K, cudaArraySurfaceLoadStore | cudaArrayLayered),
                        array_of(lines.data(), N, 0, 0, cudaArraySurfaceLoadStore),
                        array_of(small.data(), N, M, 0, cudaArraySurfaceLoadStore)};
    cudaSurfaceObject_t o[4];
    for (int i = 0; i < 4; i++)
        o[i] = surface_of(c[i]);
    surfaces_3d<<<1, dim3(N, M, K)>>>(o[0], o[1], o[2], o[3]);
    MUST(cudaDeviceSynchronize());
    v = back<float>(c[1], N, M, K);
    lines = back<float4>(c[2], N, 1, 1);
    small = back<unsigned char>(c[3], N, M, 1);
    wrong = 0;
    for (int i = 0; i < N * M * K; i++)
        wrong += v[i] != values[i] + 1;
    for (int i = 0; i < N; i++)
        wrong += lines[i].x != i || lines[i].y != 2 * i || lines[i].w != values[i];
    for (int i = 0; i < N * M; i++)
        wrong += small[i] != i % N + 16 * (i / N);
    done("surfaces, 3D, layers, 1D, bytes", N * M * K + N + N * M, wrong);
    for (int i = 0; i < 4; i++) {
        MUST(cudaDestroySurfaceObject(o[i]));
        MUST(cudaFreeArray(c[i]));
    }
}

// ---- copies ----

static void copies()
{
    const size_t row = N * sizeof(float);
    cudaArray_t a, b;
    cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
    MUST(cudaMallocArray(&a, &c, N, M));
    MUST(cudaMallocArray(&b, &c, N, M));
    std::vector<float> zeros(N * M), want(N * M), got(N * M);
    MUST(cudaMemcpy2DToArray(a, 0, 0, zeros.data(), row, row, M, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy2DToArray(b, 0, 0, zeros.data(), row, row, M, cudaMemcpyHostToDevice));
    // A part of 3 x 2 at (2, 1).
    MUST(cudaMemcpy2DToArray(a, 8, 1, values, row, 12, 2, cudaMemcpyHostToDevice));
    // The same from there to (4, 2) of the other.
    MUST(cudaMemcpy2DArrayToArray(b, 16, 2, a, 8, 1, 12, 2));
    MUST(cudaMemcpy2DFromArray(got.data(), row, b, 0, 0, row, M, cudaMemcpyDeviceToHost));
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 3; i++)
            want[(2 + j) * N + 4 + i] = values[j * N + i];
    int wrong = 0;
    for (int i = 0; i < N * M; i++)
        wrong += got[i] != want[i];
    done("copies, 2D", N * M, wrong);
    // Bytes that go on in the next row: from element 5 of row 0 on, and back.
    const size_t part = 13 * sizeof(float);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    MUST(cudaMemcpyToArray(a, 20, 0, values, part, cudaMemcpyHostToDevice));
    MUST(cudaMemcpyArrayToArray(b, 4, 1, a, 20, 0, part));
    MUST(cudaMemcpyFromArray(got.data(), b, 4, 1, part, cudaMemcpyDeviceToHost));
#pragma GCC diagnostic pop
    wrong = 0;
    for (int i = 0; i < 13; i++)
        wrong += got[i] != values[i];
    MUST(cudaMemcpy2DFromArray(got.data(), row, b, 0, 0, row, M, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 13; i++)
        wrong += got[N + 1 + i] != values[i];
    done("copies across rows", 26, wrong);
    cudaStream_t s;
    float *pinned, *device;
    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocHost(&pinned, 2 * N * M * sizeof(float)));
    MUST(cudaMalloc(&device, N * M * sizeof(float)));
    memcpy(pinned, values, N * M * sizeof(float));
    MUST(cudaMemcpyAsync(device, pinned, N * M * sizeof(float), cudaMemcpyHostToDevice, s));
    MUST(cudaMemcpy2DToArrayAsync(a, 0, 0, device, row, row, M, cudaMemcpyDeviceToDevice, s));
    MUST(cudaMemcpy2DFromArrayAsync(pinned + N * M, row, a, 0, 0, row, M, cudaMemcpyDeviceToHost,
                                    s));
    MUST(cudaStreamSynchronize(s));
    wrong = 0;
    for (int i = 0; i < N * M; i++)
        wrong += pinned[N * M + i] != values[i];
    done("copies in a stream", N * M, wrong);
    MUST(cudaFreeHost(pinned));
    MUST(cudaFree(device));
    MUST(cudaStreamDestroy(s));
    // Between 3D arrays, with a part of each.
    cudaArray_t p = array_of(values, N, M, K), q = array_of(values, N, M, K);
    cudaMemcpy3DParms m = {};
    m.srcArray = p;
    m.srcPos = make_cudaPos(1, 1, 0);
    m.dstArray = q;
    m.dstPos = make_cudaPos(3, 0, 1);
    m.extent = make_cudaExtent(4, 2, 1);
    m.kind = cudaMemcpyDeviceToDevice;
    MUST(cudaMemcpy3D(&m));
    std::vector<float> v = back<float>(q, N, M, K);
    wrong = 0;
    for (int k = 0; k < K; k++)
        for (int j = 0; j < M; j++)
            for (int i = 0; i < N; i++) {
                bool in = k == 1 && j < 2 && i >= 3 && i < 7;
                wrong +=
                    v[(k * M + j) * N + i] != (float)(in ? value(i - 2, j + 1, 0) : value(i, j, k));
            }
    done("copies, 3D", N * M * K, wrong);
    cudaChannelFormatDesc d;
    cudaExtent e;
    unsigned flags;
    MUST(cudaArrayGetInfo(&d, &e, &flags, q));
    printf("an array of %d+%d+%d+%d bits, kind %d: %zu x %zu x %zu, flags %u\n", d.x, d.y, d.z, d.w,
           d.f, e.width, e.height, e.depth, flags);
    MUST(cudaArrayGetInfo(&d, &e, &flags, a));
    printf("an array of two dimensions: %zu x %zu x %zu\n", e.width, e.height, e.depth);
    MUST(cudaGetChannelDesc(&d, q));
    printf("its channel: %d+%d+%d+%d bits, kind %d\n", d.x, d.y, d.z, d.w, d.f);
    MUST(cudaFreeArray(a));
    MUST(cudaFreeArray(b));
    MUST(cudaFreeArray(p));
    MUST(cudaFreeArray(q));
}

// ---- errors ----

static void say(const char *what, cudaError_t e)
{
    printf("open: %s: %s\n", what, cudaGetErrorName(e));
    cudaGetLastError();
}

static void errors()
{
    cudaChannelFormatDesc c = cudaCreateChannelDesc<float>(),
                          odd = {32, 32, 32, 0, cudaChannelFormatKindFloat};
    cudaArray_t a = nullptr, b = nullptr;
    say("width 0", cudaMallocArray(&a, &c, 0, 4));
    say("three channels", cudaMallocArray(&a, &odd, 4, 4));
    say("no array", cudaMallocArray(nullptr, &c, 4, 4));
    say("no channel", cudaMallocArray(&a, nullptr, 4, 4));
    say("an unknown flag", cudaMallocArray(&a, &c, 4, 4, 1u << 20));
    say("too wide", cudaMallocArray(&a, &c, 1 << 20, 4));
    say("a cube of 4 x 5", cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 5, 6), cudaArrayCubemap));
    say("a cube of 5 faces", cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 5), cudaArrayCubemap));
    say("height 0, depth 4", cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 0, 4), 0));
    say("no layers", cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 0), cudaArrayLayered));
    say("a cube without depth",
        cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 0), cudaArrayCubemap));
    say("gather of 3D",
        cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 4), cudaArrayTextureGather));
    cudaChannelFormatDesc uneven = {8, 16, 0, 0, cudaChannelFormatKindUnsigned};
    cudaChannelFormatDesc none = {0, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaChannelFormatDesc wide = {64, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaChannelFormatDesc float8 = {8, 0, 0, 0, cudaChannelFormatKindFloat};
    say("channels of 8 and 16 bits", cudaMallocArray(&a, &uneven, 4, 4));
    say("no bits", cudaMallocArray(&a, &none, 4, 4));
    say("channels of 64 bits", cudaMallocArray(&a, &wide, 4, 4));
    say("floats of 8 bits", cudaMallocArray(&a, &float8, 4, 4));
    say("a null array is freed", cudaFreeArray(nullptr));
    MUST(cudaMallocArray(&a, &c, 4, 4));
    float host[64] = {};
    say("a copy beyond the row",
        cudaMemcpy2DToArray(a, 4, 0, host, 16, 16, 4, cudaMemcpyHostToDevice));
    say("a copy beyond the last row",
        cudaMemcpy2DToArray(a, 0, 1, host, 16, 16, 4, cudaMemcpyHostToDevice));
    say("a copy of half an element",
        cudaMemcpy2DToArray(a, 2, 0, host, 16, 2, 1, cudaMemcpyHostToDevice));
    say("a copy to the host's kind",
        cudaMemcpy2DToArray(a, 0, 0, host, 16, 16, 4, cudaMemcpyDeviceToHost));
    say("a copy of no bytes", cudaMemcpy2DToArray(a, 0, 0, host, 16, 0, 4, cudaMemcpyHostToDevice));
    say("a copy with a small pitch",
        cudaMemcpy2DToArray(a, 0, 0, host, 8, 16, 4, cudaMemcpyHostToDevice));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(host, 16, 4, 4);
    p.dstArray = a;
    p.dstPtr = p.srcPtr;
    p.extent = make_cudaExtent(4, 4, 1);
    p.kind = cudaMemcpyHostToDevice;
    cudaArray_t other = nullptr, three = nullptr;
    cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
    MUST(cudaMallocArray(&other, &shorts, 8, 4));
    MUST(cudaMalloc3DArray(&three, &c, make_cudaExtent(4, 4, 2), 0));
    say("rows from floats to shorts", cudaMemcpy2DArrayToArray(other, 0, 0, a, 0, 0, 16, 4));
    say("rows to an array of 3D",
        cudaMemcpy2DToArray(three, 0, 0, host, 16, 16, 4, cudaMemcpyHostToDevice));
    cudaMemcpy3DParms between = {};
    between.srcArray = a;
    between.dstArray = other;
    between.extent = make_cudaExtent(4, 4, 1);
    between.kind = cudaMemcpyDeviceToDevice;
    say("elements from floats to shorts", cudaMemcpy3D(&between));
    MUST(cudaFreeArray(other));
    MUST(cudaFreeArray(three));
    say("a copy with two destinations", cudaMemcpy3D(&p));
    p.dstPtr = {};
    p.srcPtr.pitch = 8;
    say("a 3D copy with a small pitch", cudaMemcpy3D(&p));
    p.srcPtr.pitch = 16;
    p.extent = make_cudaExtent(4, 4, 0);
    say("a copy of depth 0", cudaMemcpy3D(&p));
    p.extent = make_cudaExtent(4, 4, 2);
    say("a copy of two slices into one", cudaMemcpy3D(&p));

    cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    MUST(cudaMallocArray(&b, &bytes, 4, 4));
    cudaResourceDesc r = {};
    cudaTextureObject_t t = 0;
    cudaTextureDesc d = desc(cudaAddressModeClamp, true);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = b;
    say("filtered integers", cudaCreateTextureObject(&t, &r, &d, nullptr));
    r.res.array.array = a;
    d = desc(cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat);
    say("floats as fractions", cudaCreateTextureObject(&t, &r, &d, nullptr));
    d = desc(cudaAddressModeClamp);
    say("no texture", cudaCreateTextureObject(nullptr, &r, &d, nullptr));
    say("no texture description", cudaCreateTextureObject(&t, &r, nullptr, nullptr));
    r.res.array.array = nullptr;
    say("a texture of no array", cudaCreateTextureObject(&t, &r, &d, nullptr));
    float *q;
    MUST(cudaMalloc(&q, 4096));
    r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = (char *)q + 4;
    r.res.linear.desc = c;
    r.res.linear.sizeInBytes = 64;
    say("linear memory from byte 4 on", cudaCreateTextureObject(&t, &r, &d, nullptr));
    r.res.linear.devPtr = nullptr;
    say("linear memory at NULL", cudaCreateTextureObject(&t, &r, &d, nullptr));
    r.res.linear.devPtr = q;
    d.filterMode = cudaFilterModeLinear;
    say("filtered linear memory", cudaCreateTextureObject(&t, &r, &d, nullptr));
    d.filterMode = cudaFilterModePoint;
    r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = q;
    r.res.pitch2D.desc = c;
    r.res.pitch2D.width = 4;
    r.res.pitch2D.height = 4;
    r.res.pitch2D.pitchInBytes = 20;
    say("a pitch of 20", cudaCreateTextureObject(&t, &r, &d, nullptr));
    r.res.pitch2D.pitchInBytes = 32;
    say("a pitch of 32", cudaCreateTextureObject(&t, &r, &d, nullptr));
    r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    cudaSurfaceObject_t s = 0;
    say("a surface of an array without the flag", cudaCreateSurfaceObject(&s, &r));
    d = desc(cudaAddressModeClamp);
    MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
    say("the surface of a texture", cudaGetSurfaceObjectResourceDesc(&r, t));
    MUST(cudaDestroyTextureObject(t));
    say("texture 0 is destroyed", cudaDestroyTextureObject(0));
    say("surface 0 is destroyed", cudaDestroySurfaceObject(0));
    MUST(cudaFree(q));
    MUST(cudaFreeArray(a));
    MUST(cudaFreeArray(b));
    int value;
    cudaDeviceGetAttribute(&value, cudaDevAttrTextureAlignment, 0);
    printf("open: texture alignment %d", value);
    cudaDeviceGetAttribute(&value, cudaDevAttrTexturePitchAlignment, 0);
    printf(", of pitches %d", value);
    cudaDeviceGetAttribute(&value, cudaDevAttrSurfaceAlignment, 0);
    printf(", of surfaces %d\n", value);
    // The last, because it ends the device.
    MUST(cudaMallocArray(&a, &c, N, M, cudaArraySurfaceLoadStore));
    s = surface_of(a);
    surface_trap<<<1, 1>>>(s);
    say("a surface write outside that traps", cudaDeviceSynchronize());
}

int main(int argc, char **)
{
    MUST(cudaMallocManaged(&at, READS * sizeof *at));
    for (int i = 0; i < N * M * K; i++)
        values[i] = (float)((i * 37 % 64) / 64.0 + i % 3 * 0.25);
    types<unsigned char>("unsigned char");
    types<signed char>("signed char");
    types<unsigned short>("unsigned short");
    types<short>("short");
    types<unsigned>("unsigned");
    types<int>("int");
    types<float>("float");
    types<uchar4>("uchar4");
    types<short2>("short2");
    types<float4>("float4");
    types<int4>("int4");
    halves();
    fractions<unsigned char>("fractions of unsigned char", 255);
    fractions<signed char>("fractions of signed char", 127);
    fractions<unsigned short>("fractions of unsigned short", 65535);
    fractions<short>("fractions of short", 32767);
    for (int kind = 0; kind < 4; kind++)
        address_modes(kind & 1, kind & 2);
    layers();
    cubes();
    linear_memory();
    pitched_memory();
    other_reads();
    channels();
    surfaces();
    copies();
    weights_of_filters();
    borders_of_texels();
    MUST(cudaFree(at));
    for (void *p : kept)
        MUST(cudaFree(p));
    printf("%d cases, %d wrong\n", cases, wrong_cases);
    if (argc > 1)
        errors();
    return wrong_cases != 0;
}
