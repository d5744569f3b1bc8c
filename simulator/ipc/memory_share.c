/* Memory of cudaMalloc in several processes. Sources: tests/facts/probe-ipc.txt "memory".
 *
 *   the file of a device   | head: whose | a granule where the device's heap has one; the others are holes |
 *
 * The opener has a heap of its own over the same file, so that blocks lie as far from each other as they do there (measured). */
#include "ipc/memory_share.h"

#include <string.h>

#include "mem/device.h"
#include "os/os.h"
#include "os/process.h"
#include "base/settings.h"
#include "mem/address_map.h"

#define MAGIC 0x316d656d70656973u

struct head { uint64_t magic, id; };

struct named {                         /* what a handle says */
    uint64_t magic, id, process, offset, bytes;
    int32_t  number, device;
    uint32_t block, nothing;           /* nothing: 0, so that no byte is left to chance */
};

_Static_assert(sizeof(struct named) <= sizeof(cudaIpcMemHandle_t), "what a handle says fits");

/* ---- the process whose memory it is ---- */

static struct own { int file; uint64_t id; bool *moved; } own[MAX_DEVICES];        /* moved[granule]: its storage is in the file */

static struct own *own_of(const struct heap *h)
{
    struct own *o = &own[h->device];
    if (o->id) return o;
    int file = host_memory_file();
    struct head *head = file >= 0 && host_file_grow(file, HEAP_FILE_HEAD) ? host_file_map(file, HEAP_FILE_HEAD) : NULL;
    if (!head) {
        if (file >= 0) host_file_close(file);
        else host_say("no file in memory could be made for memory that processes share: this process has too many files open (ulimit -n).");
        return NULL;
    }
    *o = (struct own){ file, host_random() | 1, host_allocate(h->limit / h->step) };
    *head = (struct head){ MAGIC, o->id };
    host_file_unmap(head, HEAP_FILE_HEAD);
    return o;
}

/* Moves the granules under a block into the file; what they hold stays. False when the file cannot hold them. */
static bool move(struct own *o, struct heap *h, const struct chunk *c)
{
    size_t last = (c->offset + c->fit.bytes - 1) / h->step;
    if (!host_file_grow(o->file, HEAP_FILE_HEAD + (last + 1) * h->step)) return false;
    for (size_t g = c->offset / h->step; g <= last; g++) {
        if (!o->moved[g] && !host_move_into_file(o->file, HEAP_FILE_HEAD + g * h->step, space_storage(h, g * h->step), h->step)) return false;
        o->moved[g] = true;
    }
    return true;
}

cudaError_t memory_share(const void *pointer, cudaIpcMemHandle_t *handle)
{
    struct place p = memory_find(pointer);
    if (p.kind != PLACE_BLOCK || p.pool || p.heap->shared || memory_is_opened(&p) || p.chunk->leaving) return cudaErrorInvalidValue;
    struct own *o = own_of(p.heap);
    if (!o || !move(o, p.heap, p.chunk)) return cudaErrorMemoryAllocation;
    struct named n = { MAGIC, o->id, host_process(), p.chunk->offset, p.chunk->asked, o->file, p.heap->device, p.chunk->id, 0 };
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &n, sizeof n);
    return cudaSuccess;
}

/* ---- a process that opens it ---- */

struct opened {                        /* what is open of one device of one process */
    uint64_t       id;
    struct heap    heap;
    uint32_t       blocks;
    struct opened *next;
};

struct opening { struct opened *of; struct chunk *chunk; uint32_t block, times; struct opening *next; };

static struct opened *all;
static struct opening *openings;

bool memory_is_opened(const struct place *p) { return p->heap && !p->pool && p->heap->foreign; }

static struct opened *attach(const struct named *n)
{
    for (struct opened *o = all; o; o = o->next)
        if (o->id == n->id) return o;
    int file = host_file_of(n->process, n->number);
    struct head *head = file >= 0 && host_file_size(file) >= HEAP_FILE_HEAD ? host_file_map(file, HEAP_FILE_HEAD) : NULL;
    bool right = head && head->magic == MAGIC && head->id == n->id;
    if (head) host_file_unmap(head, HEAP_FILE_HEAD);
    if (!right) {
        if (file >= 0) host_file_close(file);
        return NULL;
    }
    struct opened *o = host_allocate(sizeof *o);
    o->id = n->id;
    /* addresses for as much as the exporter can have: its devices may be larger than ours */
    heap_init(&o->heap, n->device, 2 * MiB, round_up(2 * settings.memory > n->offset + n->bytes ? 2 * settings.memory : n->offset + n->bytes, 2 * MiB));
    o->heap.file = file;
    o->heap.foreign = true;
    o->next = all;
    all = o;
    return o;
}

static void detach_if_over(struct opened *o)
{
    if (o->blocks) return;
    struct opened **at = &all;
    while (*at != o) at = &(*at)->next;
    *at = o->next;
    space_remove(&o->heap);
    heap_close(&o->heap);
    host_file_close(o->heap.file);
    host_free(o);
}

static struct chunk *open_block(struct opened *o, const struct named *n)
{
    struct heap *h = &o->heap;
    size_t size = round_up(n->bytes, GRAIN);
    if (n->offset % GRAIN || !n->bytes || n->offset >= h->limit || size > h->limit - n->offset || host_file_size(h->file) < HEAP_FILE_HEAD + n->offset + size) return NULL;
    if (!heap_open(h)) return NULL;
    if (!space_knows(h)) space_add(h, NULL);
    struct chunk *c = heap_take_at(h, n->offset, size);
    if (!c) return NULL;               /* chosen: what is open there was freed by its owner, and its place given out again */
    c->asked = n->bytes;
    c->id = memory_new_id();
    o->blocks++;
    checker_allocated((struct watched){ &c->watch, c->id, memory_address(h, c), c->asked }, NULL, 0);
    struct opening *i = host_allocate(sizeof *i);
    *i = (struct opening){ o, c, n->block, 1, openings };
    openings = i;
    return c;
}

cudaError_t memory_share_open(const cudaIpcMemHandle_t *handle, unsigned flags, struct place *place)
{
    struct named n;
    memcpy(&n, handle, sizeof n);
    if (flags != cudaIpcMemLazyEnablePeerAccess || n.magic != MAGIC || !device_exists(n.device)) return cudaErrorInvalidValue;
    if (n.process == host_process()) return cudaErrorDeviceUninitialized;
    for (struct opening *i = openings; i; i = i->next)
        if (i->of->id == n.id && i->block == n.block) {
            i->times++;
            *place = memory_find(memory_address(&i->of->heap, i->chunk));
            return cudaSuccess;
        }
    struct opened *o = attach(&n);
    if (!o) {
        host_say("cudaIpcOpenMemHandle: process %d has ended, or may not be looked into.", host_process_pid(n.process));
        return cudaErrorMapBufferObjectFailed;               /* documented code; chosen for this case */
    }
    struct chunk *c = open_block(o, &n);
    if (!c) {
        detach_if_over(o);
        return cudaErrorMapBufferObjectFailed;
    }
    /* documented: the flag enables peer access when that is first needed */
    if (settings.peers && n.device != device_current()) device_set_reach(device_current(), n.device, true);
    *place = memory_find(memory_address(&o->heap, c));
    return cudaSuccess;
}

cudaError_t memory_share_close(const void *pointer)
{
    struct place p = memory_find(pointer);
    if (p.kind != PLACE_BLOCK || !memory_is_opened(&p) || p.offset != p.chunk->offset) return cudaErrorInvalidValue;
    struct opening **at = &openings;
    while ((*at)->chunk != p.chunk) at = &(*at)->next;
    struct opening *i = *at;
    if (--i->times) return cudaSuccess;
    checker_freed(memory_watched(&p, NULL), NULL, 0);
    struct opened *o = i->of;
    *at = i->next;
    host_free(i);
    heap_put(&o->heap, p.chunk, COMMON, 0);
    o->blocks--;
    detach_if_over(o);
    return cudaSuccess;
}

size_t memory_share_each_live(void (*visit)(struct watched b))
{
    size_t live = 0;
    for (struct opening *i = openings; i; i = i->next, live++)
        visit((struct watched){ &i->chunk->watch, i->chunk->id, memory_address(&i->of->heap, i->chunk), i->chunk->asked });
    return live;
}
