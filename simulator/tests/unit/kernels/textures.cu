// CUDA arrays, textures, and surfaces. The host computes each texel from the formulas of the
// programming guide (Texture Fetching) and counts what differs; what a filter weighs, and where, is
// in texture_words.cu. What the documents leave open is printed, so that a GPU can settle it: lines
// that begin with "open:".
#include <cmath>
#include <functional>

#include "textures.h"

enum { N = 8, M = 4, K = 2, READS = 4096 };

static void done(const char *name, int reads, int wrong)
{
    wrong_cases += wrong != 0;
    printf("%s: %d read, %d wrong\n", name, reads, wrong);
}

// Counts the numbers below n for which it is wrong.
template <typename F> static void count(const char *name, int n, F is_wrong)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += is_wrong(i);
    done(name, n, wrong);
}

// ---- coordinates ----

// Multiples of 1/32 around the texels in each direction; of `width` of them if normalized.
static void set_coordinates(double w, double h, double d, bool normalized)
{
    const double step = 32;
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

static int fold(int i, int size, int mode)
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

struct guide {
    int w, h, d; // h and d are 1 if the texture has fewer dimensions.
    int mode;
    std::function<double(int, int, int)> texel;
    bool normalized = false;
    double border = 0;
    double least = -INFINITY; // of a result

    double operator()(double x, double y, double z) const
    {
        if (normalized)
            x *= w, y *= h, z *= d;
        const int i = fold((int)floor(x), w, mode), j = h > 1 ? fold((int)floor(y), h, mode) : 0,
                  k = d > 1 ? fold((int)floor(z), d, mode) : 0;
        return i < 0 || j < 0 || k < 0 ? border : fmax(least, texel(i, j, k));
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
    const T *out = read_all<T, D>(t, READS);
    count(name, READS, [&](int i) {
        return !(fabs(first(out[i]) - g(at[i].x, at[i].y, at[i].z)) <= tolerance);
    });
}

// Two textures, and two ways to read them, give the same.
template <int D, int E>
static void same(const char *name, cudaTextureObject_t t, cudaTextureObject_t u)
{
    const float *out = read_all<float, D>(t, READS);
    const std::vector<float> expected(out, out + READS);
    out = read_all<float, E>(u, READS);
    count(name, READS, [&](int i) { return out[i] != expected[i]; });
}

enum { WRAP = cudaAddressModeWrap, CLAMP = cudaAddressModeClamp, BORDER = cudaAddressModeBorder };
static cudaTextureDesc nearest(int mode, bool normalized = false, bool fractions = false)
{
    return desc(mode, mode, mode, false, normalized, fractions);
}

static const char *const mode_names[] = {"wrap", "clamp", "mirror", "border"};

// ---- cases ----

template <typename T, typename E> static T element(E i) { return (T)i; }
template <> uchar4 element<uchar4>(int i) { return make_uchar4(i, 255 - i, i * 3, i * 7); }
template <> short2 element<short2>(int i) { return make_short2(-i * 5, i * 11); }
template <> float4 element<float4>(int i) { return make_float4(i, -i, i * 0.5f, 2 * i); }
template <> int4 element<int4>(int i) { return make_int4(-i, i, i * 1000, 1 << 20); }

// Each type, in a 3D texture.
template <typename T> static void types(const char *name)
{
    std::vector<T> v(N * M * K);
    for (int i = 0; i < N * M * K; i++)
        v[i] = element<T>(i);
    cudaArray_t a = array_of(v.data(), N, M, K);
    for (int mode : {CLAMP, BORDER}) {
        char text[80];
        set_coordinates(N, M, K, false);
        snprintf(text, sizeof text, "%s, 3D, %s", name, mode_names[mode]);
        compare<T, 3>(text, texture_of(a, nearest(mode)), {N, M, K, mode, [&](int i, int j, int k) {
                                                               return first(v[(k * M + j) * N + i]);
                                                           }});
    }
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
    set_coordinates(N, 1, 1, false);
    compare<float2, 2>("halves", texture_of(a, nearest(CLAMP)),
                       {N, 1, 1, CLAMP, [&](int i, int, int) {
                            return (double)__half2float(v[2 * i])
                                 + 2.0 * __half2float(v[2 * i + 1]);
                        }});
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
    guide g = {256, 1, 1, CLAMP, [&](int i, int, int) { return v[i] / most; }};
    g.least = -1;
    set_coordinates(256, 1, 1, false);
    compare<float, 1>(name, texture_of(array_of(v.data(), 256, 0, 0), nearest(CLAMP, false, true)),
                      g, 1e-7);
}

static float values[N * M * K];
static double value(int i, int j, int k) { return values[(k * M + j) * N + i]; }

// Address modes of one to three dimensions.
static void address_modes(bool normalized)
{
    cudaArray_t a1 = array_of(values, N, 0, 0), a2 = array_of(values, N, M, 0);
    cudaArray_t a3 = array_of(values, N, M, K);
    for (int mode = 0; mode < 4; mode++)
        for (int d = 1; d <= 3; d++) {
            cudaTextureDesc td = nearest(mode, normalized);
            td.borderColor[0] = 3;
            cudaTextureObject_t t = texture_of(d == 1 ? a1 : d == 2 ? a2 : a3, td);
            char text[80];
            snprintf(text, sizeof text, "nearest, %s, %dD, %s",
                     normalized ? "normalized" : "texels", d, mode_names[mode]);
            // Documented: of coordinates in texels, two modes are clamped.
            guide g = {N,
                       d > 1 ? M : 1,
                       d > 2 ? K : 1,
                       normalized || mode == BORDER ? mode : CLAMP,
                       value,
                       normalized,
                       3};
            set_coordinates(N, M, K, normalized);
            if (d == 1)
                compare<float, 1>(text, t, g);
            else if (d == 2)
                compare<float, 2>(text, t, g);
            else
                compare<float, 3>(text, t, g);
        }
}

static void layers()
{
    cudaArray_t a = array_of(values, N, M, K, cudaArrayLayered);
    set_coordinates(N, M, K, false);
    for (int i = 0; i < READS; i++)
        at[i].w = (float)(i % K);
    const float *out = read_all<float, 12>(texture_of(a, nearest(CLAMP)), READS);
    count("layers, 2D", READS, [&](int i) {
        return out[i]
            != value(fold((int)floor(at[i].x), N, CLAMP), fold((int)floor(at[i].y), M, CLAMP),
                     i % K);
    });
    for (int i = 0; i < 4; i++)
        at[i] = make_float4(2.5f, 1.5f, 0, (float)(i < 2 ? -1 - i * 1000 : K - 2 + i));
    out = read_all<float, 12>(texture_of(a, nearest(CLAMP)), 4);
    printf("open: layers -1, -1001, %d, %d are", K, K + 1);
    for (int i = 0; i < 4; i++)
        printf(" %s", out[i] == (float)value(2, 1, 0)       ? "the first"
                      : out[i] == (float)value(2, 1, K - 1) ? "the last"
                      : out[i] == 0                         ? "zero"
                                                            : "else");
    printf("\n");
    a = array_of(values, N, 0, M * K, cudaArrayLayered);
    set_coordinates(N, M, K, false);
    for (int i = 0; i < READS; i++)
        at[i].w = (float)(i % (M * K));
    out = read_all<float, 11>(texture_of(a, nearest(CLAMP)), READS);
    count("layers, 1D", READS, [&](int i) {
        return out[i] != values[i % (M * K) * N + fold((int)floor(at[i].x), N, CLAMP)];
    });
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
    const float *out = read_all<float, 6>(texture_of(one, nearest(CLAMP, true)), READS);
    const std::vector<float> single(out, out + READS);
    out = read_all<float, 16>(texture_of(two, nearest(CLAMP, true)), READS);
    int wrong = 0, of_layers = 0;
    for (int i = 0; i < READS; i++) {
        double s, t;
        const int face = face_of(at[i].x, at[i].y, at[i].z, &s, &t);
        const float *texel = &cube[(face * 4 + (int)(t * 4)) * 4 + (int)(s * 4)];
        wrong += single[i] != *texel;
        of_layers += out[i] != texel[i % 2 * 6 * 16];
    }
    done("cubes", READS, wrong);
    done("layers of cubes", READS, of_layers);
}

static void linear_memory()
{
    const int n = 1000;
    float *p = managed<float>(n);
    for (int i = 0; i < n; i++)
        p[i] = 7 + (float)i;
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = p;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = n * sizeof *p;
    const cudaTextureDesc d = nearest(CLAMP);
    cudaTextureObject_t t = 0, u = 0;
    MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
    MUST(cudaCreateTextureObject(&u, &r, &d, nullptr));
    for (int i = 0; i < READS; i++)
        at[i] = make_float4((float)(i * 31 % n), 0, 0, 0);
    const float *out = read_all<float, 0>(t, READS);
    count("linear memory", READS, [&](int i) { return out[i] != p[i * 31 % n]; });
    at[0].x = -1, at[1].x = n, at[2].x = n + 100, at[3].x = -1000;
    out = read_all<float, 0>(u, 4);
    printf("open: linear memory outside: %g %g %g %g\n", out[0], out[1], out[2], out[3]);
    // Integers.
    unsigned char *bytes = (unsigned char *)p;
    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 7);
    r.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    r.res.linear.sizeInBytes = n;
    MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
    for (int i = 0; i < READS; i++)
        at[i] = make_float4((float)(i * 31 % (n / 4)), 0, 0, 0);
    const uchar4 *fours = read_all<uchar4, 0>(t, READS);
    count("linear memory, uchar4", READS,
          [&](int i) { return memcmp(&fours[i], bytes + 4 * (i * 31 % (n / 4)), 4) != 0; });
}

// An array of the same texels gives the same.
static void pitched_memory()
{
    char *p;
    size_t pitch;
    cudaArray_t a = array_of(values, N, M, 0);
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
        const int mode = normalized ? WRAP : CLAMP;
        const cudaTextureDesc d = desc(mode, mode, mode, linear, normalized);
        cudaTextureObject_t t = 0;
        MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
        set_coordinates(N, M, 1, normalized);
        char text[80];
        snprintf(text, sizeof text, "pitched memory, %s, %s", linear ? "linear" : "nearest",
                 mode_names[mode]);
        same<2, 2>(text, texture_of(a, d), t);
    }
    MUST(cudaFree(p));
}

// Channels that an array does not have, and borders of integers.
static void channels()
{
    for (int i = 0; i < READS; i++)
        at[i] = make_float4(2.5f, 1.5f, 0, 0);
    const cudaTextureDesc d = nearest(CLAMP);
    const float4 *four = read_all<float4, 2>(texture_of(array_of(values, N, M, 0), d), 1);
    printf("open: missing channels of floats: %g %g %g", four->y, four->z, four->w);
    const std::vector<unsigned char> bytes(N * M, 9);
    cudaArray_t a = array_of(bytes.data(), N, M, 0);
    const uchar4 *small = read_all<uchar4, 2>(texture_of(a, d), 1);
    printf("; of bytes: %d %d %d", small->y, small->z, small->w);
    cudaTextureDesc whole = nearest(BORDER), fraction = nearest(BORDER, false, true);
    whole.borderColor[0] = fraction.borderColor[0] = 3;
    at[0].x = -1;
    printf("; the border 3 of bytes: %u", *read_all<unsigned, 2>(texture_of(a, whole), 1));
    printf("; read as fractions %g\n", *read_all<float, 2>(texture_of(a, fraction), 1));
}

// A level, or slopes, of a texture that has one level change nothing.
static void other_reads()
{
    cudaArray_t a = array_of(values, N, M, 0);
    const cudaTextureDesc d = desc(CLAMP, CLAMP, CLAMP, true);
    set_coordinates(N, M, 1, false);
    same<2, 22>("level 0", texture_of(a, d), texture_of(a, d));
    same<2, 32>("gradients of one level", texture_of(a, d), texture_of(a, d));
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
    count("surfaces, 2D", N * M,
          [&](int i) { return v[i] != (float)(value(N - 1 - i % N, i / N, 0) * 2 + 1); });
    float *out = managed<float>(8);
    surface_outside<<<1, 1>>>(s, out);
    MUST(cudaDeviceSynchronize());
    int wrong = out[0] != 0 || out[1] != 0 || out[2] != 0 || out[3] != (float)value(0, 0, 0)
             || out[4] != (float)value(N - 1, 1, 0) || out[5] != (float)value(1, M - 1, 0);
    v = back<float>(a, N, M, 1);
    for (int i = 0; i < N * M; i++)
        wrong += v[i] != (i == 3 * N - 1 ? 2000.0f : values[i]);
    done("surfaces, outside", N * M + 6, wrong);
    MUST(cudaDestroySurfaceObject(s));
    MUST(cudaDestroySurfaceObject(other));

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
    for (cudaSurfaceObject_t one : o)
        MUST(cudaDestroySurfaceObject(one));
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
    count("copies, 2D", N * M, [&](int i) { return got[i] != want[i]; });
    // Bytes that go on in the next row: from element 5 of row 0 on, and back.
    const size_t part = 13 * sizeof(float);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    MUST(cudaMemcpyToArray(a, 20, 0, values, part, cudaMemcpyHostToDevice));
    MUST(cudaMemcpyArrayToArray(b, 4, 1, a, 20, 0, part));
    MUST(cudaMemcpyFromArray(got.data(), b, 4, 1, part, cudaMemcpyDeviceToHost));
#pragma GCC diagnostic pop
    int wrong = 0;
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
    count("copies in a stream", N * M, [&](int i) { return pinned[N * M + i] != values[i]; });
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
}

// ---- errors ----

static void say(const char *what, cudaError_t e)
{
    printf("open: ");
    tell(what, e);
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
    cudaTextureDesc d = desc(CLAMP, CLAMP, CLAMP, true);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = b;
    say("filtered integers", cudaCreateTextureObject(&t, &r, &d, nullptr));
    r.res.array.array = a;
    d = nearest(CLAMP, false, true);
    say("floats as fractions", cudaCreateTextureObject(&t, &r, &d, nullptr));
    d = nearest(CLAMP);
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
    surface_trap<<<1, 1>>>(surface_of(a));
    say("a surface write outside that traps", cudaDeviceSynchronize());
}

int main(int argc, char **)
{
    at = managed<float4>(MOST);
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
    address_modes(false);
    address_modes(true);
    layers();
    cubes();
    linear_memory();
    pitched_memory();
    other_reads();
    channels();
    surfaces();
    copies();
    release_all();
    if (argc > 1)
        errors();
    return wrong_cases != 0;
}
