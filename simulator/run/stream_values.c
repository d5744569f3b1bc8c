/* Values that streams write to memory and wait for. A write leaves, at its address, a record of
 * what precedes it. A wait is a hold that ends when the value is there and then checks whether the
 * newest write wrote it. Because only the end shows which write that is, work after a wait is
 * judged then, like work after a closed gate. */
#include "run/stream_values.h"

#include <string.h>

#include "base/ordered_tree.h"
#include "check/checker.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "run/value_notes.h"
#include "sched/cost.h"
#include "sched/happens_before.h"
#include "sched/virtual_time.h"

/* An address at which a stream has written. Needs the lock. */
struct cell {
    struct tree_node node; /* The key is the address. */
    uint64_t value;
    struct record *written;
};
static struct ordered_tree cells;

static struct cell *cell_at(const void *address)
{
    struct tree_node *n = tree_first(&cells, (uintptr_t)address, UINT64_MAX);
    return n && n->key == (uintptr_t)address ? (struct cell *)n : NULL;
}

bool command_allows_value(const void *address, size_t bytes, int device)
{
    NEEDS_LOCK();
    const struct address_info a = memory_find(address);
    const bool is_managed = a.heap && a.heap->host_visible;
    return (uintptr_t)address % bytes == 0 && !is_managed && !a.pool
        && command_allows_memset(address, bytes, device);
}

/* ---- writes ---- */

static void effect_write(struct op *op)
{
    char *at = command_resolve(op, op->to, op->bytes, true);
    struct cell *c = cell_at(op->to);
    if (!at)
        return;
    if (op->bytes == 4)
        __atomic_store_n((uint32_t *)at, (uint32_t)op->number, __ATOMIC_SEQ_CST);
    else
        __atomic_store_n((uint64_t *)at, op->number, __ATOMIC_SEQ_CST);
    values_written(op, op->to, op->bytes);
    if (!c) {
        c = os_allocate(sizeof *c);
        c->node.key = (uintptr_t)op->to;
        tree_insert(&cells, &c->node);
    } else {
        record_release(c->written);
    }
    c->value = op->number;
    c->written = op->record;
    op->record = NULL;
    /* Assumed: the host reads a value that it can see. */
    if (memory_find(op->to).kind == ADDRESS_PINNED)
        host_function_begins(c->written, NO_DEVICE, true);
}

/* Makes the op one that uses the value's memory. Because streams synchronize by it, only the memory
 * must be there: accesses need no order. */
static void name_op(const struct call *call, struct op *op, const void *address, size_t bytes)
{
    struct address_info a = memory_find(address);
    command_made_by(op, call);
    command_check_use(call, &a, address, 0, op, op->to != NULL);
    op->bytes = bytes;
    op->allocation_id = memory_allocation_id(&a);
}

void command_write_value(const struct call *call, void *address, uint64_t value, size_t bytes,
                         struct stream *s)
{
    NEEDS_LOCK();
    struct op *op = stream_enqueue(s, OP_COMMAND, time_under_schedule(DURATION_EVENT));
    op->name = "memset";
    op->to = address;
    op->number = value;
    op->record = stream_snapshot(s, op->seq);
    op->effect = effect_write;
    name_op(call, op, address, bytes);
}

/* ---- waits ---- */

/* Documented: the comparison is cyclic; NOR waits for ~(*address | value) != 0. */
static bool holds(uint64_t there, uint64_t value, size_t bytes, enum value_condition condition)
{
    const unsigned unused = bytes == 4 ? 32 : 0;
    switch (condition) {
    case VALUE_IS_REACHED: return (int64_t)((there - value) << unused) >= 0;
    case VALUE_IS_EQUAL: return there == value;
    case VALUE_HAS_BITS: return (there & value) != 0;
    case VALUE_LACKS_BITS: return (~(there | value) << unused) != 0;
    }
    return true;
}

/* What ends the wait comes before the work after it. */
static void acquire(const struct op *wait, uint64_t there)
{
    struct vector_clock before = VC_EMPTY;
    const struct cell *c = cell_at(wait->from);
    if (c && c->value == there) {
        vc_join(&before, &c->written->ordering.happens_before);
        vc_set(&before, c->written->stream->slot, c->written->seq);
    } else {
        for (const struct stream *s = stream_first(); s; s = s->next)
            if (s->signal_seq) {
                vc_join(&before, &s->ordering.happens_before);
                vc_set(&before, s->slot, s->signal_seq);
            }
    }
    checker_waited(wait, &before);
    vc_clear(&before);
}

static bool is_over(struct op *op)
{
    const char *at = command_resolve(op, op->from, op->bytes, false);
    if (!at)
        return true;
    const uint64_t there = op->bytes == 4 ? __atomic_load_n((const uint32_t *)at, __ATOMIC_SEQ_CST)
                                          : __atomic_load_n((const uint64_t *)at, __ATOMIC_SEQ_CST);
    if (!holds(there, op->number, op->bytes, (enum value_condition)op->condition))
        return false;
    acquire(op, there);
    return op->has_ended = true;
}

void command_wait_value(const struct call *call, const void *address, uint64_t value, size_t bytes,
                        enum value_condition condition, struct stream *s)
{
    NEEDS_LOCK();
    struct op *op = stream_enqueue(s, OP_HOLD, 0);
    op->from = address;
    op->number = bytes == 4 ? (uint32_t)value : value;
    op->condition = condition;
    op->is_over = is_over;
    name_op(call, op, address, bytes);
}
