/* Memory pools: which memory goes back, when, and the statistics. Sources: tests/facts/one-gpu.txt, probe-answers.txt and, for
 * other places than a device's own memory, probe-pools.txt.
 *
 * Law: reserved = 32 MiB x mapped steps; used = sum of what the live blocks asked for (but see pool_free_now). */
#include "mem/pool.h"

#include "ipc/ipc_check.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "check/page_guard.h"
#include "base/handle.h"
#include "os/os.h"
#include "os/process.h"
#include "base/journal.h"
#include "base/settings.h"
#include "mem/address_map.h"
#include "sched/engine.h"

static struct pool *pools, *last_pool;
static struct pool *defaults[PLACES], *current[PLACES];
static void *gone[PLACES];             /* a destroyed pool that is current; else NULL */
static int pool_ids;

/* ---- places (measured: probe-pools.txt, "kinds") ---- */

int pool_place(const struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
    bool managed = type == cudaMemAllocationTypeManaged;
    if (!managed && type != cudaMemAllocationTypePinned) return -1;
    int first = managed ? PLACE_MANAGED : 0;
    switch (location->type) {
    case cudaMemLocationTypeDevice:   return device_exists(location->id) ? first + location->id : -1;
    case cudaMemLocationTypeHost:     return first + PLACE_HOST;
    case cudaMemLocationTypeHostNuma: return location->id >= 0 && location->id < HOST_NODES ? first + PLACE_HOST_NUMA : -1;
    case cudaMemLocationTypeNone:     return managed ? PLACE_MANAGED_NONE : -1;      /* only managed memory may prefer no location, */
    case cudaMemLocationTypeHostNumaCurrent: return managed ? PLACE_MANAGED_NEAR : -1;      /* or that of the thread that touches it */
    default:                          return -1;
    }
}

/* The properties of a place's default pool. */
static struct cudaMemPoolProps props_of(int place)
{
    bool managed = place >= PLACE_MANAGED;
    int in = managed ? place - PLACE_MANAGED : place;
    struct cudaMemPoolProps props = { .allocType = managed ? cudaMemAllocationTypeManaged : cudaMemAllocationTypePinned };
    props.location.type = place == PLACE_MANAGED_NONE ? cudaMemLocationTypeNone : in < PLACE_HOST ? cudaMemLocationTypeDevice : in == PLACE_HOST ? cudaMemLocationTypeHost : cudaMemLocationTypeHostNuma;
    props.location.id = in < PLACE_HOST ? in : 0;
    return props;
}

/* What a destroyed stream freed and nobody has waited for is not its successor's. Chosen: it is everybody's then, like what was finished when the stream was
 * destroyed. */
static void bring_home_all(struct stream *s)
{
    for (struct pool *p = pools; p; p = p->next)
        for (uint32_t i = 0; i < p->heap.lane_count; i++)
            if (p->heap.lanes[i].lane == s->lane) p->news |= reuse_bring_home(&p->heap, s->lane, s->done);
}

static struct pool *pool_add(const struct cudaMemPoolProps *props, size_t limit)
{
    stream_on_place_given(bring_home_all);
    struct pool *p = host_allocate(sizeof *p);
    bool on_device = props->location.type == cudaMemLocationTypeDevice, managed = props->allocType == cudaMemAllocationTypeManaged;
    p->place = pool_place(&props->location, props->allocType);
    p->device = on_device ? props->location.id : NO_DEVICE;
    p->props = *props;
    p->policy = (struct reuse_policy){ true, true, true, round_up(props->maxSize, STEP) / STEP };
    p->access = managed ? UINT32_MAX : on_device ? 1u << p->device : 0;
    p->told = managed ? 0 : p->access;
    /* chosen: managed memory is counted with the host's, also when it prefers a device */
    heap_init(&p->heap, managed ? NO_DEVICE : p->device, STEP, limit);
    p->heap.shared = managed || !on_device;
    if (last_pool) last_pool->next = p;
    else pools = p;
    last_pool = p;
    return p;
}

static struct pool *pool_new(const struct cudaMemPoolProps *props) { return pool_add(props, 2 * round_up(settings.memory, STEP)); }

struct pool *pool_default(int place)
{
    if (!defaults[place]) {
        struct cudaMemPoolProps props = props_of(place);
        struct pool *p = pool_new(&props);
        p->handle = handle_new(HANDLE_POOL, p);
        p->id = place < MAX_DEVICES ? place : settings.devices + pool_ids++;
        p->is_default = true;
        defaults[place] = current[place] = p;
    }
    return defaults[place];
}

struct pool *pool_current(int place)
{
    pool_default(place);
    return current[place];
}

void pool_set_current(int place, struct pool *pool)
{
    pool_default(place);
    current[place] = pool;
    gone[place] = NULL;
}

void pool_set_current_gone(int place, void *handle) { gone[place] = handle; }
void *pool_current_handle(int place) { return gone[place] ? gone[place] : pool_current(place)->handle; }

/* Pools that other processes can have by a file descriptor keep their storage in a file in memory. Chosen: only on a device. */
static bool put_in_file(struct pool *p)
{
    if (!(p->props.handleTypes & cudaMemHandleTypePosixFileDescriptor) || p->heap.shared) return true;
    int file = host_memory_file();
    if (file < 0) host_say("no file in memory could be made for a pool that can be shared: this process has too many files open (ulimit -n).");
    p->border = file < 0 ? NULL : border_new(file, p->device, p->heap.limit);
    if (p->border) p->heap.file = file;
    else if (file >= 0) host_file_close(file);
    return p->border;
}

struct pool *pool_import(int file)
{
    struct border *border = border_open(file);
    struct border_pool from = border ? border_of(border) : (struct border_pool){ .device = -1 };
    if (!device_exists(from.device)) {
        if (border) border_close(border);
        host_file_close(file);
        return NULL;
    }
    struct pool *p = pools;
    while (p && !(p->imported && p->border && border_of(p->border).id == from.id)) p = p->next;
    if (p) {
        border_close(border);
        host_file_close(file);
    } else {
        struct cudaMemPoolProps props = props_of(from.device);
        props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
        p = pool_add(&props, from.limit);
        p->border = border;
        p->heap.file = file;
        p->heap.foreign = p->imported = true;
        p->handle = handle_new(HANDLE_POOL, p);
        p->id = settings.devices + pool_ids++;
    }
    p->imports++;
    return p;
}

struct pool *pool_create(const struct cudaMemPoolProps *props)
{
    struct pool *p = pool_new(props);
    if (!put_in_file(p)) {
        pool_discard(p);
        return NULL;
    }
    p->handle = handle_new(HANDLE_POOL, p);
    p->id = settings.devices + pool_ids++;
    return p;
}

struct pool *pool_for_graph(int device, struct graph_memory *owner)
{
    struct cudaMemPoolProps props = props_of(device);
    struct pool *p = pool_new(&props);
    /* addresses for hundreds of graphs (chosen), and yet a node may ask for more than there is memory (measured) */
    if (p->heap.limit > 8 * GiB) p->heap.limit = round_up(p->heap.limit / 8 * 5, STEP);
    p->threshold = UINT64_MAX;
    p->graph = owner;
    return p;
}

struct pool *pool_of(cudaMemPool_t handle) { return handle_object(HANDLE_POOL, handle); }

struct pool *pool_of_own(cudaMemPool_t handle)
{
    struct pool *p = pool_of(handle);
    return p && !p->imported ? p : NULL;
}

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
    if (p->imported) return;           /* only addresses have gone */
    device_give(p->heap.device, steps * STEP);
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
    checker_border_ended(&c->watch, s, number);
    if (p->imported) {                 /* chosen: what the stream still does there reaches the memory; the checker accuses what comes later */
        heap_put(&p->heap, c, COMMON, 0);
        return;
    }
    p->used -= c->asked;
    heap_lane(&p->heap, s->lane);
    heap_put(&p->heap, c, s->lane, number);
}

void pool_free_now(struct pool *p, struct chunk *c)
{
    checker_border_ended(&c->watch, NULL, 0);
    heap_put(&p->heap, c, COMMON, 0);
    if (!p->imported) release(p, p->threshold, COST_RELEASE_STEP, "free");
}

void pool_trim(struct pool *p, size_t keep)
{
    /* measured: a threshold keeps no more than it says (48 MiB: 32), a trim no less (48 MiB: 64) */
    release(p, keep > SIZE_MAX - STEP ? SIZE_MAX : round_up(keep, STEP), COST_RELEASE_STEP, "trim");
}

/* No block is live: addresses, storage and what other processes are told of it go. */
static void close_storage(struct pool *p)
{
    space_remove(&p->heap);
    if (p->heap.base) guard_forgotten(p->heap.base, p->heap.limit);
    heap_close(&p->heap);
    if (!p->border) return;
    border_close(p->border);
    host_file_close(p->heap.file);
    p->border = NULL;
}

/* An imported pool that is destroyed; its addresses stay while work on what was freed may be pending (measured: that work still succeeds). */
static void close_import(struct pool *p)
{
    if (p->imports || !p->border || timeline_busy()) return;
    close_storage(p);
    p->heap = (struct heap){ .device = p->device };
}

bool pool_destroy_imported(struct pool *p)
{
    if (!p->imports) return true;
    if (p->heap.starts.count) return false;
    p->imports--;
    close_import(p);
    return true;
}

/* The last of a destroyed pool. */
static void close_if_over(struct pool *p)
{
    if (!p->destroyed || p->heap.starts.count) return;
    for (uint32_t i = 0; i < p->heap.lane_count; i++)
        if (p->heap.lanes[i].fits.root) return;
    /* a wrong program's work may still be for what was freed: its addresses stay until then, as an imported pool's do */
    if (p->heap.base && stream_using(p->heap.base, p->heap.base + p->heap.limit)) return;
    release(p, 0, 0, "destroy");
    close_storage(p);
    struct pool **at = &pools;
    last_pool = NULL;
    while (*at) {
        if (*at == p) *at = p->next;
        else {
            last_pool = *at;
            at = &(*at)->next;
        }
    }
    checker_reach_ended(&p->reaches);
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
        if (p->imported) close_import(p);
        else close_if_over(p);
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
    if (current[p->place] == p) current[p->place] = defaults[p->place];     /* measured */
    p->destroyed = true;
    p->threshold = 0;                  /* measured: what is idle or reached goes back now, the rest when it comes home */
    for (uint32_t i = 0; i < p->heap.lane_count; i++) reuse_bring_home(&p->heap, p->heap.lanes[i].lane, stream_of_lane(p->heap.lanes[i].lane)->done);
    release(p, 0, COST_RELEASE_STEP, "destroy");
    close_if_over(p);
}

void pools_reset(int device)
{
    const int places[] = { device, PLACE_MANAGED + device };
    for (size_t i = 0; i < 2; i++) {
        struct pool **first = &defaults[places[i]];
        if (*first) pool_destroy(*first);
        *first = current[places[i]] = NULL;
        gone[places[i]] = NULL;
    }
}

void pool_discard(struct pool *p)
{
    p->destroyed = true;
    p->graph = NULL;                   /* that is over, also when the pool stays for a while */
    close_if_over(p);
}
