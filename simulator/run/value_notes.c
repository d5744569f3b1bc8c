/* Which bytes have a value after copies and memsets. An op is about the allocation that was at its
 * address when the op was queued. */
#include "run/value_notes.h"

#include "base/settings.h"
#include "check/checker.h"
#include "check/late_launch.h"
#include "check/written.h"
#include "os/needs_lock.h"

/* Bytes of an allocation. The .shadow is NULL if nothing is noted about them. */
struct noted {
    struct shadow *shadow;
    struct shadow_ref ref;
    size_t offset;
};

static struct noted find(const struct op *op, const void *address)
{
    struct address_info a = memory_find(address);
    struct noted n = {.shadow = NULL};
    if (a.kind == ADDRESS_ALLOCATED && a.range->id <= op->made_by.newest_allocation) {
        n.ref = memory_shadow(&a);
        n.shadow = memory_is_noted(a.heap, n.ref.shadow) ? n.ref.shadow : NULL;
        n.offset = a.inner_offset;
        return n;
    }
    struct late_freed *freed = late_freed_at(op->made_by.newest_allocation, address);
    if (freed) {
        n.ref = freed->ref;
        n.shadow = n.ref.shadow;
        n.offset = (size_t)((const char *)address - n.ref.address);
    }
    return n;
}

static bool is_off(void) { return !settings.check || !settings.init; }

void values_written(const struct op *op, const void *address, size_t bytes)
{
    NEEDS_LOCK();
    struct noted n = is_off() ? (struct noted){.shadow = NULL} : find(op, address);
    if (n.shadow && !written_is_all(n.shadow))
        written_set(n.shadow, n.ref.bytes, n.offset, n.offset + bytes, true);
}

/* Returns whether an int of these bytes has no value. */
static bool lacks_int(const struct noted *n, size_t bytes, size_t *at)
{
    const size_t end = n->offset + bytes;
    for (*at = n->offset; *at + sizeof(int) <= end; *at += sizeof(int))
        if (!written_has_any(n->shadow, *at, *at + sizeof(int)))
            return true;
    return false;
}

static void report(const struct op *op, const struct noted *n, size_t from, size_t bytes)
{
    struct origin origin = command_origin(op);
    checker_read_unwritten(&origin, n->ref, from, from + bytes, NULL);
}

void values_used(const struct op *op, const void *address, size_t bytes, bool each)
{
    NEEDS_LOCK();
    size_t at;
    struct noted n = is_off() ? (struct noted){.shadow = NULL} : find(op, address);
    if (!n.shadow || written_has_all(n.shadow, n.offset, n.offset + bytes))
        return;
    if (!written_has_any(n.shadow, n.offset, n.offset + bytes))
        report(op, &n, n.offset, bytes);
    else if (each && lacks_int(&n, bytes, &at))
        report(op, &n, at, sizeof(int));
}

/* Reports rows without a value that are copied to the host. Documented for compute-sanitizer's
 * initcheck: it looks at each byte. Because programs often copy a whole buffer and use only a part,
 * here a copy is reported only if none of its bytes has a value. */
static void check_rows(const struct op *op, const struct noted *first, const struct rows *r)
{
    size_t at;
    struct noted n = *first;
    for (size_t i = 0; i < r->height; i++, n.offset += r->from_pitch) {
        if (settings.strict && lacks_int(&n, r->width, &at)) {
            report(op, &n, at, sizeof(int));
            return;
        }
        if (written_has_any(n.shadow, n.offset, n.offset + r->width))
            if (!settings.strict)
                return;
    }
    if (!settings.strict)
        report(op, first, first->offset, (r->height - 1) * r->from_pitch + r->width);
}

void values_copied(const struct op *op, const void *to, const void *from, const struct rows *r)
{
    NEEDS_LOCK();
    struct noted none = {.shadow = NULL};
    if (is_off())
        return;
    struct noted target = find(op, to), source = from ? find(op, from) : none;
    /* The target was freed after the op was queued, and the notes about its bytes are gone. */
    if (!target.shadow && memory_find(to).kind == ADDRESS_UNALLOCATED)
        return;
    bool is_known = !source.shadow || written_is_all(source.shadow);
    if (is_known && (!target.shadow || written_is_all(target.shadow)))
        return;
    if (!target.shadow && source.shadow) {
        check_rows(op, &source, r);
        return;
    }
    for (size_t i = 0; target.shadow && i < r->height; i++)
        written_copy(target.shadow, target.ref.bytes, target.offset + i * r->to_pitch,
                     source.shadow, source.offset + i * r->from_pitch, r->width);
}
