/* Sets of bytes as trains of equal runs. Two trains are compared by going through the runs of the
 * shorter one, because a single division tells whether a train has bytes in a range. */
#include "check/byte_set.h"

#include "os/os.h"

/* ---- making a set ---- */

/* A set under construction. */
struct builder {
    struct byte_set *set;
    size_t capacity;
};

static void add_run(struct builder *b, size_t from, size_t to)
{
    size_t width = to - from;
    struct byte_train *last = b->set && b->set->count ? &b->set->trains[b->set->count - 1] : NULL;
    if (last && last->width == width && last->count == 1) {
        last->stride = from - last->from;
        last->count = 2;
        return;
    }
    if (last && last->width == width && from == last->from + last->stride * last->count) {
        last->count++;
        return;
    }
    if (!b->set || b->set->count == b->capacity) {
        size_t count = b->set ? b->set->count : 0;
        b->capacity = b->capacity ? 2 * b->capacity : 4;
        b->set = os_grow(b->set, sizeof *b->set + b->capacity * sizeof *last);
        b->set->count = count;
    }
    b->set->trains[b->set->count++] = (struct byte_train){from, width, width, 1};
}

struct byte_set *byte_set_of_bits(const uint64_t *bits, size_t first, size_t last)
{
    struct builder b = {NULL, 0};
    size_t begin = SIZE_MAX;
    for (size_t n = first; n <= last; n++) {
        uint64_t word = bits[n];
        if (begin == SIZE_MAX ? !word : word == UINT64_MAX)
            continue;
        for (size_t at = 0; at < 64;) {
            /* The next bit that differs from the present ones. */
            uint64_t rest = (begin == SIZE_MAX ? word : ~word) >> at;
            if (!rest)
                break;
            at += (size_t)__builtin_ctzll(rest);
            if (begin == SIZE_MAX) {
                begin = n * 64 + at;
            } else {
                add_run(&b, begin, n * 64 + at);
                begin = SIZE_MAX;
            }
        }
    }
    if (begin != SIZE_MAX)
        add_run(&b, begin, (last + 1) * 64);
    return b.set;
}

/* ---- queries ---- */

static size_t end_of(const struct byte_train *t)
{
    return t->from + (t->count - 1) * t->stride + t->width;
}

size_t byte_set_first(const struct byte_set *s) { return s->trains[0].from; }
size_t byte_set_end(const struct byte_set *s) { return end_of(&s->trains[s->count - 1]); }

bool byte_set_is_whole(const struct byte_set *s)
{
    return s->count == 1 && (s->trains[0].count == 1 || s->trains[0].stride == s->trains[0].width);
}

/* ---- comparing ---- */

/* The trains of a range. There is at least one. */
struct trains {
    const struct byte_train *all;
    size_t count;
    struct byte_train whole;
};

static void trains_of(const struct byte_range *r, struct trains *t)
{
    t->whole = (struct byte_train){r->from, r->to - r->from, r->to - r->from, 1};
    t->all = r->set ? r->set->trains : &t->whole;
    t->count = r->set ? r->set->count : 1;
}

/* Returns the index of the first run that ends after `from`, or the count if none does. */
static size_t run_behind(const struct byte_train *t, size_t from)
{
    if (from < t->from + t->width)
        return 0;
    size_t n = (from - t->from - t->width) / t->stride + 1;
    return n < t->count ? n : t->count;
}

static bool has_byte(const struct byte_train *t, size_t from, size_t to)
{
    size_t n = run_behind(t, from);
    return n < t->count && t->from + n * t->stride < to;
}

static bool has_all(const struct byte_train *t, size_t from, size_t to)
{
    size_t n = run_behind(t, from);
    size_t begin = t->from + n * t->stride;
    return n < t->count && begin <= from && to <= begin + t->width;
}

static bool trains_meet(const struct byte_train *a, const struct byte_train *b)
{
    if (a->count > b->count) {
        const struct byte_train *c = a;
        a = b;
        b = c;
    }
    for (size_t n = run_behind(a, b->from); n < a->count; n++) {
        size_t from = a->from + n * a->stride;
        if (from >= end_of(b))
            return false;
        if (has_byte(b, from, from + a->width))
            return true;
    }
    return false;
}

bool byte_ranges_meet(struct byte_range a, struct byte_range b)
{
    struct trains x, y;
    trains_of(&a, &x);
    trains_of(&b, &y);
    for (size_t i = 0, j = 0; i < x.count && j < y.count;) {
        if (trains_meet(&x.all[i], &y.all[j]))
            return true;
        if (end_of(&x.all[i]) < end_of(&y.all[j]))
            i++;
        else
            j++;
    }
    return false;
}

/* Runs are maximal, so each must lie within one run of the other. */
bool byte_range_covers(struct byte_range a, struct byte_range b)
{
    struct trains x, y;
    size_t i = 0;
    trains_of(&a, &x);
    trains_of(&b, &y);
    if (a.from > b.from || a.to < b.to)
        return false;
    for (size_t j = 0; j < y.count && a.set; j++) {
        const struct byte_train *t = &y.all[j];
        for (size_t n = 0; n < t->count; n++) {
            size_t from = t->from + n * t->stride;
            while (i < x.count && end_of(&x.all[i]) <= from)
                i++;
            if (i == x.count || !has_all(&x.all[i], from, from + t->width))
                return false;
        }
    }
    return true;
}
