/* Statements that exchange values between threads of a warp. The last operand of those with .sync
 * is a mask of the threads that take part, in the register `target` if `wide` is set. */
#include "ptx/decode.h"

static void add_together(struct decoder *d, instruction_run *run, const struct operand *mask,
                         struct instruction parts)
{
    parts.wide = mask != NULL;
    parts.target = mask ? decode_value(d, mask, 4) : 0;
    decode_add_made(d, run, INSTRUCTION_TOGETHER, &parts);
}

static const struct operand *mask_of(const struct statement *st)
{
    return has_part(st, "sync") && st->operand_count ? &st->operands[st->operand_count - 1] : NULL;
}

/* d|p: returns the register of p, or an unused predicate. */
static uint32_t second_result(struct decoder *d, const struct operand *o)
{
    return o->second ? decode_value(d, o->second, 1) : decode_new_register(d, 1);
}

static void decode_shuffle(struct decoder *d)
{
    struct statement *st = &d->statement;
    const struct operand *o = st->operands;
    const struct instruction parts = {.r = {decode_value(d, &o[0], 4), second_result(d, &o[0]),
                                            decode_value(d, &o[1], 4), decode_value(d, &o[2], 4),
                                            decode_value(d, &o[3], 4)},
                                      .count = 1,
                                      .option = has_part(st, "up")   ? 'u'
                                              : has_part(st, "down") ? 'd'
                                              : has_part(st, "bfly") ? 'b'
                                                                     : 'i'};
    add_together(d, run_shuffle, mask_of(st), parts);
}

static void decode_vote(struct decoder *d)
{
    struct statement *st = &d->statement;
    const struct operand *o = st->operands;
    const bool ballot = has_part(st, "ballot");
    const int mode = ballot ? 'b' : has_part(st, "all") ? 'a' : has_part(st, "any") ? 'n' : 'u';
    const struct instruction parts = {
        .r = {decode_value(d, &o[0], ballot ? 4 : 1), decode_value(d, &o[1], 1)},
        .option = (uint8_t)(mode | (o[1].negated ? 128 : 0))};
    add_together(d, run_vote, mask_of(st), parts);
}

static void decode_match(struct decoder *d)
{
    struct statement *st = &d->statement;
    const struct operand *o = st->operands;
    const uint8_t bytes = has_part(st, "b64") ? 8 : 4;
    const struct instruction parts = {
        .r = {decode_value(d, &o[0], 4), second_result(d, &o[0]), decode_value(d, &o[1], bytes)},
        .bytes = bytes,
        .count = o[0].second != NULL,
        .option = has_part(st, "all") ? 'a' : 'n'};
    add_together(d, run_match, mask_of(st), parts);
}

static void decode_reduce(struct decoder *d)
{
    struct statement *st = &d->statement;
    struct instruction parts = {
        .r = {decode_value(d, &st->operands[0], 4), decode_value(d, &st->operands[1], 4)},
        .is_signed = has_part(st, "s32")};
    for (size_t n = 1; n < st->part_count; n++) {
        const unsigned operation = word_among(st->parts[n], "add min max exch cas and or xor");
        parts.option = operation ? (uint8_t)(operation - 1) : parts.option;
    }
    if (has_part(st, "f32"))
        decode_refuse(d, "a sum of floats over a warp");
    add_together(d, run_reduce, mask_of(st), parts);
}

static void decode_elect(struct decoder *d)
{
    struct statement *st = &d->statement;
    const struct instruction parts = {
        .r = {decode_value(d, &st->operands[0], 4), second_result(d, &st->operands[0])}};
    add_together(d, run_elect, mask_of(st), parts);
}

bool decode_exchange(struct decoder *d)
{
    struct statement *st = &d->statement;
    struct word name = st->parts[0];
    if (word_is(name, "shfl") && st->operand_count >= 4)
        decode_shuffle(d);
    else if (word_is(name, "vote") && st->operand_count >= 2)
        decode_vote(d);
    else if (word_is(name, "match") && st->operand_count >= 3)
        decode_match(d);
    else if (word_is(name, "redux") && st->operand_count >= 3)
        decode_reduce(d);
    else if (word_is(name, "elect") && st->operand_count >= 2)
        decode_elect(d);
    else if (word_is(name, "activemask") && st->operand_count == 1) {
        uint32_t result = decode_value(d, &st->operands[0], 4);
        decode_add(d, run_active_mask, INSTRUCTION_PLAIN)->r[0] = result;
    } else if (word_is(name, "bar") && st->operand_count == 1)
        add_together(d, run_together, &st->operands[0], (struct instruction){.count = 0});
    else
        return false;
    return true;
}
