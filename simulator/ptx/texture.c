/* Runs fetches from textures, and loads and stores of surfaces. The formulas are those of the CUDA
 * C++ Programming Guide, "Texture Fetching".
 *
 * A fetch has steps, each for all threads of the warp that take part: places, weights, texels, and
 * sums. */
#include "ptx/texture.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ptx/half.h"
#include "ptx/warp.h"

/* A channel's value, as the bits of its register or as a number that is filtered. */
union channel {
    uint32_t bits;
    float number;
};

/* The threads that fetch from one texture. Arrays have an element for each thread. */
struct fetch {
    struct warp *w;
    const struct instruction *i;
    uint32_t lanes;
    const struct texture *t;
    /* The number of dimensions: one for layers, each of which is a texture; otherwise the
     * texture's. */
    uint32_t size[3];
    unsigned dimensions;
    /* The address of the layer. */
    uint64_t base[WARP_SIZE];
    /* The coordinates, which become texels. */
    double x[3][WARP_SIZE];
};
typedef int64_t texel_places[3][WARP_SIZE];
typedef union channel texels[4][WARP_SIZE];

/* Returns the object, or NULL after a fault. */
static const struct texture *object_of(struct warp *w, const struct instruction *i, unsigned l,
                                       bool is_surface)
{
    const struct launch_memory *memory = w->launch->memory;
    const uint64_t handle = ((const lane_u64 *)(w->registers + i->r[TEXTURE_OBJECT]))[l];
    const struct texture *t = memory->texture(memory->context, handle);
    if (t && t->is_surface == is_surface)
        return t;
    warp_fault(w, l, FAULT_TEXTURE, handle, 0, false);
    return NULL;
}

static const lane_s32 *integers_of(const struct warp *w, const struct instruction *i, unsigned n)
{
    return (const lane_s32 *)(w->registers + i->r[TEXTURE_PLACE + n]);
}

/* `c` is NULL for a channel that the texture does not have. Measured (kernels-textures.txt): it is
 * 0. */
static HOT void set_results(const struct fetch *f, unsigned n, const union channel *c)
{
    lane_u32 *d = (lane_u32 *)(f->w->registers + f->i->r[n]);
    if (c) {
        EACH_LANE(f->lanes, d[l] = c[l].bits;)
    } else {
        EACH_LANE(f->lanes, d[l] = 0;)
    }
}

/* ---- texels ---- */

/* Returns the texel's index, or -1 for the border. Assumed: a texture without texels is all border.
 */
static INLINE int64_t folded(int64_t i, uint32_t size, enum address_mode mode)
{
    if (i >= 0 && i < size)
        return i;
    if (!size)
        return -1;
    switch (mode) {
    case ADDRESS_CLAMP: return i < 0 ? 0 : size - 1;
    case ADDRESS_WRAP: i %= size; return i < 0 ? i + size : i;
    case ADDRESS_MIRROR:
        i %= 2 * (int64_t)size;
        i = i < 0 ? i + 2 * (int64_t)size : i;
        return i < size ? i : 2 * (int64_t)size - 1 - i;
    default: return -1;
    }
}

/* Returns the integer of this many bytes that stands for the fraction 1. */
static INLINE int32_t integer_of_one(const struct texture *t, unsigned bytes)
{
    return (int32_t)((1U << (8 * bytes - (t->kind == CHANNEL_SIGNED))) - 1);
}

/* Documented: an integer that is read as a fraction is in [0, 1] or, with a sign, in [-1, 1]. */
static INLINE union channel fraction_of(int32_t value, int32_t one)
{
    return (union channel){.number = (float)((double)(value < -one ? -one : value) / one)};
}

/* The result of a fetch that does not filter. */
static INLINE union channel unfiltered(const struct texture *t, union channel c)
{
    return t->reads_fractions ? fraction_of((int32_t)c.bits, integer_of_one(t, t->channel_bytes))
                              : c;
}

/* Returns a channel as an integer, even if it is to be read as a fraction, or as a float. */
static INLINE union channel channel_of(const struct texture *t, const char *from)
{
    union channel c = {.bits = 0};
    if (t->channel_bytes == 4) {
        memcpy(&c.bits, from, 4);
        return c;
    }
    const uint16_t narrow =
        t->channel_bytes == 1 ? *(const uint8_t *)from : *(const lane_u16 *)from;
    if (t->kind == CHANNEL_FLOAT)
        return (union channel){.number = (float)half_value(narrow)};
    c.bits = t->kind == CHANNEL_UNSIGNED ? narrow
           : t->channel_bytes == 1       ? (uint32_t)(int8_t)narrow
                                         : (uint32_t)(int16_t)narrow;
    return c;
}

/* Measured (kernels-texture_words.txt): an integer gets the bits of the border's float that it has
 * room for, and a fraction the border's multiple of the integer below it. */
static union channel border_of(const struct texture *t, unsigned n)
{
    union channel c = {.number = t->border[n]};
    const float least = t->kind == CHANNEL_SIGNED ? -1 : 0;
    if (t->kind == CHANNEL_FLOAT)
        return c;
    if (t->reads_fractions) {
        const float part = c.number != c.number ? 0 : c.number < least ? least : c.number;
        c.bits = (uint32_t)(int32_t)((double)(part > 1 ? 1 : part)
                                     * integer_of_one(t, t->channel_bytes));
    } else if (t->channel_bytes < 4) {
        const unsigned unused = 32 - 8u * t->channel_bytes;
        c.bits = t->kind == CHANNEL_SIGNED ? (uint32_t)((int32_t)(c.bits << unused) >> unused)
                                           : c.bits << unused >> unused;
    }
    return c;
}

/* Sets the addresses of these threads' texels. Returns the threads whose texels are not on the
 * border. */
static HOT uint32_t find_texels(const struct fetch *f, texel_places at, uint32_t lanes,
                                uint64_t *address)
{
    const struct texture *t = f->t;
    const uint64_t bytes = (uint64_t)t->channels * t->channel_bytes;
    uint32_t inside = lanes;
    EACH_LANE(lanes, address[l] = f->base[l];)
    for (unsigned n = 0; n < f->dimensions; n++) {
        const uint64_t step = n == 0 ? bytes : n == 1 ? t->pitch : t->slice;
        const enum address_mode mode = t->is_linear_memory ? ADDRESS_BORDER : t->mode[n];
        const uint32_t size = f->size[n];
        uint32_t outside = 0;
        EACH_LANE(lanes, outside |= (uint32_t)((uint64_t)at[n][l] >= size) << l;)
        FOR_LANES (l, outside) {
            at[n][l] = folded(at[n][l], size, mode);
            inside &= at[n][l] < 0 ? ~(1u << l) : ALL_LANES;
        }
        EACH_LANE(lanes, address[l] += (uint64_t)at[n][l] * step;)
    }
    return inside;
}

/* Returns, for a single thread, the base of its address, or NULL after a fault. */
static const char *one_texel(const struct fetch *f, const uint64_t *address, size_t bytes)
{
    const unsigned l = (unsigned)__builtin_ctz(f->lanes);
    const char *from = warp_bytes(f->w, f->i, l, address[l], bytes, ACCESS_READ);
    return from ? from - address[l] : NULL;
}

/* Reads these threads' texels. Returns false if threads have to fetch one after the other, or after
 * a fault. */
static HOT bool read_texels(const struct fetch *f, texel_places at, uint32_t lanes, texels c)
{
    const struct texture *t = f->t;
    const size_t bytes = (size_t)t->channels * t->channel_bytes;
    uint64_t address[WARP_SIZE];
    const uint32_t inside = find_texels(f, at, lanes, address);
    for (unsigned n = 0; n < t->channels && inside != lanes; n++) {
        const union channel border = border_of(t, n);
        EACH_LANE(lanes & ~inside, c[n][l] = border;)
    }
    if (!inside)
        return true;
    const char *base = f->lanes & (f->lanes - 1)
                         ? warp_known_bytes(f->w, f->i, inside, address, bytes)
                         : one_texel(f, address, bytes);
    for (unsigned n = 0; base && n < t->channels; n++) {
        const char *from = base + n * t->channel_bytes;
        EACH_LANE(inside, c[n][l] = channel_of(t, from + address[l]);)
    }
    return base;
}

/* ---- coordinates ---- */

/* Converts the coordinates to texels, limited to what an index can hold. Measured
 * (kernels-texture_words.txt): a NaN or a denormal number is 0; for 3 to 1920 texels, a normalized
 * coordinate has 21 bits for its fraction, and for 16384 texels, the 22 that tell 256ths of a texel
 * apart. Assumed: in between, the greater of the two. */
static HOT void count_texels(struct fetch *f, unsigned n, bool is_normalized)
{
    const double most = 1 << 30;
    const int bits = ilogb((double)f->size[n]) + 8;
    const double parts = ldexp(1, bits > 21 ? bits : 21), part = f->size[n] / parts;
    EACH_LANE(f->lanes, double x = f->x[n][l]; x = fabs(x) >= FLT_MIN ? x : 0;
              x = x < -most ? -most : x; x = x > most ? most : x;
              f->x[n][l] = is_normalized ? floor(x * parts) * part : x;)
}

/* Returns the integer of up to 51 bits that the double is. Processors do this for several threads
 * at once, unlike a conversion. */
static INLINE int64_t integer_of(double x)
{
    const double zero = 0x1.8p52, shifted = x + zero;
    int64_t of_zero, bits;
    memcpy(&of_zero, &zero, 8);
    memcpy(&bits, &shifted, 8);
    return bits - of_zero;
}

/* Returns the distance from the middle of the first texel, in 256ths. */
static INLINE double in_256ths(double x) { return floor((x - 0.5) * 256 + 0.5); }

static HOT bool fetch_nearest(const struct fetch *f, texels c)
{
    texel_places at;
    for (unsigned n = 0; n < f->dimensions; n++)
        EACH_LANE(f->lanes, at[n][l] = integer_of(floor(f->x[n][l]));)
    if (!read_texels(f, at, f->lanes, c))
        return false;
    for (unsigned n = 0; n < f->t->channels && f->t->reads_fractions; n++)
        EACH_LANE(f->lanes, c[n][l] = unfiltered(f->t, c[n][l]);)
    return true;
}

/* ---- filters ---- */

/* The corners that a filter weighs, in 256ths. Bit n of a corner's index says that it is the
 * further one in dimension n. A corner of weight 0 has the value 0, and one that has weight 0 in
 * all threads is not used. */
struct weighed {
    unsigned count, used;
    int weight[8][WARP_SIZE];
    texels value[8];
};

#define EACH_USED(k, w, first, end)            \
    for (unsigned k = (first); k < (end); k++) \
        if (!((w)->used >> k & 1))             \
            continue;                          \
        else

/* Returns part/256 of a weight. */
static INLINE int share(int weight, int part) { return (weight * part + 128) >> 8; }

/* Documented: weights have 9 bits, 8 of them for the fraction. Measured
 * (kernels-texture_words.txt): each product of two weights is rounded, and the neighbor gets the
 * rest. */
static HOT void weigh_corners(const struct fetch *f, int part[3][WARP_SIZE], struct weighed *w)
{
    for (unsigned z = 0; z < w->count; z += 4)
        EACH_LANE(f->lanes, const int far = f->dimensions > 2 ? part[2][l] : 0;
                  const int y = f->dimensions > 1 ? part[1][l] : 0;
                  const int slice = z ? far : 256 - far; const int right = share(slice, part[0][l]);
                  const int right_below = share(right, y);
                  const int left_above = share(slice - right, 256 - y);
                  w->weight[z + 3][l] = right_below; w->weight[z + 1][l] = right - right_below;
                  w->weight[z][l] = left_above; w->weight[z + 2][l] = slice - right - left_above;)
}

/* Measured (kernels-texture_words.txt): the sum is rounded to 16 bits, and bytes become 16 bits
 * only then; a negative tie is rounded up, and only the result is at least -1. */
static INLINE union channel fraction_of_sum(const struct texture *t, int32_t sum)
{
    if (t->channel_bytes == 2)
        sum = (sum + 128) >> 8;
    else if (t->kind == CHANNEL_UNSIGNED)
        sum += (sum + 128) >> 8;
    else
        sum += ((sum >> 4) * 257 + 1024) >> 11;
    return fraction_of(sum, integer_of_one(t, 2));
}

static HOT void add_fractions(const struct fetch *f, const struct weighed *w, unsigned n,
                              union channel *c)
{
    int32_t sum[WARP_SIZE] = {0};
    EACH_USED(k, w, 0, w->count)
    EACH_LANE(f->lanes, sum[l] += w->weight[k][l] * (int32_t)w->value[k][n][l].bits;)
    EACH_LANE(f->lanes, c[l] = fraction_of_sum(f->t, sum[l]);)
}

static INLINE double power_of_2(int exponent)
{
    const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* The exponent of a denormal number or 0 is NO_EXPONENT. */
enum { NO_EXPONENT = -127 };
static INLINE int exponent_of(union channel c) { return (int)(c.bits >> 23 & 255) + NO_EXPONENT; }

/* Adds a slice's finite values. Measured (kernels-texture_words.txt): each is truncated three bits
 * below the last bit of the greatest one in its slice, and denormal floats are 0. */
static HOT void add_slice(const struct fetch *f, const struct weighed *w, unsigned first,
                          unsigned n, int digits, double *sum)
{
    const unsigned end = first + 4 < w->count ? first + 4 : w->count;
    int greatest[WARP_SIZE];
    double part[WARP_SIZE] = {0};
    for (unsigned l = 0; l < WARP_SIZE; l++)
        greatest[l] = NO_EXPONENT;
    EACH_USED(k, w, first, end)
    EACH_LANE(f->lanes, const int e = exponent_of(w->value[k][n][l]);
              greatest[l] = e > greatest[l] ? e : greatest[l];)
    EACH_USED(k, w, first, end)
    EACH_LANE(f->lanes, const union channel v = w->value[k][n][l];
              const double x = fabsf(v.number) < FLT_MIN ? 0 : v.number;
              part[l] += w->weight[k][l] * trunc(x * power_of_2(digits + 3 - greatest[l]));)
    EACH_LANE(f->lanes, sum[l] += part[l] * power_of_2(greatest[l] - digits - 11);)
}

/* Measured (kernels-texture_words.txt): the sum of all slices is rounded once, and a tie away from
 * 0. Assumed: a denormal float is 0 as a result, too. */
static INLINE float float_of_sum(double sum, bool is_half, bool is_negative)
{
    const int digits = is_half ? 11 : 24;
    uint64_t bits;
    memcpy(&bits, &sum, 8);
    const int last = (int)(bits >> 52 & 2047) - 1022 - digits;
    const int unit = is_half && last < -24 ? -24 : last;
    const double x = sum * power_of_2(-unit), whole = trunc(x);
    const double rounded = fabs(x - whole) < 0.5 ? whole : whole + copysign(1, x);
    const float zero = is_negative ? -0.0F : 0.0F;
    return fabs(sum) < (is_half ? 0x1p-25 : (double)FLT_MIN) ? zero
                                                             : (float)(rounded * power_of_2(unit));
}

/* Measured (kernels-texture_words.txt): a NaN has these bits. */
static HOT void add_floats(const struct fetch *f, const struct weighed *w, unsigned n,
                           union channel *c)
{
    const bool is_half = f->t->channel_bytes == 2;
    double sum[WARP_SIZE] = {0};
    float unusual[WARP_SIZE] = {0};
    uint32_t sign[WARP_SIZE];
    memset(sign, 255, sizeof sign);
    EACH_USED(k, w, 0, w->count)
    EACH_LANE(f->lanes, const union channel v = w->value[k][n][l];
              sign[l] &= w->weight[k][l] ? v.bits : ALL_LANES;
              unusual[l] += fabsf(v.number) <= FLT_MAX ? 0 : v.number;)
    for (unsigned k = 0; k < w->count; k += 4)
        add_slice(f, w, k, n, is_half ? 11 : 24, sum);
    EACH_LANE(f->lanes, c[l].number = float_of_sum(sum[l], is_half, sign[l] >> 31);
              c[l].number = unusual[l] != 0 ? unusual[l] : c[l].number;
              c[l].bits = unusual[l] != unusual[l] ? 0x7fffffff : c[l].bits;)
}

/* Sets the near corner's place, and the distance from it, in 256ths. */
static HOT void find_corner(const struct fetch *f, unsigned n, texel_places from,
                            int part[3][WARP_SIZE])
{
    /* Beyond the middle of the last texel there is no neighbor to weigh. */
    const bool is_clamped = f->t->mode[n] == ADDRESS_CLAMP;
    const double least = is_clamped ? 0.5 : -INFINITY;
    const double most = is_clamped ? f->size[n] - 0.5 : INFINITY;
    EACH_LANE(f->lanes, double x = f->x[n][l]; x = x > most ? most : x; x = x < least ? least : x;
              const double place = in_256ths(x), near = floor(place / 256);
              from[n][l] = integer_of(near); part[n][l] = (int)(place - near * 256);)
}

/* A texel of weight 0 is not read. */
static HOT bool read_corner(const struct fetch *f, texel_places from, unsigned corner,
                            struct weighed *w)
{
    texel_places at;
    uint32_t lanes = 0;
    EACH_LANE(f->lanes, lanes |= (uint32_t)(w->weight[corner][l] != 0) << l;)
    if (!lanes)
        return true;
    w->used |= 1u << corner;
    for (unsigned n = 0; n < f->dimensions; n++)
        EACH_LANE(f->lanes, at[n][l] = from[n][l] + (corner >> n & 1);)
    if (lanes != f->lanes)
        memset(w->value[corner], 0, f->t->channels * sizeof *w->value[corner]);
    return read_texels(f, at, lanes, w->value[corner]);
}

static HOT bool fetch_linear(const struct fetch *f, texels c)
{
    struct weighed w;
    texel_places from;
    int part[3][WARP_SIZE];
    w.count = 1u << f->dimensions;
    w.used = 0;
    for (unsigned n = 0; n < f->dimensions; n++)
        find_corner(f, n, from, part);
    weigh_corners(f, part, &w);
    for (unsigned corner = 0; corner < w.count; corner++)
        if (!read_corner(f, from, corner, &w))
            return false;
    for (unsigned n = 0; n < f->t->channels; n++)
        if (f->t->kind == CHANNEL_FLOAT)
            add_floats(f, &w, n, c[n]);
        else
            add_fractions(f, &w, n, c[n]);
    return true;
}

/* ---- places ---- */

/* Documented (the guide's table of faces): the face, and where a direction meets it. Measured
 * (kernels-texture_words.txt): of equal parts, z goes before y, and y before x; the direction is
 * first divided by its greatest part, and a part that becomes a NaN is 0. */
static unsigned face_of(double x[3])
{
    const double m = fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2])));
    double s, t;
    unsigned face;
    for (unsigned n = 0; n < 3; n++) {
        x[n] /= m;
        x[n] = x[n] != x[n] ? 0 : x[n];
    }
    const double ax = fabs(x[0]), ay = fabs(x[1]), az = fabs(x[2]);
    if (az >= ax && az >= ay) {
        face = 4 + (x[2] < 0);
        s = x[2] < 0 ? -x[0] : x[0];
        t = -x[1];
    } else if (ay >= ax) {
        face = 2 + (x[1] < 0);
        s = x[0];
        t = x[1] < 0 ? -x[2] : x[2];
    } else {
        face = x[0] < 0;
        s = x[0] < 0 ? x[2] : -x[2];
        t = -x[1];
    }
    x[0] = (s + 1) / 2;
    x[1] = (t + 1) / 2;
    return face;
}

/* Measured (kernels-textures.txt): a layer's index is unsigned, and one that is too large gives the
 * last layer. */
static HOT void find_layers(struct fetch *f, uint32_t faces)
{
    const lane_s32 *r = integers_of(f->w, f->i, 0);
    const uint32_t count = f->t->depth / faces;
    EACH_LANE(f->lanes, const uint32_t index = (uint32_t)r[l];
              f->base[l] += (uint64_t)(index >= count ? count - 1 : index) * faces * f->t->slice;)
}

static void find_faces(struct fetch *f)
{
    FOR_LANES (l, f->lanes) {
        double x[3] = {f->x[0][l], f->x[1][l], f->x[2][l]};
        f->base[l] += face_of(x) * f->t->slice;
        f->x[0][l] = x[0];
        f->x[1][l] = x[1];
    }
}

static HOT void load_coordinates(struct fetch *f, unsigned count, unsigned first)
{
    for (unsigned n = 0; n < count; n++) {
        const lane_s32 *integers = integers_of(f->w, f->i, first + n);
        const lane_f32 *floats = (const lane_f32 *)integers;
        if (f->i->is_signed) {
            EACH_LANE(f->lanes, f->x[n][l] = integers[l];)
        } else {
            EACH_LANE(f->lanes, f->x[n][l] = floats[l];)
        }
    }
}

/* Sets the layers, the sizes, and the coordinates in texels. */
static HOT void find_places(struct fetch *f)
{
    static const uint8_t dimensions[] = {1, 2, 3, 1, 2, 3, 3};
    const enum geometry g = f->i->option;
    const bool has_layers =
        g == GEOMETRY_1D_LAYERS || g == GEOMETRY_2D_LAYERS || g == GEOMETRY_CUBE_LAYERS;
    const bool is_cube = g == GEOMETRY_CUBE || g == GEOMETRY_CUBE_LAYERS;
    unsigned count = dimensions[g];
    EACH_LANE(f->lanes, f->base[l] = f->t->base;)
    if (has_layers)
        find_layers(f, is_cube ? 6 : 1);
    load_coordinates(f, count, has_layers);
    if (is_cube) {
        find_faces(f);
        count = 2;
    }
    f->size[0] = f->t->width;
    f->size[1] = count > 1 ? f->t->height : 1;
    f->size[2] = count > 2 ? f->t->depth : 1;
    for (unsigned n = 0; n < count; n++)
        count_texels(f, n, (f->t->is_normalized || is_cube) && !f->i->is_signed);
    /* Measured (kernels-texture_words.txt): a filter treats a 1D texture as a 2D one that is read
     * at 0, between a texel and the border. */
    if (g == GEOMETRY_1D && f->t->filters && f->t->mode[1] == ADDRESS_BORDER) {
        memset(f->x[1], 0, sizeof f->x[1]);
        count = 2;
    }
    f->dimensions = count;
}

/* Documented (PTX ISA, tld4): the texels that a linear filter would weigh, counterclockwise from
 * the lower left one. Measured (kernels-texture_words.txt): its places, in 256ths, decide. */
static HOT bool gather(const struct fetch *f, texels c)
{
    static const uint8_t corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    for (unsigned n = 0; n < 4; n++) {
        texel_places at;
        texels corner = {0};
        for (unsigned m = 0; m < 2; m++)
            EACH_LANE(f->lanes,
                      at[m][l] = integer_of(floor(in_256ths(f->x[m][l]) / 256)) + corners[n][m];)
        if (!read_texels(f, at, f->lanes, corner))
            return false;
        EACH_LANE(f->lanes, c[n][l] = unfiltered(f->t, corner[f->i->rounding][l]);)
    }
    return true;
}

/* Returns false if the threads have to fetch one after the other, or after a fault. */
static HOT bool fetch(struct fetch *f)
{
    texels c;
    f->t = object_of(f->w, f->i, (unsigned)__builtin_ctz(f->lanes), false);
    if (!f->t)
        return false;
    find_places(f);
    const bool done = f->i->run == run_gather           ? gather(f, c)
                    : f->t->filters && !f->i->is_signed ? fetch_linear(f, c)
                                                        : fetch_nearest(f, c);
    const unsigned channels = f->i->run == run_gather ? 4 : f->t->channels;
    for (unsigned n = 0; n < 4 && done; n++)
        set_results(f, n, n < channels ? c[n] : NULL);
    return done;
}

HOT void run_texture(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct fetch f;
    const lane_u64 *handles = (const lane_u64 *)(w->registers + i->r[TEXTURE_OBJECT]);
    const uint64_t handle = handles[__builtin_ctz(lanes)];
    uint64_t others = 0;
    EACH_LANE(lanes, others |= handles[l] ^ handle;)
    f.w = w;
    f.i = i;
    f.lanes = lanes;
    if (!others && fetch(&f))
        return;
    for (uint32_t rest = lanes; rest && !w->launch->fault->kind; rest &= rest - 1) {
        f.lanes = rest & -rest;
        fetch(&f);
    }
}

void run_gather(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    run_texture(w, i, lanes);
}

/* ---- surfaces ---- */

/* A thread that accesses a surface. */
struct access {
    struct warp *w;
    const struct instruction *i;
    unsigned l;
    const struct texture *t;
};

static int32_t integer_at(const struct access *a, unsigned n)
{
    return integers_of(a->w, a->i, n)[a->l];
}

/* Where a surface is accessed: an address, or an access that has no effect. */
enum surface_place { PLACE_INSIDE, PLACE_NOWHERE, PLACE_FAULT };

/* Documented (PTX ISA, suld): x counts bytes, and the others texels; an access outside traps, is
 * moved to the nearest place, or has no effect. */
static enum surface_place find_on_surface(const struct access *a, uint64_t *address)
{
    static const unsigned dimensions[] = {1, 2, 3, 1, 2};
    const struct texture *t = a->t;
    const struct instruction *i = a->i;
    const bool has_layers = i->option == GEOMETRY_1D_LAYERS || i->option == GEOMETRY_2D_LAYERS;
    const unsigned count = dimensions[i->option];
    const int64_t bytes = (int64_t)i->bytes * i->count;
    const int64_t row = (int64_t)t->width * t->channels * t->channel_bytes;
    const int64_t most[3] = {row - bytes, count > 1 ? t->height - 1 : 0,
                             has_layers || count > 2 ? t->depth - 1 : 0};
    int64_t at[3] = {integer_at(a, has_layers), count > 1 ? integer_at(a, 1 + has_layers) : 0,
                     has_layers  ? integer_at(a, 0)
                     : count > 2 ? integer_at(a, 2)
                                 : 0};
    for (unsigned n = 0; n < 3; n++) {
        if (at[n] >= 0 && at[n] <= most[n])
            continue;
        if (i->rounding == BOUNDARY_ZERO)
            return PLACE_NOWHERE;
        if (i->rounding == BOUNDARY_TRAP || most[n] < 0) {
            warp_fault(a->w, a->l, FAULT_SURFACE, 0, 0, i->run == run_surface_store);
            return PLACE_FAULT;
        }
        at[n] = at[n] < 0 ? 0 : most[n];
    }
    *address = t->base + (uint64_t)at[2] * t->slice + (uint64_t)at[1] * t->pitch + (uint64_t)at[0];
    return PLACE_INSIDE;
}

/* Sets the bytes to access, or NULL if the access has no effect. Returns false after a fault. */
static bool surface_bytes(struct access *a, enum access_kind kind, char **bytes)
{
    uint64_t address;
    *bytes = NULL;
    a->t = object_of(a->w, a->i, a->l, true);
    if (!a->t)
        return false;
    const enum surface_place place = find_on_surface(a, &address);
    if (place != PLACE_INSIDE)
        return place == PLACE_NOWHERE;
    *bytes = warp_bytes(a->w, a->i, a->l, address, (size_t)a->i->bytes * a->i->count, kind);
    return *bytes;
}

void run_surface_load(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    FOR_LANES (l, lanes) {
        struct access a = {.w = w, .i = i, .l = l};
        char *from;
        if (!surface_bytes(&a, ACCESS_READ, &from))
            return;
        for (unsigned n = 0; n < i->count; n++) {
            uint64_t value = 0;
            if (from)
                memcpy(&value, from + (size_t)n * i->bytes, i->bytes);
            if (i->wide)
                ((lane_u64 *)(w->registers + i->r[n]))[a.l] = value;
            else
                ((lane_u32 *)(w->registers + i->r[n]))[a.l] = (uint32_t)value;
        }
    }
}

void run_surface_store(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    w->launch->changes++;
    FOR_LANES (l, lanes) {
        struct access a = {.w = w, .i = i, .l = l};
        const size_t slot = i->wide ? 8 : 4;
        char *to;
        if (!surface_bytes(&a, ACCESS_WRITE, &to))
            return;
        for (unsigned n = 0; to && n < i->count; n++)
            memcpy(to + (size_t)n * i->bytes, w->registers + i->r[n + 1] + a.l * slot, i->bytes);
    }
}
