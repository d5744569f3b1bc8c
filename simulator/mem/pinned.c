/* Pinned host memory: the arenas, and finding what an address means. */
#include "mem/pinned.h"

#include "base/list.h"
#include "check/page_guard.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* The smallest arena, and the largest one that is made for smaller allocations. Each new arena is
 * as large as all earlier ones together. */
#define ARENA_MIN (16 * MiB)
#define ARENA_MAX (1 * GiB)

struct arena {
    char *base, *storage;
};

/* Free pages of an arena. Neighbors in one arena are always merged. */
struct free_pages {
    struct tree_node by_size;    /* The key is `bytes`, the age is the address. */
    struct tree_node by_address; /* The key is `from`. */
    char *from;
    size_t bytes;
    struct arena *arena;
};

/* Needs the lock. Invariants: pinned memory does not overlap, and the live allocations and free
 * pages tile the arenas. */
static struct {
    struct ordered_tree all; /* By address. */
    struct pinned *newest;
    struct ordered_tree free_by_size, free_by_address;
    size_t arena_bytes; /* Of all arenas. */
    bool reported_no_mapping;
} pins;

/* ---- finding ---- */

static struct pinned *of_node(struct tree_node *n)
{
    return (struct pinned *)((char *)n - offsetof(struct pinned, node));
}

static struct free_pages *of_size_node(struct tree_node *n)
{
    return (struct free_pages *)((char *)n - offsetof(struct free_pages, by_size));
}

static struct free_pages *of_address_node(struct tree_node *n)
{
    return (struct free_pages *)((char *)n - offsetof(struct free_pages, by_address));
}

struct pinned *pinned_within(const void *address, size_t bytes)
{
    NEEDS_LOCK();
    struct tree_node *n = tree_last(&pins.all, (uintptr_t)address + bytes - 1);
    return n && of_node(n)->base + of_node(n)->bytes > (const char *)address ? of_node(n) : NULL;
}

struct pinned *pinned_find(const void *address)
{
    NEEDS_LOCK();
    return address ? pinned_within(address, 1) : NULL;
}

struct pinned *pinned_newest(void) { return pins.newest; }

bool pinned_has_free_pages(const void *address, size_t bytes)
{
    NEEDS_LOCK();
    struct tree_node *n = tree_last(&pins.free_by_address, (uintptr_t)address + bytes - 1);
    return n && of_address_node(n)->from + of_address_node(n)->bytes > (const char *)address;
}

/* ---- free pages ---- */

static void insert_free(struct free_pages *f)
{
    f->by_size.key = f->bytes;
    f->by_size.age = f->by_address.key = (uintptr_t)f->from;
    tree_insert(&pins.free_by_size, &f->by_size);
    tree_insert(&pins.free_by_address, &f->by_address);
}

static void remove_free(struct free_pages *f)
{
    tree_remove(&pins.free_by_size, &f->by_size);
    tree_remove(&pins.free_by_address, &f->by_address);
}

/* Gives pages back, merged with their free neighbors. */
static void give_pages(struct arena *arena, char *from, size_t bytes)
{
    struct free_pages *f = os_allocate(sizeof *f);
    struct tree_node *n = tree_last(&pins.free_by_address, (uintptr_t)from);
    struct free_pages *left = n ? of_address_node(n) : NULL;
    n = tree_first(&pins.free_by_address, (uintptr_t)from, UINT64_MAX);
    struct free_pages *right = n ? of_address_node(n) : NULL;
    *f = (struct free_pages){.from = from, .bytes = bytes, .arena = arena};
    if (left && left->arena == arena && left->from + left->bytes == from) {
        f->from = left->from;
        f->bytes += left->bytes;
        remove_free(left);
        os_free(left);
    }
    if (right && right->arena == arena && from + bytes == right->from) {
        f->bytes += right->bytes;
        remove_free(right);
        os_free(right);
    }
    insert_free(f);
}

/* Makes an arena with this many free bytes. Returns false if there is no memory. */
static bool add_arena(size_t bytes)
{
    struct arena *arena = os_allocate(sizeof *arena);
    arena->base = os_allocate_pages(bytes, &arena->storage);
    if (!arena->base) {
        os_free(arena);
        return false;
    }
    /* If the program had registered memory here, it has unmapped that since. */
    for (struct pinned *p; (p = pinned_within(arena->base, bytes));)
        pinned_end(p);
    pins.arena_bytes += bytes;
    give_pages(arena, arena->base, bytes);
    return true;
}

/* Makes an arena with at least this many free bytes. */
static bool add_arena_for(size_t bytes)
{
    size_t wanted = pins.arena_bytes < ARENA_MIN ? ARENA_MIN
                  : pins.arena_bytes > ARENA_MAX ? ARENA_MAX
                                                 : pins.arena_bytes;
    return (bytes < wanted && add_arena(wanted)) || add_arena(bytes);
}

/* Returns the smallest free pages with at least this many bytes, or NULL. */
static struct free_pages *find_free(size_t bytes)
{
    struct tree_node *n = tree_first(&pins.free_by_size, bytes, UINT64_MAX);
    if (!n && add_arena_for(bytes))
        n = tree_first(&pins.free_by_size, bytes, UINT64_MAX);
    return n ? of_size_node(n) : NULL;
}

static void diag_no_mapping(void)
{
    if (!pins.reported_no_mapping)
        diag("this process has as many mappings as Linux allows (vm.max_map_count): there is none "
             "for another allocation of pinned memory.");
    pins.reported_no_mapping = true;
}

/* ---- pinned memory ---- */

static struct pinned *add(struct pinned made)
{
    struct pinned *p = os_allocate(sizeof *p);
    *p = made;
    p->id = memory_new_id();
    p->device = device_current();
    p->node.key = (uintptr_t)p->base;
    LIST_PUSH(pins.newest, p);
    tree_insert(&pins.all, &p->node);
    return p;
}

struct pinned *pinned_new(size_t bytes, unsigned flags)
{
    NEEDS_LOCK();
    size_t whole = page_up(bytes);
    struct free_pages *f = whole < bytes ? NULL : find_free(whole);
    if (!f)
        return NULL;
    if (!os_protect(f->from, whole, OS_PROT_READ_WRITE)) {
        diag_no_mapping();
        return NULL;
    }
    struct pinned *p =
        add((struct pinned){.base = f->from,
                            .storage = f->arena->storage + (f->from - f->arena->base),
                            .bytes = bytes,
                            .flags = flags,
                            .arena = f->arena});
    remove_free(f);
    f->from += whole;
    f->bytes -= whole;
    if (f->bytes)
        insert_free(f);
    else
        os_free(f);
    return p;
}

struct pinned *pinned_register(void *base, size_t bytes, unsigned flags)
{
    NEEDS_LOCK();
    return add((struct pinned){
        .base = base, .storage = base, .bytes = bytes, .flags = flags, .registered = true});
}

void pinned_end(struct pinned *p)
{
    NEEDS_LOCK();
    tree_remove(&pins.all, &p->node);
    LIST_TAKE(pins.newest, p);
    if (p->registered)
        page_guard_open(p->base, p->bytes);
    page_guard_forget(p->base, p->bytes);
    if (p->arena) {
        size_t whole = page_up(p->bytes);
        os_protect(p->base, whole, OS_PROT_NONE);
        os_discard_host_visible(p->storage, whole);
        give_pages(p->arena, p->base, whole);
    }
    os_free(p);
}
