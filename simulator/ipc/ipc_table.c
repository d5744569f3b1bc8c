/* The border between processes. Rule: what another process wrote is never trusted with memory: each index and size is checked here. */
#include "ipc/ipc_table.h"

#include <string.h>

#include "mem/heap.h"
#include "os/os.h"
#include "os/process.h"

#define MAGIC     0x316c6f6f70656973u
#define BLOCKS    1024                 /* chosen: blocks exported at once */
#define PROCESSES 16
#define LANES     1024                 /* chosen: streams of one process, beyond which its work counts as known */

struct knower { uint64_t process; uint64_t reached[LANES]; };      /* what its host knows of its own lanes */

struct head {
    uint64_t magic, lock, generations;
    struct border_pool pool;
    struct knower knowers[PROCESSES];
    struct border_block blocks[BLOCKS];
};

_Static_assert(sizeof(struct head) <= HEAP_FILE_HEAD, "the head of a pool's file has a fixed size");

struct border { struct head *head; uint32_t index; struct knower *own; };

static struct border **borders;        /* index: as `shared` names it; NULL: closed */
static uint32_t count;

/* `shared`: border, block and side in one number. */
static struct border *border_in(uint32_t shared) { return borders[shared >> 16]; }

uint32_t border_name(struct border *b, int block, uint8_t side) { return b->index << 16 | (uint32_t)block << 2 | side; }
static struct border_block *border_block(uint32_t shared) { return &border_in(shared)->head->blocks[(shared & 0xffff) >> 2]; }
uint8_t border_side(uint32_t shared) { return shared & 3; }

/* ---- what each host knows ---- */

static void publish(struct border *b)
{
    if (!b->own) return;
    for (struct stream *s = stream_first(); s; s = s->next) {
        const struct order *known = host_knowledge();
        uint64_t reached = s->lane < known->lanes ? known->reached[s->lane] : 0;
        if (s->lane < LANES) __atomic_store_n(&b->own->reached[s->lane], reached, __ATOMIC_RELEASE);
    }
}

static void publish_all(void)
{
    for (uint32_t i = 0; i < count; i++)
        if (borders[i]) publish(borders[i]);
}

/* A place for what this process knows: a free one, or that of a process that is gone. NULL: all taken. */
static struct knower *take_place(struct head *h)
{
    struct knower *place = NULL;
    for (int i = 0; i < PROCESSES; i++)
        if (h->knowers[i].process == host_process()) return &h->knowers[i];
    for (int i = 0; i < PROCESSES && !place; i++)
        if (!h->knowers[i].process || !host_process_alive(h->knowers[i].process)) place = &h->knowers[i];
    if (!place) return NULL;
    memset(place->reached, 0, sizeof place->reached);
    place->process = host_process();
    return place;
}

bool border_is_over(uint32_t shared, const struct border_deed *d)
{
    struct head *h = border_in(shared)->head;
    for (int i = 0; i < PROCESSES; i++) {
        if (h->knowers[i].process != d->process) continue;
        if (d->lane >= LANES || __atomic_load_n(&h->knowers[i].reached[d->lane], __ATOMIC_ACQUIRE) >= d->number) return true;
        return !host_process_alive(d->process);
    }
    return true;
}

/* ---- opening ---- */

static struct border *attach(struct head *head)
{
    struct border *b = host_allocate(sizeof *b);
    *b = (struct border){ .head = head, .index = count };
    for (uint32_t i = 1; i < count; i++)
        if (!borders[i]) b->index = i;
    if (b->index == count) {
        if (!count) b->index = 1;      /* 0 names no block */
        borders = host_grow(borders, (b->index + 1) * sizeof(struct border *));
        borders[0] = NULL;
        count = b->index + 1;
    }
    borders[b->index] = b;
    host_lock_between(&head->lock);
    b->own = take_place(head);
    host_unlock_between(&head->lock);
    stream_on_host_learned(publish_all);
    publish(b);
    return b;
}

struct border *border_new(int file, int device, size_t limit)
{
    struct head *head = host_file_grow(file, HEAP_FILE_HEAD) ? host_file_map(file, HEAP_FILE_HEAD) : NULL;
    if (!head) return NULL;
    head->pool = (struct border_pool){ host_random(), host_process(), limit, device };
    head->magic = MAGIC;
    return attach(head);
}

struct border *border_open(int file)
{
    struct head *head = host_file_size(file) >= HEAP_FILE_HEAD ? host_file_map(file, HEAP_FILE_HEAD) : NULL;
    if (!head) return NULL;
    if (head->magic == MAGIC && head->pool.limit && head->pool.limit % STEP == 0 && head->pool.limit <= 2048 * GiB) return attach(head);
    host_file_unmap(head, HEAP_FILE_HEAD);
    return NULL;
}

void border_close(struct border *b)
{
    bool again = false;                /* a pool that was imported where it was exported has two */
    for (uint32_t i = 0; i < count; i++) again |= borders[i] && borders[i] != b && borders[i]->head->pool.id == b->head->pool.id;
    if (b->own && !again) b->own->process = 0;
    borders[b->index] = NULL;
    host_file_unmap(b->head, HEAP_FILE_HEAD);
    host_free(b);
}

struct border_pool border_of(const struct border *b) { return b->head->pool; }

/* ---- blocks ---- */

static bool is_held(const struct border_block *k)
{
    for (int i = 0; i < BORDER_HOLDERS; i++)
        if (k->holders[i] && host_process_alive(k->holders[i])) return true;
    return false;
}

int border_export(struct border *b, size_t offset, size_t bytes)
{
    struct head *h = b->head;
    int place = -1;
    host_lock_between(&h->lock);
    for (int i = 0; i < BLOCKS && place < 0; i++)
        if (!h->blocks[i].generation) place = i;
    for (int i = 0; i < BLOCKS && place < 0; i++)
        if (h->blocks[i].freed && !is_held(&h->blocks[i])) place = i;
    if (place >= 0) {
        memset(&h->blocks[place], 0, sizeof h->blocks[place]);
        h->blocks[place].generation = ++h->generations;
        h->blocks[place].offset = offset;
        h->blocks[place].bytes = bytes;
    }
    host_unlock_between(&h->lock);
    return place;
}

struct border_block border_look(struct border *b, int block)
{
    struct border_block copy = { .generation = 0 };
    if (block < 0 || block >= BLOCKS) return copy;
    host_lock_between(&b->head->lock);
    copy = b->head->blocks[block];
    host_unlock_between(&b->head->lock);
    return copy;
}

struct border_block border_look_at(uint32_t shared) { return border_look(border_in(shared), (int)((shared & 0xffff) >> 2)); }

void border_hold(uint32_t shared, bool on)
{
    struct head *h = border_in(shared)->head;
    struct border_block *k = border_block(shared);
    uint64_t from = on ? 0 : host_process(), to = on ? host_process() : 0;
    host_lock_between(&h->lock);
    int i = 0;
    while (i < BORDER_HOLDERS && k->holders[i] != from) i++;
    for (int j = 0; on && i == BORDER_HOLDERS && j < BORDER_HOLDERS; j++)
        if (!host_process_alive(k->holders[j])) i = j;
    if (i < BORDER_HOLDERS) k->holders[i] = to;
    host_unlock_between(&h->lock);
}

void border_freed(uint32_t shared, struct border_deed by)
{
    struct head *h = border_in(shared)->head;
    struct border_block *k = border_block(shared);
    host_lock_between(&h->lock);
    k->freeing = by;
    k->freed = true;
    host_unlock_between(&h->lock);
}

void border_add(uint32_t shared, struct border_deed by)
{
    struct border *b = border_in(shared);
    struct border_block *k = border_block(shared);
    if (!b->own) return;               /* nobody could tell when it is over */
    host_lock_between(&b->head->lock);
    struct border_deed *place = NULL;
    for (int i = 0; i < BORDER_ACCESSES && !place; i++) {
        struct border_deed *a = &k->accesses[i];
        bool same = a->process == by.process && a->lane == by.lane && a->side == by.side && a->write == by.write && a->release == by.release && a->from == by.from && a->to == by.to;
        if (!a->process || same) place = a;
    }
    for (int i = 0; i < BORDER_ACCESSES && !place; i++)
        if (border_is_over(shared, &k->accesses[i])) place = &k->accesses[i];
    if (!place) place = &k->accesses[k->next++ % BORDER_ACCESSES];
    *place = by;
    host_unlock_between(&b->head->lock);
}
