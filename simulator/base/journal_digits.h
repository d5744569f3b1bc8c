/* The decimal digits of the numbers in a journal. They are made by hand, because a run with a
 * journal is to cost at most twice one without. Three kinds of numbers each have a way of their
 * own: recent numbers, counters and times. All of these need the lock. */
#ifndef SIM_BASE_JOURNAL_DIGITS_H
#define SIM_BASE_JOURNAL_DIGITS_H

#include <string.h>

#include "base/types.h"

/* For functions that are seldom called on a way that is often taken: inline, they would cost each
 * time. */
#define JOURNAL_APART __attribute__((noinline))
#define JOURNAL_RARE  __attribute__((noinline, cold))

/* Sixteen bytes that are written and read at once: a read of what two writes have just made has to
 * wait for them. */
typedef uint64_t journal_word __attribute__((vector_size(16)));

/* The digits of a number below 10 to the 16th, in the order of the bytes. */
struct digits {
    uint64_t value;
    size_t count;
    journal_word text;
};

/* The digits of recent numbers, by a hash of the number: most come again, such as the figures of a
 * pool. Needs the lock. */
#define JOURNAL_RECENT_BITS 8
extern struct digits journal_recent[1 << JOURNAL_RECENT_BITS];

static inline struct digits *recent_digits(uint64_t value)
{
    return &journal_recent[value * 0x9e3779b97f4a7c15u >> (64 - JOURNAL_RECENT_BITS)];
}

/* The functions below are always inline, since a line has some twenty fields. Those that write to
 * `to` write up to 15 bytes behind, and return their end. */
#define LINE_INLINE static inline __attribute__((always_inline))

LINE_INLINE char *put_digits(char *to, const struct digits *d)
{
    memcpy(to, &d->text, sizeof d->text);
    return to + d->count;
}

/* Writes a number that is not among the recent ones. Needs the lock. */
JOURNAL_APART char *journal_put_new(char *to, uint64_t value);

LINE_INLINE char *put_number(char *to, uint64_t value)
{
    if (value < 10) {
        *to = (char)('0' + value);
        return to + 1;
    }
    const struct digits *d = recent_digits(value);
    return d->value == value ? put_digits(to, d) : journal_put_new(to, value);
}

/* A number that is mostly one more than it was: then only its last digit is another, but for each
 * tenth. */
struct counter {
    struct digits digits;
    /* What makes the last digit one more, and how often that can be. */
    journal_word one;
    unsigned left;
};

#define COUNTER_ZERO          \
    {                         \
        {0, 1, {'0'}}, {1}, 9 \
    }

/* Writes another number, and counts from there. Needs the lock. */
JOURNAL_APART char *journal_put_counted(char *to, struct counter *c, uint64_t value);

LINE_INLINE char *put_next(char *to, struct counter *c, uint64_t value)
{
    if (value != c->digits.value) {
        if (value != c->digits.value + 1 || !c->left)
            return journal_put_counted(to, c, value);
        c->digits.value = value;
        c->digits.text += c->one;
        c->left--;
    }
    return put_digits(to, &c->digits);
}

/* The digits of a time. Times grow by little: mostly only the last four digits are others than
 * those of `base`, a multiple of 10,000. Those are `low`, and go over what `text` has from `at` on.
 * Needs the lock. */
struct time_digits {
    time_ns value, base;
    size_t at, count;
    uint32_t low;
    journal_word text;
};
extern struct time_digits journal_time;

/* Makes them of another time. Returns false when it has too many digits. */
JOURNAL_APART bool journal_set_time(time_ns value);

LINE_INLINE char *put_time(char *to, time_ns value)
{
    if (value != journal_time.value && !journal_set_time(value))
        return journal_put_new(to, value);
    memcpy(to, &journal_time.text, sizeof journal_time.text);
    memcpy(to + journal_time.at, &journal_time.low, sizeof journal_time.low);
    return to + journal_time.count;
}

#endif
