/* Memory pools: which memory goes back, when, and the statistics. Sources: tests/facts/one-gpu.txt and probe-answers.txt.
 *
 * Law: reserved = 32 MiB x mapped steps; used = sum of what the live blocks asked for (but see pool_free_now). */
#include "pool.h"

#include "clock.h"
#include "device.h"
#include "durations.h"
#include "handle.h"
#include "host.h"
#include "journal.h"
#include "settings.h"
#include "space.h"
#include "timeline.h"

static struct pool *pools, *last_pool;
static struct pool *defaults[MAX_DEVICES], *current[MAX_DEVICES];
static int pool_ids;

static struct pool *pool_new(int device, const struct cudaMemPoolProps *props)
{
    struct pool *p = host_allocate(sizeof *p);
    p->device = device;
    p->props = *props;
    p->policy = (struct reuse_policy){ true, true, true, round_up(props->maxSize, STEP) / STEP };
    p->access = 1u << device;
    p->handle = handle_new(HANDLE_POOL, p);
    heap_init(&p->heap, device, STEP, 2 * round_up(settings.memory, STEP));
    if (last_pool) last_pool->next = p;
    else pools = p;
    last_pool = p;
    return p;
}

struct pool *pool_default(int device)
{
    if (!defaults[device]) {
        struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned, .location = { .type = cudaMemLocationTypeDevice, .id = device } };
        defaults[device] = pool_new(device, &props);
        defaults[device]->id = device;
        defaults[device]->is_default = true;
        current[device] = defaults[device];
    }
    return defaults[device];
}

struct pool *pool_current(int device)
{
    pool_default(device);
    return current[device];
}

void pool_set_current(int device, struct pool *pool)
{
    pool_default(device);
    current[device] = pool;
}

struct pool *pool_create(const struct cudaMemPoolProps *props)
{
    struct pool *p = pool_new(props->location.id, props);
    p->id = settings.devices + pool_ids++;
    return p;
}

struct pool *pool_of(cudaMemPool_t handle) { return handle_object(HANDLE_POOL, handle); }
struct pool *pool_first(void) { return pools; }

/* ---- allocating ---- */

struct chunk *pool_allocate(struct pool *p, size_t bytes, struct stream *s, enum reuse *how)
{
    size_t grown = 0, remapped = 0;
    bool capped = false;
    *how = REUSE_FAILED;
    if (bytes > p->heap.limit - GRAIN || !heap_open(&p->heap)) return NULL;
    if (!space_knows(&p->heap)) space_add(&p->heap, p);
    struct chunk *c = reuse_take(&p->heap, &p->policy, s, round_up(bytes, GRAIN), how, &grown, &remapped, &capped);
    if (grown || remapped) {
        clock_charge(COST_GROW + COST_GROW_STEP * (grown + remapped));
        journal_did("grow");
        journal_number("pool", (uint64_t)p->id);
        journal_number("steps", grown);
        if (remapped) journal_number("remapped", remapped);
        journal_number("reserved", pool_reserved(p));
        journal_did_end(clock_now());
    }
    /* measured: a growth that the cap stops has raised the high mark to the cap */
    size_t high = capped ? p->policy.max_steps * STEP : pool_reserved(p);
    if (p->reserved_high < high) p->reserved_high = high;
    if (!c) return NULL;
    p->used += bytes;
    if (p->used_high < p->used) p->used_high = p->used;
    c->asked = bytes;
    return c;
}

/* ---- giving back ---- */

/* Gives idle steps back, from the highest address down, until `keep` bytes or less are reserved. */
static void release(struct pool *p, size_t keep, time_ns step_cost, const char *why)
{
    size_t steps = 0, idle;
    while (pool_reserved(p) > keep && (idle = heap_idle_step(&p->heap, true, 0, 0)) != SIZE_MAX) {
        heap_unmap(&p->heap, idle);
        steps++;
    }
    if (!steps) return;
    device_give(p->device, steps * STEP);
    clock_charge(step_cost * steps);
    journal_did("release");
    journal_number("pool", (uint64_t)p->id);
    journal_number("steps", steps);
    journal_number("reserved", pool_reserved(p));
    journal_text("why", why);
    journal_did_end(clock_now());
}

void pool_free(struct pool *p, struct chunk *c, struct stream *s, uint64_t number)
{
    p->used -= c->asked;
    heap_lane(&p->heap, s->lane);
    heap_put(&p->heap, c, s->lane, number);
}

void pool_free_now(struct pool *p, struct chunk *c)
{
    heap_put(&p->heap, c, COMMON, 0);
    release(p, p->threshold, COST_RELEASE_STEP, "free");
}

void pool_trim(struct pool *p, size_t keep)
{
    /* measured: a threshold keeps no more than it says (48 MiB: 32), a trim no less (48 MiB: 64) */
    release(p, keep > SIZE_MAX - STEP ? SIZE_MAX : round_up(keep, STEP), COST_RELEASE_STEP, "trim");
}

/* The last of a destroyed pool. */
static void close_if_over(struct pool *p)
{
    if (!p->destroyed || p->heap.live_count) return;
    for (uint32_t i = 0; i < p->heap.lane_count; i++)
        if (p->heap.lanes[i].fits.root) return;
    release(p, 0, 0, "destroy");
    space_remove(&p->heap);
    heap_close(&p->heap);
    struct pool **at = &pools;
    last_pool = NULL;
    while (*at) {
        if (*at == p) *at = p->next;
        else {
            last_pool = *at;
            at = &(*at)->next;
        }
    }
    host_free(p);
}

void pools_synchronized(void)
{
    for (struct pool *p = pools, *next; p; p = next) {
        next = p->next;
        for (uint32_t i = 0; i < p->heap.lane_count; i++) {
            uint32_t lane = p->heap.lanes[i].lane;
            p->news |= reuse_bring_home(&p->heap, lane, stream_of_lane(lane)->synchronised);
        }
        if (p->news) release(p, p->threshold, COST_SYNC_RELEASE, "synchronise");
        p->news = false;
        close_if_over(p);
    }
}

void pools_stream_destroyed(struct stream *s)
{
    for (struct pool *p = pools, *next; p; p = next) {
        next = p->next;
        for (uint32_t i = 0; i < p->heap.lane_count; i++)
            if (p->heap.lanes[i].lane == s->lane && reuse_bring_home(&p->heap, s->lane, s->done)) release(p, p->threshold, COST_SYNC_RELEASE, "stream destroyed");
        close_if_over(p);
    }
}

void pool_destroy(struct pool *p)
{
    handle_retire(HANDLE_POOL, p->handle);
    if (current[p->device] == p) current[p->device] = defaults[p->device];     /* measured */
    p->destroyed = true;
    p->threshold = 0;                  /* measured: what is idle or reached goes back now, the rest when it comes home */
    for (uint32_t i = 0; i < p->heap.lane_count; i++) reuse_bring_home(&p->heap, p->heap.lanes[i].lane, stream_of_lane(p->heap.lanes[i].lane)->done);
    release(p, 0, COST_RELEASE_STEP, "destroy");
    close_if_over(p);
}
