/* How the digits of numbers are made and kept: eight at a time, without a division for each. */
#include "base/journal_digits.h"

#include "os/needs_lock.h"

static size_t digits_of(uint64_t value)
{
    /* 10 to the power of the index; [0] is less than every value. */
    static const uint64_t powers[] = {
#define FOUR(x) (x), (x)*10, (x)*100, (x)*1000
        0,
        10,
        100,
        1000,
        FOUR(10000),
        FOUR(UINT64_C(100000000)),
        FOUR(UINT64_C(1000000000000)),
        FOUR(UINT64_C(10000000000000000)),
#undef FOUR
    };
    /* The decimal logarithm, or one more: of a number of n bits at most n * 1233 / 4096. */
    size_t guess = (size_t)(64 - __builtin_clzll(value | 1)) * 1233 >> 12;
    return guess + (value >= powers[guess]);
}

/* Returns the eight digits of a value below 10 to the 8th, the first in the lowest byte. Each step
 * splits all parts of the number at once, by a multiplication: into two of four digits, four of
 * two, eight of one. */
static uint64_t eight_digits(uint64_t value)
{
    uint64_t fours = value / 10000 | value % 10000 << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007f;
    uint64_t twos = ((fours - 100 * hundreds) << 16) + hundreds;
    uint64_t tens = (twos * 103 >> 10) & 0x000f000f000f000f;
    return (tens + ((twos - 10 * tens) << 8)) | 0x3030303030303030;
}

/* Numbers from here on have no struct digits. */
#define NUMBER_MAX UINT64_C(10000000000000000)

struct digits journal_recent[1 << JOURNAL_RECENT_BITS];

static JOURNAL_APART struct digits *make_digits(struct digits *d, uint64_t value)
{
    static const uint64_t limit = 100000000;
    uint64_t high = value / limit, text, behind = 0;
    d->value = value;
    d->count = digits_of(value);
    text = eight_digits(high ? high : value);
    unsigned unused = (unsigned)(8 * ((high ? 16 : 8) - d->count));
    text >>= unused;
    if (high)
        behind = eight_digits(value % limit);
    if (high && unused) {
        text |= behind << (64 - unused);
        behind >>= unused;
    }
    d->text = (journal_word){text, behind};
    return d;
}

/* Writes a number that may have more digits. */
static JOURNAL_RARE char *put_long(char *to, uint64_t value)
{
    struct digits digits;
    if (value < NUMBER_MAX)
        return put_digits(to, make_digits(&digits, value));
    uint64_t text = eight_digits(value % 100000000);
    to = put_long(to, value / 100000000);
    memcpy(to, &text, 8);
    return to + 8;
}

char *journal_put_new(char *to, uint64_t value)
{
    NEEDS_LOCK();
    if (value >= NUMBER_MAX)
        return put_long(to, value);
    return put_digits(to, make_digits(recent_digits(value), value));
}

/* No time comes near it. A time of less than five digits has no base. */
#define NO_BASE (UINT64_MAX / 2)
struct time_digits journal_time = {.base = NO_BASE, .count = 1, .low = '0'};

/* Returns the four digits of a value below 10,000, the first in the lowest byte. */
static uint32_t four_digits(uint32_t value)
{
    uint32_t hundreds = value * 5243 >> 19;
    uint32_t twos = ((value - 100 * hundreds) << 16) + hundreds;
    uint32_t tens = (twos * 103 >> 10) & 0x000f000f;
    return (tens + ((twos - 10 * tens) << 8)) | 0x30303030;
}

/* Makes all digits of a time. */
static JOURNAL_RARE bool set_other_time(time_ns value)
{
    struct time_digits *t = &journal_time;
    struct digits digits;
    if (value >= NUMBER_MAX)
        return false;
    make_digits(&digits, value);
    t->value = value;
    t->text = digits.text;
    t->count = digits.count;
    t->base = value < 10000 ? NO_BASE : value - value % 10000;
    t->at = value < 10000 ? 0 : digits.count - 4;
    memcpy(&t->low, (const char *)&digits.text + t->at, sizeof t->low);
    return true;
}

bool journal_set_time(time_ns value)
{
    NEEDS_LOCK();
    struct time_digits *t = &journal_time;
    if (value - t->base >= 10000)
        return set_other_time(value);
    t->value = value;
    t->low = four_digits((uint32_t)(value - t->base));
    return true;
}

char *journal_put_counted(char *to, struct counter *c, uint64_t value)
{
    NEEDS_LOCK();
    c->left = 0;
    if (value >= NUMBER_MAX)
        return put_long(to, value);
    make_digits(&c->digits, value);
    uint64_t one = UINT64_C(1) << 8 * ((c->digits.count - 1) % 8);
    c->one = c->digits.count > 8 ? (journal_word){0, one} : (journal_word){one, 0};
    c->left = (unsigned)(9 - value % 10);
    return put_digits(to, &c->digits);
}
