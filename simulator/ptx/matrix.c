/* Matrices that a warp loads, multiplies, and stores. Documented: products of sixteen bits are
 * exact, and sums have at least the accumulator's precision; their order is not specified. Here a
 * sum is computed with doubles and rounded once. */
#include "ptx/matrix.h"

#include <math.h>
#include <string.h>

#include "ptx/half.h"
#include "ptx/warp.h"

/* The number of elements of the largest matrix, 32 by 16. */
#define ELEMENTS_MAX 512

static const uint8_t element_bytes[] = {2, 2, 4, 4, 8, 1, 1, 4};

static unsigned count_of(const struct fragment *f) { return (unsigned)f->rows * f->columns; }
/* Returns how many different elements a thread has. A thread has each half twice. */
static unsigned share_of(const struct fragment *f) { return count_of(f) / WARP_SIZE; }

/* The bytes of thread l in the fragment: byte `at` of all its registers. */
static char *register_byte(struct warp *w, const struct fragment *f, unsigned l, unsigned at)
{
    unsigned width = f->element == ELEMENT_F64 ? 8 : 4;
    return w->registers + f->registers[at / width] + l * width + at % width;
}

/* ---- loads and stores ---- */

static uint64_t address_of(const struct fragment *f, uint64_t begin, uint64_t stride, unsigned n,
                           bool by_column)
{
    unsigned inner = by_column ? f->rows : f->columns;
    return begin + (n / inner * stride + n % inner) * element_bytes[f->element];
}

/* Returns where element n of an accumulator, counted by rows, is in memory that is by columns. */
static unsigned transposed(const struct fragment *f, unsigned n)
{
    return n % f->columns * f->rows + n / f->columns;
}

static bool transfer_part(struct warp *w, const struct instruction *i, const struct fragment *f,
                          unsigned l, uint64_t address, unsigned at, unsigned bytes, bool stores)
{
    char *memory = warp_bytes(w, i, l, address, bytes, stores ? ACCESS_WRITE : ACCESS_READ);
    for (unsigned n = 0; memory && n < bytes; n++) {
        char *mine = register_byte(w, f, l, at + n);
        if (stores)
            memory[n] = *mine;
        else
            *mine = memory[n];
    }
    return memory != NULL;
}

/* Loads or stores the part of thread l, in pieces of at most 16 neighboring bytes. */
static bool transfer(struct warp *w, const struct instruction *i, const struct fragment *f,
                     unsigned l, bool is_accumulator, bool stores)
{
    const unsigned size = element_bytes[f->element], share = share_of(f);
    const unsigned inner = f->by_column ? f->rows : f->columns;
    uint64_t begin = i->option ? ((const lane_u32 *)(w->registers + i->r[0]))[l]
                               : ((const lane_u64 *)(w->registers + i->r[0]))[l];
    begin += (uint64_t)(int64_t)(int32_t)i->target;
    const uint64_t stride = ((const lane_u32 *)(w->registers + i->r[1]))[l];
    const bool each_alone = is_accumulator && f->by_column;
    unsigned piece = each_alone ? 1 : share < 16 / size ? share : 16 / size;
    piece = piece < inner ? piece : inner;
    for (unsigned n = 0; n < share; n += piece) {
        unsigned element = l * share + n;
        element = each_alone ? transposed(f, element) : element;
        uint64_t address = address_of(f, begin, stride, element, f->by_column);
        if (!transfer_part(w, i, f, l, address, n * size, piece * size, stores))
            return false;
    }
    /* The second copy of each element. */
    const unsigned all = f->register_count * (f->element == ELEMENT_F64 ? 8u : 4u);
    for (unsigned at = share * size; !stores && at < all; at++)
        *register_byte(w, f, l, at) = *register_byte(w, f, l, at - share * size);
    return true;
}

/* Documented: all threads of the warp run the instruction. */
static bool is_whole(struct warp *w, uint32_t lanes)
{
    if (lanes == ALL_LANES)
        return true;
    warp_fault(w, (unsigned)__builtin_ctz(lanes), FAULT_BARRIER, 0, 0, false);
    return false;
}

static void transfer_all(struct warp *w, const struct instruction *i, uint32_t lanes, bool stores)
{
    const struct fragment *f = &w->frame->code->matrices[i->immediate].d;
    /* Factors and accumulators have different element types, except halves, where the number of
     * registers tells them apart. */
    const bool is_accumulator = f->element == ELEMENT_F32 || f->element == ELEMENT_S32
                             || (f->element == ELEMENT_F16 && f->register_count == 4)
                             || (f->element == ELEMENT_F64 && f->register_count == 2);
    for (unsigned l = 0; is_whole(w, lanes) && l < WARP_SIZE; l++)
        if (!transfer(w, i, f, l, is_accumulator, stores))
            return;
}

void run_matrix_load(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    transfer_all(w, i, lanes, false);
}

void run_matrix_store(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    transfer_all(w, i, lanes, true);
}

/* ---- products ---- */

/* Documented: the lower 13 bits of a tf32 are ignored. */
static double value_of(const struct fragment *f, uint64_t bits)
{
    uint32_t narrow = (uint32_t)bits;
    double real;
    switch (f->element) {
    case ELEMENT_F16: return half_value(narrow);
    case ELEMENT_BF16: return bfloat_value(narrow);
    case ELEMENT_TF32:
    case ELEMENT_F32:
        narrow &= f->element == ELEMENT_TF32 ? ~(uint32_t)0x1FFF : ~(uint32_t)0;
        return (double)float_of_bits(narrow);
    case ELEMENT_F64: memcpy(&real, &bits, sizeof real); return real;
    case ELEMENT_S8: return (int8_t)narrow;
    case ELEMENT_U8: return (uint8_t)narrow;
    default: return (int32_t)narrow;
    }
}

/* Returns the bits of an element, which is in one register. */
static uint64_t element_at(const char *from, unsigned size)
{
    uint64_t bits = 0;
    switch (size) {
    case 1: memcpy(&bits, from, 1); break;
    case 2: memcpy(&bits, from, 2); break;
    case 4: memcpy(&bits, from, 4); break;
    default: memcpy(&bits, from, 8);
    }
    return bits;
}

/* Reads a fragment's elements, row by row. */
static void read_matrix(struct warp *w, const struct fragment *f, double *to)
{
    const unsigned size = element_bytes[f->element], share = share_of(f);
    const unsigned inner = f->by_column ? f->rows : f->columns;
    const unsigned next = f->by_column ? f->columns : 1, next_line = f->by_column ? 1 : f->columns;
    unsigned in_line = 0, line = 0;
    for (unsigned l = 0; l < WARP_SIZE; l++)
        for (unsigned n = 0; n < share; n++) {
            to[line * next_line + in_line * next] =
                value_of(f, element_at(register_byte(w, f, l, n * size), size));
            in_line = in_line + 1 == inner ? 0 : in_line + 1;
            line += !in_line;
        }
}

/* Integers wrap around, unless they saturate. */
static uint64_t bits_of(enum element element, double x, bool saturates)
{
    uint64_t bits;
    switch (element) {
    case ELEMENT_F16: return half_of(x);
    case ELEMENT_F32: return bits_of_float((float)x);
    case ELEMENT_F64: memcpy(&bits, &x, sizeof bits); return bits;
    default:
        if (saturates)
            x = x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
        return (uint32_t)(int64_t)x;
    }
}

static void write_element(struct warp *w, const struct fragment *f, unsigned n, uint64_t bits)
{
    const unsigned size = element_bytes[f->element], share = share_of(f);
    for (unsigned k = 0; k < size; k++)
        *register_byte(w, f, n / share, n % share * size + k) = (char)(bits >> 8 * k);
}

/* Sums of integers are far below 2 to the 53. */
HOT void run_matrix_multiply(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct matrix_step *step = &w->frame->code->matrices[i->immediate];
    double a[ELEMENTS_MAX], b[ELEMENTS_MAX], sums[ELEMENTS_MAX];
    const unsigned rows = step->d.rows, columns = step->b.columns, depth = step->a.columns;
    if (!is_whole(w, lanes))
        return;
    read_matrix(w, &step->a, a);
    read_matrix(w, &step->b, b);
    read_matrix(w, &step->c, sums);
    for (unsigned row = 0; row < rows; row++)
        for (unsigned k = 0; k < depth; k++) {
            const double factor = a[row * depth + k];
            double *sum = sums + row * columns;
            AT_ONCE for (unsigned n = 0; n < columns; n++) sum[n] =
                fma(factor, b[k * columns + n], sum[n]);
        }
    for (unsigned n = 0; n < count_of(&step->d); n++)
        write_element(w, &step->d, n, bits_of(step->d.element, sums[n], step->saturates));
}
