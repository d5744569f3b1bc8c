/* Reserved addresses, memory without addresses, and mappings. */
#include "mem/virtual_memory.h"

#include <string.h>

#include "base/handle.h"
#include "mem/address_map.h"
#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"

#define MAGIC 0x316d656d76747275u

struct reservation {
    struct heap heap;
    struct virtual_mapping *first;
};

/* The page after the bytes in the memory's file, which describes the memory. */
struct file_end {
    uint64_t magic, number, bytes;
    struct virtual_properties properties;
};

/* Needs the lock. */
static struct {
    struct heap *newest;
} reservations;

static struct reservation *reservation_at(const void *address)
{
    struct heap *h = address_map_find(address);
    return h && h->is_virtual ? (struct reservation *)h : NULL;
}

struct heap *virtual_first(void)
{
    NEEDS_LOCK();
    return reservations.newest;
}

/* ---- memory ---- */

static struct virtual_memory *memory_of(int file, const struct file_end *end)
{
    struct virtual_memory *m = os_allocate(sizeof *m);
    *m = (struct virtual_memory){.number = end->number,
                                 .bytes = end->bytes,
                                 .properties = end->properties,
                                 .file = file,
                                 .references = 1};
    m->handle = handle_new(HANDLE_MEMORY, m);
    return m;
}

struct virtual_memory *virtual_memory_new(size_t bytes, struct virtual_properties p)
{
    NEEDS_LOCK();
    if (!device_take(p.device, bytes))
        return NULL;
    int file = os_memfd_new();
    char *all = file >= 0 && os_fd_grow(file, bytes + PAGE) ? os_fd_map(file, bytes + PAGE) : NULL;
    if (!all) {
        device_give(p.device, bytes);
        if (file >= 0)
            os_fd_close(file);
        return NULL;
    }
    const struct file_end end = {MAGIC, os_random(), bytes, p};
    *(struct file_end *)(all + bytes) = end;
    os_fd_unmap(all, bytes + PAGE);
    return memory_of(file, &end);
}

struct virtual_memory *virtual_memory_import(int file)
{
    NEEDS_LOCK();
    size_t size = os_fd_size(file), bytes = size - PAGE;
    if (size <= PAGE || bytes % MEMORY_GRANULARITY)
        return NULL;
    char *all = os_fd_map(file, size);
    if (!all)
        return NULL;
    struct file_end end = *(struct file_end *)(all + bytes);
    os_fd_unmap(all, size);
    if (end.magic != MAGIC || end.bytes != bytes || !device_exists(end.properties.device))
        return NULL;
    end.properties.handle_types = 0;
    struct virtual_memory *m = memory_of(file, &end);
    m->imported = true;
    return m;
}

static void free_unused(struct virtual_memory *m)
{
    if (m->references || m->mappings)
        return;
    if (!m->imported)
        device_give(m->properties.device, m->bytes);
    handle_retire(HANDLE_MEMORY, m->handle);
    os_fd_close(m->file);
    os_free(m);
}

bool virtual_memory_release(struct virtual_memory *m)
{
    NEEDS_LOCK();
    if (!m->references)
        return false;
    m->references--;
    free_unused(m);
    return true;
}

/* ---- addresses ---- */

char *virtual_reserve(size_t bytes)
{
    NEEDS_LOCK();
    struct reservation *r = os_allocate(sizeof *r);
    heap_init(&r->heap, NO_DEVICE, MEMORY_GRANULARITY, bytes);
    r->heap.is_virtual = true;
    if (!heap_open(&r->heap)) {
        os_free(r);
        return NULL;
    }
    r->heap.next_opened = reservations.newest;
    reservations.newest = &r->heap;
    return r->heap.base;
}

bool virtual_unreserve(const char *base, size_t bytes)
{
    NEEDS_LOCK();
    struct reservation *r = reservation_at(base);
    if (!r || r->heap.base != base || r->heap.limit != bytes || r->first)
        return false;
    struct heap **place = &reservations.newest;
    while (*place != &r->heap)
        place = &(*place)->next_opened;
    *place = r->heap.next_opened;
    address_map_remove(&r->heap);
    heap_close(&r->heap);
    os_free(r);
    return true;
}

/* ---- mappings ---- */

struct virtual_mapping *virtual_find(const char *at)
{
    NEEDS_LOCK();
    struct reservation *r = reservation_at(at);
    struct virtual_mapping *v = r ? r->first : NULL;
    while (v && v->base < at)
        v = v->next;
    return v;
}

struct virtual_mapping *virtual_at(const void *address)
{
    NEEDS_LOCK();
    struct reservation *r = reservation_at(address);
    struct virtual_mapping *v = r ? r->first : NULL;
    while (v && v->base + v->bytes <= (const char *)address)
        v = v->next;
    return v && v->base <= (const char *)address ? v : NULL;
}

bool virtual_map(const struct call *call, char *at, struct virtual_memory *m)
{
    NEEDS_LOCK();
    struct reservation *r = reservation_at(at);
    size_t offset = r ? (size_t)(at - r->heap.base) : 0;
    struct range *free = r && offset % MEMORY_GRANULARITY == 0 && m->bytes <= r->heap.limit - offset
                           ? heap_free_at(&r->heap, offset, m->bytes)
                           : NULL;
    if (!free)
        return false;
    heap_map(&r->heap, offset, m->bytes);
    if (!os_map_file(heap_storage(&r->heap, offset, m->bytes), m->bytes, m->file))
        return false;
    struct range *range = heap_take(&r->heap, free, offset, m->bytes);
    range->requested = m->bytes;
    struct virtual_mapping *v = os_allocate(sizeof *v), **place = &r->first;
    *v = (struct virtual_mapping){.base = at, .bytes = m->bytes, .memory = m};
    while (*place && (*place)->base < at)
        place = &(*place)->next;
    v->next = *place;
    *place = v;
    m->mappings++;
    memory_born(call, &r->heap, range, ALLOCATION_MAPPED, NULL, 0);
    v->checked.ref = (struct shadow_ref){&range->shadow, range->id, at, m->bytes};
    v->checked.memory = m->number;
    checker_mapped(&v->checked);
    return true;
}

void virtual_unmap(const struct call *call, struct virtual_mapping *v)
{
    NEEDS_LOCK();
    struct reservation *r = reservation_at(v->base);
    struct address_info a = memory_find(v->base);
    checker_unmapped(&v->checked);
    checker_freed(call, memory_shadow(&a), NULL, 0);
    heap_put(&r->heap, a.range, SHARED_LIST, 0);
    heap_release(&r->heap, 0);
    struct virtual_mapping **place = &r->first;
    while (*place != v)
        place = &(*place)->next;
    *place = v->next;
    v->memory->mappings--;
    free_unused(v->memory);
    os_free(v);
}

unsigned virtual_access(const struct virtual_mapping *v, int device)
{
    NEEDS_LOCK();
    return (v->access >> device & 1) + 2 * (v->writable >> device & 1);
}

bool virtual_is_whole(const char *at, size_t bytes)
{
    NEEDS_LOCK();
    struct reservation *r = reservation_at(at);
    if (!r || !bytes || bytes > r->heap.limit - (size_t)(at - r->heap.base))
        return false;
    const struct virtual_mapping *first = virtual_at(at), *last = virtual_at(at + bytes - 1);
    return (!first || first->base == at) && (!last || last->base + last->bytes == at + bytes);
}
