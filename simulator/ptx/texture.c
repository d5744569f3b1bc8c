/* Runs fetches from textures, and loads and stores of surfaces. The formulas are those of the CUDA
 * C++ Programming Guide, "Texture Fetching". */
#include "ptx/texture.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "ptx/half.h"
#include "ptx/warp.h"

/* A channel's value, as the bits of its register or as a number that is filtered. */
union channel {
    uint32_t bits;
    float number;
};

/* The thread that fetches, and from what. */
struct fetch {
    struct warp *w;
    const struct instruction *i;
    unsigned l;
    const struct texture *t;
    /* One for layers, of which each is a texture; otherwise as the texture has them. */
    uint32_t size[3];
    /* The slice of the layer. */
    uint64_t layer;
};

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

static int32_t integer_at(const struct fetch *f, unsigned n)
{
    return ((const lane_s32 *)(f->w->registers + f->i->r[TEXTURE_PLACE + n]))[f->l];
}

static double coordinate_at(const struct fetch *f, unsigned n)
{
    return f->i->is_signed
             ? integer_at(f, n)
             : ((const lane_f32 *)(f->w->registers + f->i->r[TEXTURE_PLACE + n]))[f->l];
}

static void set_result(const struct fetch *f, unsigned n, uint32_t bits)
{
    ((lane_u32 *)(f->w->registers + f->i->r[n]))[f->l] = bits;
}

/* ---- texels ---- */

/* Returns the texel's index, or -1 for one of the border. Assumed: where there are no texels, all
 * is border. */
static int64_t folded(int64_t i, uint32_t size, enum address_mode mode)
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

/* Returns the integer of this many bytes that is read as the fraction 1. */
static int32_t integer_of_one(const struct texture *t, unsigned bytes)
{
    return (int32_t)((1U << (8 * bytes - (t->kind == CHANNEL_SIGNED))) - 1);
}

/* Documented: an integer that is read as a fraction is in [0, 1] or, with a sign, in [-1, 1]. */
static union channel fraction_of(int32_t value, int32_t one)
{
    return (union channel){.number = (float)((double)(value < -one ? -one : value) / one)};
}

/* The result of a fetch that does not filter. */
static union channel unfiltered(const struct texture *t, union channel c)
{
    return t->reads_fractions ? fraction_of((int32_t)c.bits, integer_of_one(t, t->channel_bytes))
                              : c;
}

/* Returns the integer, also if it is to be read as a fraction, or the float. */
static union channel channel_of(const struct texture *t, const char *from)
{
    union channel c = {.bits = 0};
    uint16_t narrow = 0;
    if (t->channel_bytes == 4) {
        memcpy(&c.bits, from, 4);
        return c;
    }
    memcpy(&narrow, from, t->channel_bytes);
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

/* Reads the texel. Measured (kernels-textures.txt): channels that a texture does not have are 0.
 * Returns false after a fault. */
static bool read_texel(const struct fetch *f, const int64_t at[3], union channel c[4])
{
    const struct texture *t = f->t;
    int64_t index[3];
    bool is_border = false;
    for (unsigned n = 0; n < 3; n++) {
        index[n] = folded(at[n], f->size[n], t->is_linear_memory ? ADDRESS_BORDER : t->mode[n]);
        is_border |= index[n] < 0;
    }
    memset(c, 0, 4 * sizeof *c);
    if (is_border) {
        for (unsigned n = 0; n < t->channels; n++)
            c[n] = border_of(t, n);
        return true;
    }
    const size_t bytes = (size_t)t->channels * t->channel_bytes;
    const uint64_t address = t->base + (f->layer + (uint64_t)index[2]) * t->slice
                           + (uint64_t)index[1] * t->pitch + (uint64_t)index[0] * bytes;
    const char *from = warp_bytes(f->w, f->i, f->l, address, bytes, ACCESS_READ);
    for (unsigned n = 0; from && n < t->channels; n++)
        c[n] = channel_of(t, from + n * t->channel_bytes);
    return from;
}

/* ---- coordinates ---- */

/* Returns the coordinate in texels, with no more than an index can hold. Measured
 * (kernels-texture_words.txt): what is no number is 0, as is a denormal number; of 3 to 1920
 * texels, a normalized coordinate has 21 bits for its fraction, and of 16384, the 22 that tell
 * their 256ths apart. Assumed: between, the greater of the two. */
static double in_texels(const struct fetch *f, double x, unsigned n, bool is_normalized)
{
    const double most = 1 << 30;
    if (x != x || fabs(x) < FLT_MIN)
        return 0;
    x = x < -most ? -most : x > most ? most : x;
    if (is_normalized) {
        const int bits = ilogb((double)f->size[n]) + 8;
        const int used = bits > 21 ? bits : 21;
        x = ldexp(floor(ldexp(x, used)) * f->size[n], -used);
    }
    return x;
}

/* Returns the place from the first texel's middle on, in 256ths. */
static int64_t in_256ths(double x) { return (int64_t)floor((x - 0.5) * 256 + 0.5); }

static bool fetch_nearest(const struct fetch *f, const double x[3], unsigned dimensions,
                          union channel c[4])
{
    int64_t at[3] = {0, 0, 0};
    for (unsigned n = 0; n < dimensions; n++)
        at[n] = (int64_t)floor(x[n]);
    if (!read_texel(f, at, c))
        return false;
    for (unsigned n = 0; n < f->t->channels; n++)
        c[n] = unfiltered(f->t, c[n]);
    return true;
}

/* Returns part/256 of a weight. */
static int share(int weight, int part) { return (weight * part + 128) / 256; }

/* Sets the weights of the corners, in 256ths; bit n of a corner's index says that it is the further
 * one in dimension n. Documented: weights have 9 bits, 8 of them for the fraction. Measured
 * (kernels-texture_words.txt): each product of two weights is rounded, and the neighbor gets the
 * rest. */
static void weigh_corners(const int part[3], int weights[8])
{
    for (int z = 0; z < 2; z++) {
        int *of = weights + 4 * z;
        const int slice = z ? part[2] : 256 - part[2];
        const int right = share(slice, part[0]), left = slice - right;
        of[3] = share(right, part[1]);
        of[1] = right - of[3];
        of[0] = share(left, 256 - part[1]);
        of[2] = left - of[0];
    }
}

/* The corners that a filter weighs, those of the nearer slice first. */
struct weighed {
    unsigned near, count;
    int weight[8];
    union channel value[8][4];
};

/* Measured (kernels-texture_words.txt): the sum is rounded to 16 bits, and bytes become 16 bits
 * only then; a negative tie is rounded up, and only the result is at least -1. */
static union channel sum_of_fractions(const struct texture *t, const struct weighed *w, unsigned n)
{
    int32_t sum = 0;
    for (unsigned corner = 0; corner < w->count; corner++)
        sum += w->weight[corner] * (int32_t)w->value[corner][n].bits;
    if (t->channel_bytes == 2)
        sum = (sum + 128) >> 8;
    else if (t->kind == CHANNEL_UNSIGNED)
        sum += (sum + 128) >> 8;
    else
        sum += ((sum >> 4) * 257 + 1024) >> 11;
    return fraction_of(sum, integer_of_one(t, 2));
}

/* Returns the sum of finite values. Measured (kernels-texture_words.txt): each is cut off three
 * bits after the last one of the greatest in its slice, and denormal floats are 0. */
static double sum_of_slice(const struct weighed *w, unsigned first, unsigned end, unsigned n,
                           int digits)
{
    int greatest = INT_MIN;
    int64_t sum = 0;
    for (unsigned corner = first; corner < end; corner++) {
        const float v = fabsf(w->value[corner][n].number);
        if (v >= FLT_MIN && ilogbf(v) > greatest)
            greatest = ilogbf(v);
    }
    if (greatest == INT_MIN)
        return 0;
    const int last = greatest - digits - 3;
    for (unsigned corner = first; corner < end; corner++) {
        const float v = w->value[corner][n].number;
        if (fabsf(v) >= FLT_MIN)
            sum += w->weight[corner] * (int64_t)ldexp((double)v, -last);
    }
    return ldexp((double)sum, last - 8);
}

/* Measured (kernels-texture_words.txt): the sum of all slices is rounded once, and a tie away from
 * 0; what is no number has these bits. Assumed: a denormal float is 0 as a result, too. */
static union channel sum_of_floats(const struct texture *t, const struct weighed *w, unsigned n)
{
    const bool half = t->channel_bytes == 2;
    const int digits = half ? 11 : 24;
    double unusual = 0;
    bool is_negative = true;
    for (unsigned corner = 0; corner < w->count; corner++) {
        const float v = w->value[corner][n].number;
        is_negative &= signbit(v) != 0;
        unusual += isfinite(v) ? 0 : (double)v;
    }
    if (unusual != 0)
        return unusual != unusual ? (union channel){.bits = 0x7fffffff}
                                  : (union channel){.number = (float)unusual};
    const double sum =
        sum_of_slice(w, 0, w->near, n, digits) + sum_of_slice(w, w->near, w->count, n, digits);
    if (fabs(sum) < (half ? 0x1p-25 : (double)FLT_MIN))
        return (union channel){.number = is_negative ? -0.0F : 0.0F};
    const int last = ilogb(sum) + 1 - digits, unit = half && last < -24 ? -24 : last;
    return (union channel){.number = (float)ldexp(round(ldexp(sum, -unit)), unit)};
}

/* A texel of weight 0 is not read. */
static bool fetch_linear(const struct fetch *f, const double x[3], unsigned dimensions,
                         union channel c[4])
{
    struct weighed w = {.near = 0};
    int64_t from[3] = {0, 0, 0};
    int part[3] = {0, 0, 0}, weights[8];
    for (unsigned n = 0; n < dimensions; n++) {
        /* Beyond the middle of the last texel there is nothing to weigh. */
        const double last = f->size[n] - 0.5;
        double place = x[n];
        if (f->t->mode[n] == ADDRESS_CLAMP)
            place = place < 0.5 ? 0.5 : place > last ? last : place;
        const int64_t at = in_256ths(place);
        from[n] = at >> 8;
        part[n] = (int)(at & 255);
    }
    weigh_corners(part, weights);
    for (unsigned corner = 0; corner < 8; corner++) {
        const int64_t at[3] = {from[0] + (corner & 1), from[1] + (corner >> 1 & 1),
                               from[2] + (corner >> 2)};
        if (!weights[corner])
            continue;
        if (!read_texel(f, at, w.value[w.count]))
            return false;
        w.weight[w.count++] = weights[corner];
        w.near += corner < 4;
    }
    memset(c, 0, 4 * sizeof *c);
    for (unsigned n = 0; n < f->t->channels; n++)
        c[n] = f->t->kind == CHANNEL_FLOAT ? sum_of_floats(f->t, &w, n)
                                           : sum_of_fractions(f->t, &w, n);
    return true;
}

/* Documented (the guide's table of faces): the face, and where a direction meets it. Measured
 * (kernels-textures.txt, kernels-texture_words.txt): of equal parts, z goes before y, and y before
 * x; the direction is divided by its greatest part first, and a part that is then no number is
 * 0. */
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

/* Measured (kernels-textures.txt): the index of a layer that there is not gives the last one, and
 * it has no sign. */
static uint64_t layer_of(const struct fetch *f, unsigned faces)
{
    const uint32_t index = (uint32_t)integer_at(f, 0), count = f->t->depth / faces;
    return (uint64_t)(index >= count ? count - 1 : index) * faces;
}

/* Sets the layer, the sizes, and the coordinates in texels. Returns the number of dimensions. */
static unsigned find_place(struct fetch *f, double x[3])
{
    static const unsigned dimensions[] = {1, 2, 3, 1, 2, 3, 3};
    const enum geometry g = f->i->option;
    const bool has_layers =
        g == GEOMETRY_1D_LAYERS || g == GEOMETRY_2D_LAYERS || g == GEOMETRY_CUBE_LAYERS;
    const bool is_cube = g == GEOMETRY_CUBE || g == GEOMETRY_CUBE_LAYERS;
    unsigned count = dimensions[g];
    f->layer = has_layers ? layer_of(f, is_cube ? 6 : 1) : 0;
    for (unsigned n = 0; n < count; n++)
        x[n] = coordinate_at(f, n + has_layers);
    if (is_cube) {
        f->layer += face_of(x);
        count = 2;
    }
    f->size[0] = f->t->width;
    f->size[1] = count > 1 ? f->t->height : 1;
    f->size[2] = count > 2 ? f->t->depth : 1;
    for (unsigned n = 0; n < count; n++)
        x[n] = in_texels(f, x[n], n, (f->t->is_normalized || is_cube) && !f->i->is_signed);
    /* Measured (kernels-textures.txt): a filter takes a texture of one dimension for one of two
     * that is read at 0, which is between a texel and the border. */
    if (g == GEOMETRY_1D && f->t->filters && f->t->mode[1] == ADDRESS_BORDER) {
        x[1] = 0;
        return 2;
    }
    return count;
}

void run_texture(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        struct fetch f = {.w = w, .i = i, .l = (unsigned)__builtin_ctz(rest)};
        union channel c[4];
        double x[3];
        f.t = object_of(w, i, f.l, false);
        if (!f.t)
            return;
        const unsigned dimensions = find_place(&f, x);
        const bool filters = f.t->filters && !i->is_signed;
        if (!(filters ? fetch_linear : fetch_nearest)(&f, x, dimensions, c))
            return;
        for (unsigned n = 0; n < 4; n++)
            set_result(&f, n, c[n].bits);
    }
}

/* Documented (PTX ISA, tld4): the texels that a linear filter would weigh, counterclockwise from
 * the lower left one. Measured (kernels-texture_words.txt): its places, in 256ths, decide. */
void run_gather(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    static const uint8_t corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        struct fetch f = {.w = w, .i = i, .l = (unsigned)__builtin_ctz(rest)};
        uint32_t results[4];
        union channel c[4];
        double x[3];
        f.t = object_of(w, i, f.l, false);
        if (!f.t)
            return;
        find_place(&f, x);
        for (unsigned n = 0; n < 4; n++) {
            const int64_t at[3] = {(in_256ths(x[0]) >> 8) + corners[n][0],
                                   (in_256ths(x[1]) >> 8) + corners[n][1], 0};
            if (!read_texel(&f, at, c))
                return;
            results[n] = unfiltered(f.t, c[i->rounding]).bits;
        }
        for (unsigned n = 0; n < 4; n++)
            set_result(&f, n, results[n]);
    }
}

/* ---- surfaces ---- */

/* Where a surface is accessed: an address, or an access that has no effect. */
enum surface_place { PLACE_INSIDE, PLACE_NOWHERE, PLACE_FAULT };

/* Documented (PTX ISA, suld): x counts bytes, and the others texels; outside, the access traps, is
 * moved to the nearest place, or has no effect. */
static enum surface_place find_on_surface(const struct fetch *f, uint64_t *address)
{
    static const unsigned dimensions[] = {1, 2, 3, 1, 2};
    const struct texture *t = f->t;
    const struct instruction *i = f->i;
    const bool has_layers = i->option == GEOMETRY_1D_LAYERS || i->option == GEOMETRY_2D_LAYERS;
    const unsigned count = dimensions[i->option];
    const int64_t bytes = (int64_t)i->bytes * i->count;
    const int64_t row = (int64_t)t->width * t->channels * t->channel_bytes;
    const int64_t most[3] = {row - bytes, count > 1 ? t->height - 1 : 0,
                             has_layers || count > 2 ? t->depth - 1 : 0};
    int64_t at[3] = {integer_at(f, has_layers), count > 1 ? integer_at(f, 1 + has_layers) : 0,
                     has_layers  ? integer_at(f, 0)
                     : count > 2 ? integer_at(f, 2)
                                 : 0};
    for (unsigned n = 0; n < 3; n++) {
        if (at[n] >= 0 && at[n] <= most[n])
            continue;
        if (i->rounding == BOUNDARY_ZERO)
            return PLACE_NOWHERE;
        if (i->rounding == BOUNDARY_TRAP || most[n] < 0) {
            warp_fault(f->w, f->l, FAULT_SURFACE, 0, 0, i->run == run_surface_store);
            return PLACE_FAULT;
        }
        at[n] = at[n] < 0 ? 0 : most[n];
    }
    *address = t->base + (uint64_t)at[2] * t->slice + (uint64_t)at[1] * t->pitch + (uint64_t)at[0];
    return PLACE_INSIDE;
}

/* Returns the bytes, NULL if there is no effect, and false after a fault. */
static bool surface_bytes(struct fetch *f, enum access_kind kind, char **bytes)
{
    uint64_t address;
    *bytes = NULL;
    f->t = object_of(f->w, f->i, f->l, true);
    if (!f->t)
        return false;
    const enum surface_place place = find_on_surface(f, &address);
    if (place != PLACE_INSIDE)
        return place == PLACE_NOWHERE;
    *bytes = warp_bytes(f->w, f->i, f->l, address, (size_t)f->i->bytes * f->i->count, kind);
    return *bytes;
}

void run_surface_load(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        struct fetch f = {.w = w, .i = i, .l = (unsigned)__builtin_ctz(rest)};
        char *from;
        if (!surface_bytes(&f, ACCESS_READ, &from))
            return;
        for (unsigned n = 0; n < i->count; n++) {
            uint64_t value = 0;
            if (from)
                memcpy(&value, from + (size_t)n * i->bytes, i->bytes);
            if (i->wide)
                ((lane_u64 *)(w->registers + i->r[n]))[f.l] = value;
            else
                set_result(&f, n, (uint32_t)value);
        }
    }
}

void run_surface_store(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    w->launch->changes++;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        struct fetch f = {.w = w, .i = i, .l = (unsigned)__builtin_ctz(rest)};
        const size_t slot = i->wide ? 8 : 4;
        char *to;
        if (!surface_bytes(&f, ACCESS_WRITE, &to))
            return;
        for (unsigned n = 0; to && n < i->count; n++)
            memcpy(to + (size_t)n * i->bytes, w->registers + i->r[n + 1] + f.l * slot, i->bytes);
    }
}
