/* Sharing pools between processes. Sources: tests/facts/ipc.txt, probe-ipc.txt, one-gpu.txt "export". */
#include "ipc/ipc_pool.h"

#include <string.h>

#include "ipc/ipc_table.h"
#include "ipc/ipc_check.h"
#include "os/os.h"
#include "os/process.h"
#include "mem/address_map.h"

#define MAGIC 0x31727470656d6973u

struct exported { uint64_t magic, pool, generation, offset, bytes; int32_t block; };

_Static_assert(sizeof(struct exported) <= sizeof(struct cudaMemPoolPtrExportData), "what is exported fits");

cudaError_t share_pool(struct pool *p, int *descriptor)
{
    if (!p->border || p->imported) return cudaErrorInvalidValue;
    if (p->props.handleTypes & cudaMemHandleTypeFabric) return cudaErrorNotPermitted;      /* measured, where no fabric is set up: then neither type can be exported */
    int number = host_file_for_program(p->heap.file);
    if (number < 0) {
        host_say("the pool could not be exported: this process has too many files open (ulimit -n).");
        return cudaErrorOperatingSystem;
    }
    *descriptor = number;
    p->exported = true;
    return cudaSuccess;
}

const char *share_descriptor_is(int descriptor)
{
    return !host_file_is_open(descriptor) ? "closed" : host_file_is_memory(descriptor) ? "a pool" : "another file";
}

cudaError_t share_import(int descriptor, struct pool **p)
{
    if (!host_file_is_open(descriptor)) return cudaErrorUnknown;
    if (!host_file_is_memory(descriptor)) return cudaErrorUnknown;
    int file = host_file_for_us(descriptor);
    if (file < 0) return cudaErrorOperatingSystem;
    *p = pool_import(file);
    return *p ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t share_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data)
{
    struct place p = memory_find(pointer);
    /* measured: a place inside a block is refused, like one outside; so is a block whose pool has not been exported before */
    if (p.kind != PLACE_BLOCK || !p.pool || !p.pool->exported || p.offset != p.chunk->offset) return cudaErrorInvalidValue;
    struct watch *w = &p.chunk->watch;
    struct border *b = p.pool->border;
    if (!w->shared) {
        int block = border_export(b, p.offset, p.chunk->asked);
        if (block < 0) {
            host_say("more than 1024 blocks of one pool are exported and not freed; the simulated device keeps no list of more.");
            return cudaErrorMemoryAllocation;
        }
        w->shared = border_name(b, block, 1);
        checker_border_exported(memory_watched(&p, NULL));
    }
    int block = (int)(w->shared >> 2 & 0x3fff);
    struct border_block k = border_look(b, block);
    struct exported e = { MAGIC, border_of(b).id, k.generation, k.offset, k.bytes, block };
    memset(data, 0, sizeof *data);
    memcpy(data, &e, sizeof e);
    return cudaSuccess;
}

/* A live block of ours that was imported before and lies over this one: its exporter has freed it and given its place out again. Its life ends (chosen). */
static void end_older(struct pool *p, size_t offset, size_t bytes)
{
    for (struct chunk *c = p->heap.first, *next; c; c = next) {
        next = c->next;
        if (!c->live || c->offset >= offset + bytes || c->offset + c->fit.bytes <= offset) continue;
        pool_free_now(p, c);
        c = next = p->heap.first;      /* freeing may have joined chunks: from the start again */
    }
}

cudaError_t share_import_pointer(struct pool *p, const struct cudaMemPoolPtrExportData *data, struct place *place)
{
    struct exported e;
    memcpy(&e, data, sizeof e);
    if (!p->imported || e.magic != MAGIC || e.pool != border_of(p->border).id) return cudaErrorInvalidValue;
    struct border_block k = border_look(p->border, e.block);
    size_t size = round_up(k.bytes, GRAIN);
    if (!k.generation || k.offset % GRAIN || !k.bytes || k.offset >= p->heap.limit || size > p->heap.limit - k.offset) return cudaErrorInvalidValue;
    uint32_t shared = border_name(p->border, e.block, 2);
    if (k.generation != e.generation) return cudaErrorInvalidValue;       /* chosen: freed, and another block has its place in the table */
    if (k.freed) checker_border_gone(shared);                /* measured: succeeds all the same */
    if (host_file_size(p->heap.file) < HEAP_FILE_HEAD + k.offset + size || !heap_open(&p->heap)) return cudaErrorMemoryAllocation;
    if (!space_knows(&p->heap)) space_add(&p->heap, p);
    char *address = p->heap.base + k.offset;
    *place = memory_find(address);
    if (place->kind == PLACE_BLOCK && place->chunk->watch.shared == shared) return cudaSuccess;
    end_older(p, k.offset, size);
    struct chunk *c = heap_take_at(&p->heap, k.offset, size);
    if (!c) return cudaErrorInvalidValue;
    c->asked = k.bytes;
    c->id = memory_new_id();
    c->watch.shared = shared;
    border_hold(shared, true);
    checker_allocated((struct watched){ &c->watch, c->id, address, k.bytes }, NULL, 0);
    *place = memory_find(address);
    return cudaSuccess;
}
