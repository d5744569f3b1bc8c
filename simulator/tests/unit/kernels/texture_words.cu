// What an H200 reads through textures, to the bit: filtered sums of each type, normalized
// coordinates of widths that are no power of two, borders, gathers and cubes. Prints a line for
// each case, with the number of its words and their hash, and the errors of wrong calls.
#include <cmath>

#include "textures.h"

enum { N = 16 };

// ---- numbers at random ----

static unsigned seed = 1;
static unsigned draw()
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}
static double unit()
{
    double high = draw(), low = draw();
    return (high + low / 16777216) / 16777216;
}
static double sign() { return draw() & 1024 ? 1 : -1; }
// x, or a little more or less.
static double around(double x)
{
    double distance = ldexp(1, -(int)(draw() % 20) - 8);
    return x * (1 + distance * sign());
}

static void say(const char *name, const void *bytes, size_t count)
{
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    printf("%s: %zu words, %08x\n", name, count / 4, hash);
}

template <typename T, int D> static void show(const char *name, cudaTextureObject_t t, int n)
{
    say(name, read_all<T, D>(t, n), n * sizeof(T));
}

// ---- weights and sums ----

static void weights()
{
    const float4 corner[4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    cudaArray_t a = array_of(corner, 2, 2, 0);
    for (int i = 0; i < MOST; i++)
        at[i] =
            make_float4(0.5f + (i % 256 + (i >= MOST / 2)) / 256.0f, 0.5f + i / 256 / 256.0f, 0, 0);
    show<float4, 2>("weights, 2D", texture_of(a, desc(1, 1, 1, true)), MOST);
    for (int i = 0; i < 8192; i++) {
        at[i].y = 0.5f + draw() / 16777216.0f;
        at[i].x = 0.5f + draw() / 16777216.0f;
    }
    show<float4, 2>("weights, 2D, any", texture_of(a, desc(1, 1, 1, true)), 8192);
    for (int i = 0; i < MOST; i++) {
        at[i].z = 0.5f + (draw() >> 8) % 257 / 256.0f;
        at[i].y = 0.5f + (draw() >> 8) % 257 / 256.0f;
        at[i].x = 0.5f + (draw() >> 8) % 257 / 256.0f;
    }
    for (int half = 0; half < 2; half++) {
        float4 both[8] = {};
        memcpy(both + 4 * half, corner, sizeof corner);
        a = array_of(both, 2, 2, 2);
        show<float4, 3>(half ? "weights, 3D, back" : "weights, 3D, front",
                        texture_of(a, desc(1, 1, 1, true)), MOST);
    }
}

template <typename T> static void sums_of(const char *name, const std::vector<T> &v, int dimensions)
{
    char text[80];
    snprintf(text, sizeof text, "sums, %dD, %s", dimensions, name);
    cudaArray_t a = array_of(v.data(), N, dimensions > 1 ? N : 0, dimensions > 2 ? N : 0);
    bool fractions = sizeof(T) < 4 && channel<T>().f != cudaChannelFormatKindFloat;
    cudaTextureObject_t t = texture_of(a, desc(1, 1, 1, true, false, fractions));
    if (dimensions == 1)
        show<float, 1>(text, t, 8192);
    else if (dimensions == 2)
        show<float, 2>(text, t, 8192);
    else
        show<float, 3>(text, t, 8192);
}

static void sums()
{
    enum { ALL = N * N * N };
    std::vector<float> floats(ALL), wide(ALL);
    std::vector<__half> halves(ALL);
    std::vector<unsigned char> bytes(ALL);
    std::vector<signed char> chars(ALL);
    std::vector<unsigned short> words(ALL);
    std::vector<short> shorts(ALL);
    for (int i = 0; i < ALL; i++) {
        floats[i] = (float)(unit() * 2 - 1);
        double part = unit() * 2 - 1;
        wide[i] = (float)(part * ldexp(1, (int)(draw() % 40) - 20));
        part = unit() * 2 - 1;
        halves[i] = __float2half((float)(part * ldexp(1, (int)((draw() >> 4) % 12) - 6)));
        bytes[i] = (unsigned char)(draw() >> 6), chars[i] = (signed char)(draw() >> 6);
        words[i] = (unsigned short)(draw() >> 6), shorts[i] = (short)(draw() >> 6);
    }
    words[5] = words[6] = 65535, bytes[5] = bytes[6] = 255, words[7] = words[8] = 0;
    chars[5] = chars[6] = -128, shorts[5] = shorts[6] = -32768;
    for (int dimensions = 1; dimensions <= 3; dimensions++) {
        for (int i = 0; i < 8192; i++) {
            at[i].z = (float)(draw() >> 8) / 65536 * (N + 2) - 1;
            at[i].y = (float)(draw() >> 8) / 65536 * (N + 2) - 1;
            at[i].x = (float)(draw() >> 8) / 65536 * (N + 2) - 1;
        }
        sums_of("floats", floats, dimensions);
        if (dimensions < 3) {
            sums_of("floats of all sizes", wide, dimensions);
            sums_of("halves", halves, dimensions);
        }
        sums_of("unsigned bytes", bytes, dimensions);
        sums_of("signed bytes", chars, dimensions);
        sums_of("unsigned shorts", words, dimensions);
        sums_of("shorts", shorts, dimensions);
    }
}

// ---- places ----

static const char *filter(int linear) { return linear ? "linear" : "nearest"; }

// Texel i has the value i, so that what is read is the place.
static void places_of(int w)
{
    const int n = 16384;
    char text[80];
    std::vector<float> v(w);
    for (int i = 0; i < w; i++)
        v[i] = (float)i;
    cudaArray_t a = array_of(v.data(), w, 0, 0), b = array_of(v.data(), 1, w, 0);
    cudaArray_t c = w <= 1920 ? array_of(v.data(), 1, 1, w) : nullptr;
    for (int i = 0; i < n; i++) {
        double x = unit();
        if (i % 4 == 1) // where a texel begins
            x = (double)(draw() % w) / w, x = around(x);
        if (i % 4 == 2) // These are the places where a weight changes.
            x = (draw() % (w * 256) + 0.5) / 256 / w, x = around(x);
        at[i] = make_float4((float)x, (float)x, (float)x, 0);
    }
    for (int linear = 0; linear < 2; linear++) {
        const cudaTextureDesc d = desc(1, 1, 1, linear, true);
        snprintf(text, sizeof text, "places, %d texels, %s", w, filter(linear));
        show<float, 1>(text, texture_of(a, d), n);
        snprintf(text, sizeof text, "places, %d rows, %s", w, filter(linear));
        show<float, 2>(text, texture_of(b, d), n);
        snprintf(text, sizeof text, "places, %d slices, %s", w, filter(linear));
        if (c)
            show<float, 3>(text, texture_of(c, d), n);
    }
    for (int i = 0; i < n; i++) {
        double x = i % 2 ? draw() % w : (draw() % (w * 256) + 0.5) / 256;
        at[i].x = (float)around(x);
    }
    for (int linear = 0; linear < 2; linear++) {
        snprintf(text, sizeof text, "places in texels, %d texels, %s", w, filter(linear));
        show<float, 1>(text, texture_of(a, desc(1, 1, 1, linear)), n);
    }
    for (int mode : {0, 2, 3}) {
        for (int i = 0; i < n; i++) {
            double x = i % 2 ? unit() * 7 - 3 : draw() % (7 * w) / (double)w - 3;
            if (i % 2 == 0)
                x = around(x + (i % 4 ? 0.5 / 256 / w : 0));
            at[i].x = (float)x;
        }
        for (int linear = 0; linear < 2; linear++) {
            snprintf(text, sizeof text, "places, mode %d, %d texels, %s", mode, w, filter(linear));
            show<float, 1>(text, texture_of(a, desc(mode, 1, 1, linear, true)), n);
        }
    }
}

static void places()
{
    for (int w : {3, 7, 10, 100, 256, 1000, 1920, 16384})
        places_of(w);
    float v[64];
    for (int i = 0; i < 64; i++)
        v[i] = (float)i;
    cudaArray_t a = array_of(v, 8, 8, 0, cudaArrayTextureGather), line = array_of(v + 1, 8, 0, 0);
    int count = 0;
    for (int i = 1; i <= 22; i++)
        for (int side = -1; side < 2; side += 2, count++)
            at[count] = make_float4((float)(3.5 + side * ldexp(1, -i)),
                                    (float)(2.5 + side * ldexp(1, -i)), 0, 0);
    show<float4, 7>("gather", texture_of(a, desc(1, 1, 1, false)), count);
    const float odd[] = {NAN,        INFINITY,    -INFINITY,     1e20f,         -1e20f,
                         1e9f,       -1e9f,       2147483648.0f, 4294967296.0f, -2147483648.0f,
                         3e6f,       -3e6f,       16777216.0f,   1e-40f,        -1e-40f,
                         -0.0f,      65536.25f,   -65536.25f,    1e5f + 0.25f,  131072.25f,
                         262144.25f, 1048576.25f, -1048576.25f};
    count = sizeof odd / sizeof *odd;
    for (int i = 0; i < count; i++)
        at[i] = make_float4(odd[i], 0.5f, 0.5f, 0);
    for (int kind = 0; kind < 16; kind++) {
        cudaTextureDesc d = desc(kind & 3, 1, 1, kind & 4, kind & 8);
        char text[80];
        d.borderColor[0] = -5;
        snprintf(text, sizeof text, "odd places, mode %d, %s, %s", kind & 3, filter(kind & 4),
                 kind & 8 ? "normalized" : "texels");
        show<float, 1>(text, texture_of(line, d), count);
    }
    const float infinite[4] = {1, INFINITY, NAN, 2};
    const float near[] = {0.5f, 0.501f, 0.503f, 1.5f, 2.5f, 3.498f, 3.499f, 3.5f, 3.25f};
    cudaArray_t unusual = array_of(infinite, 4, 0, 0);
    for (int i = 0; i < 9; i++)
        at[i].x = near[i];
    show<float, 1>("infinite texels", texture_of(unusual, desc(1, 1, 1, true)), 9);
}

// ---- borders ----

static void borders()
{
    const int w = 8, n = 1024;
    float v[w * w];
    for (float &one : v)
        one = (float)(draw() >> 16);
    cudaArray_t of[6] = {array_of(v, w, 0, 0),
                         array_of(v, w, 1, 0),
                         array_of(v, w, 0, 4, cudaArrayLayered),
                         array_of(v, w, 2, 0),
                         array_of(v, w, 2, 4, cudaArrayLayered),
                         array_of(v, w, 2, 1)};
    for (int i = 0; i < n; i++)
        at[i] = make_float4(i / 64.0f - 4 + 1 / 128.0f, (i * 37 % 1024) / 256.0f - 1 + 1 / 512.0f,
                            0.75f, (float)(i & 3));
    for (int x = 1; x < 4; x += 2)
        for (int y = 0; y < 4; y++)
            for (int z = 1; z < 4; z += 2)
                for (int kind = 0; kind < 6; kind++) {
                    cudaTextureDesc d = desc(x, y, z, true);
                    d.borderColor[0] = 1000;
                    cudaTextureObject_t t = texture_of(of[kind], d);
                    char name[80];
                    snprintf(name, sizeof name, "borders, modes %d %d %d, kind %d", x, y, z, kind);
                    if (kind == 0)
                        show<float, 1>(name, t, n);
                    else if (kind == 1 || kind == 3)
                        show<float, 2>(name, t, n);
                    else if (kind == 2)
                        show<float, 11>(name, t, n);
                    else if (kind == 4)
                        show<float, 12>(name, t, n);
                    else
                        show<float, 3>(name, t, n);
                }
}

template <typename T> static void colors_of(const char *name, bool fractions, bool linear = false)
{
    const T none[8] = {};
    const float floats[] = {3, 0.5f, 0.3f, -0.3f, -2, 1, 255, 300, 70000, 1e10f, NAN, INFINITY};
    const unsigned bits[] = {3,     127,    128,    255,         256,          300,
                             70000, 0x7fff, 0x8000, 0x80000000u, (unsigned)-5, (unsigned)-200};
    const bool is_float = channel<T>().f == cudaChannelFormatKindFloat;
    cudaArray_t a = array_of(none, 8, 0, 0);
    unsigned all[24][2];
    char text[80];
    at[0] = make_float4(-4, 0, 0, 0), at[1] = make_float4(-0.25f, 0, 0, 0);
    for (int i = 0; i < 24; i++) {
        cudaTextureDesc d = desc(3, 1, 1, linear, false, fractions);
        for (float &c : d.borderColor)
            memcpy(&c, i < 12 ? (const void *)&floats[i] : &bits[i - 12], sizeof c);
        const cudaTextureObject_t t = texture_of(a, d);
        const void *two = fractions || is_float ? (const void *)read_all<float, 1>(t, 2)
                                                : read_all<unsigned, 1>(t, 2);
        memcpy(all[i], two, sizeof all[i]);
    }
    snprintf(text, sizeof text, "border colors of %s, %s%s", name, filter(linear),
             fractions ? ", fractions" : "");
    say(text, all, sizeof all);
}

static void colors()
{
    colors_of<unsigned char>("unsigned bytes", false);
    colors_of<signed char>("signed bytes", false);
    colors_of<unsigned short>("unsigned shorts", false);
    colors_of<short>("shorts", false);
    colors_of<unsigned>("unsigned", false);
    colors_of<int>("int", false);
    colors_of<float>("floats", false);
    colors_of<unsigned char>("unsigned bytes", true);
    colors_of<signed char>("signed bytes", true);
    colors_of<unsigned short>("unsigned shorts", true);
    colors_of<short>("shorts", true);
    colors_of<unsigned char>("unsigned bytes", true, true);
    colors_of<signed char>("signed bytes", true, true);
    colors_of<float>("floats", false, true);
}

// ---- cubes ----

static void cubes()
{
    const int n = 16384;
    float2 v[6 * 256];
    for (int i = 0; i < 6 * 256; i++)
        v[i] = make_float2((float)(i % 16 + 32 * (i / 256)), (float)(i % 256 / 16));
    cudaArray_t a = array_of(v, 16, 16, 6, cudaArrayCubemap);
    for (int i = 0; i < n; i++) {
        float *c = &at[i].x;
        for (int k = 2; k >= 0; k--)
            c[k] = (float)(unit() * 2 - 1);
        if (i % 8 == 7) {
            float other = c[draw() % 3];
            c[draw() % 3] = other;
        }
    }
    at[0] = make_float4(0, 0, 0, 0), at[1] = make_float4(NAN, 1, 0, 0);
    at[2] = make_float4(1, NAN, 0, 0), at[3] = make_float4(INFINITY, 1, 0, 0);
    show<float2, 6>("cube, nearest", texture_of(a, desc(1, 1, 1, false, true)), n);
    show<float2, 6>("cube, linear", texture_of(a, desc(1, 1, 1, true, true)), n);
    show<float2, 6>("cube, texels", texture_of(a, desc(1, 1, 1, true, false)), 1024);
}

// ---- errors ----

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void errors_of_copies(cudaArray_t a, cudaArray_t b, float *q)
{
    static const char *const kinds[] = {"HostToHost",     "HostToDevice", "DeviceToHost",
                                        "DeviceToDevice", "Default",      "5"};
    float host[64] = {};
    for (int k = 0; k < 6; k++) {
        const cudaMemcpyKind kind = (cudaMemcpyKind)k;
        auto call = [&](const char *what, cudaError_t e) {
            printf("%s: ", kinds[k]);
            tell(what, e);
        };
        call("2DToArray of host", cudaMemcpy2DToArray(a, 0, 0, host, 16, 16, 4, kind));
        call("2DToArray of device", cudaMemcpy2DToArray(a, 0, 0, q, 16, 16, 4, kind));
        call("2DFromArray to host", cudaMemcpy2DFromArray(host, 16, a, 0, 0, 16, 4, kind));
        call("2DFromArray to device", cudaMemcpy2DFromArray(q, 16, a, 0, 0, 16, 4, kind));
        call("2DToArrayAsync of host", cudaMemcpy2DToArrayAsync(a, 0, 0, host, 16, 16, 4, kind, 0));
        call("2DArrayToArray", cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 16, 4, kind));
        call("ToArray", cudaMemcpyToArray(a, 0, 0, host, 64, kind));
        call("FromArray", cudaMemcpyFromArray(host, a, 0, 0, 64, kind));
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr(host, 16, 4, 4);
        p.dstArray = a;
        p.extent = make_cudaExtent(4, 4, 1);
        p.kind = kind;
        call("3D host to array", cudaMemcpy3D(&p));
        p.srcPtr.ptr = q;
        call("3D device to array", cudaMemcpy3D(&p));
        p.srcPtr = {}, p.srcArray = b;
        call("3D array to array", cudaMemcpy3D(&p));
        p.dstArray = nullptr, p.dstPtr = make_cudaPitchedPtr(host, 16, 4, 4);
        call("3D array to host", cudaMemcpy3D(&p));
    }
    cudaMemcpy3DParms p = {};
    p.dstArray = a;
    p.extent = make_cudaExtent(4, 4, 1);
    p.kind = cudaMemcpyHostToDevice;
    tell("3D no source", cudaMemcpy3D(&p));
    p = {};
    p.srcPtr = make_cudaPitchedPtr(host, 8, 4, 4);
    p.dstPtr = make_cudaPitchedPtr(q, 16, 4, 4);
    p.extent = make_cudaExtent(16, 4, 1);
    p.kind = cudaMemcpyHostToDevice;
    tell("3D small source pitch, no array", cudaMemcpy3D(&p));
    p.srcPtr.pitch = 16, p.dstPtr.pitch = 8;
    tell("3D small destination pitch, no array", cudaMemcpy3D(&p));
    p = {};
    p.srcArray = a;
    p.dstPtr = make_cudaPitchedPtr(host, 8, 4, 4);
    p.extent = make_cudaExtent(4, 4, 1);
    p.kind = cudaMemcpyDeviceToHost;
    tell("3D array to small pitch", cudaMemcpy3D(&p));
    p.dstPtr.pitch = 16, p.srcPos = make_cudaPos(1, 0, 0);
    tell("3D beyond row", cudaMemcpy3D(&p));
    tell("2DToArray null array",
         cudaMemcpy2DToArray(nullptr, 0, 0, host, 16, 16, 4, cudaMemcpyHostToDevice));
    tell("2DToArray null source",
         cudaMemcpy2DToArray(a, 0, 0, nullptr, 16, 16, 4, cudaMemcpyHostToDevice));
    tell("2DFromArray null array",
         cudaMemcpy2DFromArray(host, 16, nullptr, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
    tell("2DArrayToArray null", cudaMemcpy2DArrayToArray(b, 0, 0, nullptr, 0, 0, 16, 4));
    tell("ToArray beyond the end", cudaMemcpyToArray(a, 4, 0, host, 64, cudaMemcpyHostToDevice));
    tell("2DFromArray small pitch",
         cudaMemcpy2DFromArray(host, 8, a, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
}
#pragma GCC diagnostic pop

static void errors_of_memory(float *q)
{
    const cudaChannelFormatDesc c = channel<float>();
    cudaTextureObject_t t = 0;
    cudaSurfaceObject_t s = 0;
    cudaTextureDesc d = desc(1, 1, 1, false, false, true);
    cudaResourceDesc r = {};
    auto create = [&](const char *what) {
        tell(what, cudaCreateTextureObject(&t, &r, &d, nullptr));
    };
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = q;
    r.res.linear.desc = c;
    r.res.linear.sizeInBytes = 64;
    create("linear floats as fractions");
    r.res.linear.desc = channel<unsigned char>();
    d = desc(1, 1, 1, true);
    create("linear bytes, filtered");
    d = desc(1, 1, 1, false);
    r.res.linear.sizeInBytes = 0;
    create("linear of 0 bytes");
    r.res.linear.sizeInBytes = 63, r.res.linear.desc = c;
    create("linear of 63 bytes");
    r.res.linear.sizeInBytes = 4ull << 30;
    create("linear of 4 GiB");
    r.res.linear.sizeInBytes = 64;
    r.res.linear.desc = {32, 32, 32, 0, cudaChannelFormatKindFloat};
    create("linear of three channels");
    r.res.linear.desc = c;
    tell("surface of linear memory", cudaCreateSurfaceObject(&s, &r));
    r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = q;
    r.res.pitch2D.desc = c;
    r.res.pitch2D.height = 4;
    r.res.pitch2D.pitchInBytes = 32;
    create("pitched of width 0");
    r.res.pitch2D.width = 16;
    create("pitched wider than the pitch");
    r.res.pitch2D.width = 4, r.res.pitch2D.devPtr = nullptr;
    create("pitched null");
    r.res.pitch2D.devPtr = q + 1;
    create("pitched from byte 4");
}

static void errors_of_objects(cudaArray_t a)
{
    cudaArray_t ints, halves;
    const cudaChannelFormatDesc whole = channel<int>(), half = channel<__half>();
    MUST(cudaMallocArray(&ints, &whole, 4, 4));
    MUST(cudaMallocArray(&halves, &half, 4, 4));
    cudaChannelFormatDesc c;
    cudaTextureObject_t t = 0;
    cudaSurfaceObject_t s = 0;
    cudaResourceDesc r = {};
    cudaTextureDesc d = desc(1, 1, 1, false);
    auto create = [&](const char *what) {
        tell(what, cudaCreateTextureObject(&t, &r, &d, nullptr));
    };
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    tell("texture no resource", cudaCreateTextureObject(&t, nullptr, &d, nullptr));
    d.addressMode[0] = (cudaTextureAddressMode)7;
    create("address mode 7");
    d = desc(1, 1, 1, false), d.filterMode = (cudaTextureFilterMode)7;
    create("filter 7");
    d = desc(1, 1, 1, false), d.readMode = (cudaTextureReadMode)7;
    create("read mode 7");
    d = desc(1, 1, 1, true, false, true);
    create("floats as fractions, linear");
    r.res.array.array = ints;
    create("ints as fractions, linear");
    d = desc(1, 1, 1, false, false, true);
    create("ints as fractions");
    r.res.array.array = halves;
    create("halves as fractions");
    r.resType = (cudaResourceType)9;
    create("resource type 9");
    r = {}, r.resType = cudaResourceTypeArray;
    tell("surface of null array", cudaCreateSurfaceObject(&s, &r));
    tell("surface no resource", cudaCreateSurfaceObject(&s, nullptr));
    r.res.array.array = a;
    tell("surface nowhere", cudaCreateSurfaceObject(nullptr, &r));
    tell("surface without flag", cudaCreateSurfaceObject(&s, &r));
    d = desc(1, 1, 1, false);
    MUST(cudaCreateTextureObject(&t, &r, &d, nullptr));
    cudaResourceViewDesc view;
    memset(&view, 0x55, sizeof view);
    tell("view", cudaGetTextureObjectResourceViewDesc(&view, t));
    printf("view: format %d, %zu x %zu x %zu, levels %u to %u, layers %u to %u\n", view.format,
           view.width, view.height, view.depth, view.firstMipmapLevel, view.lastMipmapLevel,
           view.firstLayer, view.lastLayer);
    tell("texture desc of 0", cudaGetTextureObjectTextureDesc(&d, 0));
    tell("view of 0", cudaGetTextureObjectResourceViewDesc(&view, 0));
    tell("resource of 0", cudaGetTextureObjectResourceDesc(&r, 0));
    tell("texture's as surface", cudaGetSurfaceObjectResourceDesc(&r, t));
    tell("texture desc", cudaGetTextureObjectTextureDesc(&d, t));
    tell("GetChannelDesc null array", cudaGetChannelDesc(&c, nullptr));
    tell("GetChannelDesc null desc", cudaGetChannelDesc(nullptr, a));
    tell("ArrayGetInfo null array", cudaArrayGetInfo(&c, nullptr, nullptr, nullptr));
    tell("view null", cudaGetTextureObjectResourceViewDesc(nullptr, t));
    tell("texture desc null", cudaGetTextureObjectTextureDesc(nullptr, t));
    tell("resource null", cudaGetTextureObjectResourceDesc(nullptr, t));
    MUST(cudaDestroyTextureObject(t));
    MUST(cudaDestroySurfaceObject(s));
    MUST(cudaFreeArray(ints));
    MUST(cudaFreeArray(halves));
}

static void errors()
{
    const cudaChannelFormatDesc c = channel<float>();
    cudaArray_t a, b;
    float *q;
    MUST(cudaMallocArray(&a, &c, 4, 4));
    MUST(cudaMallocArray(&b, &c, 4, 4));
    MUST(cudaMalloc(&q, 4096));
    MUST(cudaMemset(q, 0, 4096));
    for (cudaArray_t one : {a, b})
        MUST(cudaMemcpy2DToArray(one, 0, 0, q, 16, 16, 4, cudaMemcpyDeviceToDevice));
    errors_of_copies(a, b, q);
    errors_of_memory(q);
    errors_of_objects(a);
    MUST(cudaFree(q));
    MUST(cudaFreeArray(a));
    MUST(cudaFreeArray(b));
}

int main()
{
    at = managed<float4>(MOST);
    weights();
    sums();
    places();
    borders();
    colors();
    cubes();
    errors();
    release_all();
    return wrong_cases != 0;
}
