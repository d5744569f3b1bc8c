/* What the program has advised for managed memory, as a list of spans of pages. */
#include "mem/managed_advice.h"

#include "os/needs_lock.h"
#include "os/os.h"

struct span {
    struct span *next;
    uintptr_t from, to;
    /* The allocation's number. If another allocation has these addresses now, the span is stale. */
    uint32_t id;
    struct managed_advice advice;
};

/* Needs the lock. Invariant: the spans are in order of address and do not overlap. Addresses in no
 * span have no advice. */
static struct span *spans;

static uintptr_t page_of(const void *address) { return page_down((uintptr_t)address); }
static uintptr_t page_end(const void *address, size_t bytes)
{
    return page_up((uintptr_t)address + bytes);
}

/* Inserts a span at this place of the list. */
static struct span *insert(struct span **at, uintptr_t from, uintptr_t to, uint32_t id,
                           struct managed_advice advice)
{
    struct span *s = os_allocate(sizeof *s);
    *s = (struct span){.next = *at, .from = from, .to = to, .id = id, .advice = advice};
    *at = s;
    return s;
}

/* Splits the span that contains this address, if there is one. */
static void split(uintptr_t address)
{
    for (struct span *s = spans; s && s->from < address; s = s->next)
        if (s->to > address) {
            insert(&s->next, address, s->to, s->id, s->advice);
            s->to = address;
        }
}

/* Removes stale spans of other allocations in [from, to). */
static void remove_old(uint32_t id, uintptr_t from, uintptr_t to)
{
    for (struct span **at = &spans; *at;) {
        struct span *s = *at;
        if (s->id == id || s->to <= from || s->from >= to) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        os_free(s);
    }
}

void managed_advice_change(uint32_t id, const void *address, size_t bytes,
                           void (*change)(struct managed_advice *advice, const void *value),
                           const void *value)
{
    NEEDS_LOCK();
    uintptr_t from = page_of(address), to = page_end(address, bytes);
    remove_old(id, from, to);
    split(from);
    split(to);
    struct span **at = &spans;
    while (from < to) {
        while (*at && (*at)->to <= from)
            at = &(*at)->next;
        struct span *s = *at;
        if (!s || s->from > from)
            s = insert(at, from, s && s->from < to ? s->from : to, id, (struct managed_advice){0});
        change(&s->advice, value);
        from = s->to;
    }
}

static bool is_same_location(struct cudaMemLocation a, struct cudaMemLocation b)
{
    return a.type == b.type && a.id == b.id;
}

/* Returns the advice that both have in common. */
static struct managed_advice meet(struct managed_advice a, struct managed_advice b)
{
    a.read_mostly &= b.read_mostly;
    a.accessed_by &= b.accessed_by;
    if (!is_same_location(a.preferred, b.preferred))
        a.preferred = (struct cudaMemLocation){0};
    if (!is_same_location(a.prefetched, b.prefetched))
        a.prefetched = (struct cudaMemLocation){0};
    return a;
}

struct managed_advice managed_advice_of(uint32_t id, const void *address, size_t bytes)
{
    NEEDS_LOCK();
    uintptr_t from = page_of(address), to = page_end(address, bytes);
    struct managed_advice all = {0};
    for (struct span *s = spans; s && from < to; s = s->next) {
        if (s->id != id || s->to <= from)
            continue;
        if (s->from > from)
            break;
        all = s->from <= page_of(address) ? s->advice : meet(all, s->advice);
        from = s->to;
    }
    return from < to ? (struct managed_advice){0} : all;
}
