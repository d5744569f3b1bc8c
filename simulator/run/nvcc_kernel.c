/* Launches of kernels that nvcc compiled. What such a kernel touches is known only when it has run.
 */
#include "run/nvcc_kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/device_state.h"
#include "base/hazards.h"
#include "base/list.h"
#include "base/settings.h"
#include "check/checker.h"
#include "check/failed_call.h"
#include "check/page_guard.h"
#include "check/written.h"
#include "mem/address_map.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "run/commands.h"
#include "run/condition.h"
#include "run/device_runtime.h"
#include "run/kernel_library.h"
#include "run/texture_object.h"
#include "run/user_kernel.h"
#include "sched/cost.h"
#include "sched/engine.h"
#include "sched/happens_before.h"
#include "sched/virtual_time.h"

_Static_assert(WRITTEN_PIECE == (size_t)64 << PIECE_SHIFT, "a window has the same pieces");

/* ---- refused kernels ---- */

/* Says once for each kernel why it does not run. The error is that of a GPU for which the program
 * has no code (documented: cudaErrorNoKernelImageForDevice). */
cudaError_t nvcc_kernel_refuse(struct registered_kernel *k, const char *why)
{
    NEEDS_LOCK();
    if (!k->refusal_said)
        diag("the kernel %s was built by nvcc and does not run here: %s. Its launches return "
             "cudaErrorNoKernelImageForDevice, and nothing of them happens. The page \"Run your "
             "own program\" of the book says what runs, and how a kernel gets a function for the "
             "CPU.",
             k->name, why);
    k->refusal_said = true;
    return cudaErrorNoKernelImageForDevice;
}

cudaError_t nvcc_kernel_refuse_launch(struct registered_kernel *k, const char *why)
{
    NEEDS_LOCK();
    cudaError_t e = nvcc_kernel_refuse(k, why);
    hazards_gave_up("a launch of the kernel %s was refused", k->name);
    return e;
}

/* Assumed: registers set no limit, because PTX does not say how many registers a thread takes. */
unsigned nvcc_kernel_blocks_that_fit(const struct kernel_code *code, unsigned threads,
                                     size_t shared_bytes)
{
    NEEDS_LOCK();
    if (!threads || threads > device_figure(cudaDevAttrMaxThreadsPerBlock))
        return 0;
    size_t whole = round_up(threads, WARP_SIZE),
           most = device_figure(cudaDevAttrMaxBlocksPerMultiprocessor);
    size_t by_threads = device_figure(cudaDevAttrMaxThreadsPerMultiProcessor) / whole;
    size_t by_shared = device_figure(cudaDevAttrMaxSharedMemoryPerMultiprocessor)
                     / (code->static_shared_bytes + shared_bytes
                        + device_figure(cudaDevAttrReservedSharedMemoryPerBlock));
    most = by_threads < most ? by_threads : most;
    return (unsigned)(by_shared < most ? by_shared : most);
}

static uint64_t blocks_on_device(const struct kernel_code *code, dim3 block, size_t shared_bytes)
{
    return (uint64_t)nvcc_kernel_blocks_that_fit(code, block.x * block.y * block.z, shared_bytes)
         * device_figure(cudaDevAttrMultiProcessorCount);
}

size_t nvcc_kernel_shared_limit(const struct registered_kernel *k, const struct kernel_code *code)
{
    NEEDS_LOCK();
    int dynamic = k->attributes[cudaFuncAttributeMaxDynamicSharedMemorySize];
    return dynamic < 0 ? 48 * KiB : (size_t)dynamic + code->static_shared_bytes;
}

static cudaError_t check_shape(struct registered_kernel *k, const struct kernel_code *code,
                               dim3 grid, dim3 block)
{
    const int *cluster = &k->attributes[cudaFuncAttributeRequiredClusterWidth];
    cudaError_t e = kernel_check_shape(grid, block, code->entry->function->max_threads);
    if (e || (cluster[0] <= 1 && cluster[0] == cluster[1] && cluster[1] == cluster[2]))
        return e;
    if (cluster[0] && cluster[1] && cluster[2])
        return nvcc_kernel_refuse_launch(k, IN_CLUSTERS);
    failed_call_because("cudaFuncSetAttribute has made clusters of (%d,%d,%d) blocks of %s",
                        cluster[0], cluster[1], cluster[2], k->name);
    return cudaErrorInvalidClusterSize;
}

cudaError_t nvcc_kernel_check(struct registered_kernel *k, const struct kernel_code *code,
                              dim3 grid, dim3 block, size_t shared_bytes)
{
    NEEDS_LOCK();
    size_t limit = nvcc_kernel_shared_limit(k, code);
    cudaError_t e = check_shape(k, code, grid, block);
    if (e || code->static_shared_bytes + shared_bytes <= limit)
        return e;
    failed_call_because("a block of %s has %zu bytes of shared memory, and may have %zu "
                        "(cudaFuncAttributeMaxDynamicSharedMemorySize)",
                        k->name, code->static_shared_bytes + shared_bytes, limit);
    return cudaErrorInvalidValue;
}

cudaError_t nvcc_kernel_check_cooperative(struct registered_kernel *k,
                                          const struct kernel_code *code, dim3 grid, dim3 block,
                                          size_t shared_bytes)
{
    NEEDS_LOCK();
    cudaError_t e = check_shape(k, code, grid, block);
    if (e)
        return e;
    /* Documented: the error of a cooperative launch whose blocks do not all fit. */
    uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    /* Measured (probe-odd-functions.txt, "shapes"): a limit below 48 KiB does not count here. */
    size_t limit = nvcc_kernel_shared_limit(k, code);
    bool is_possible =
        code->static_shared_bytes + shared_bytes <= (limit < 48 * KiB ? 48 * KiB : limit);
    uint64_t fit = is_possible ? blocks_on_device(code, block, shared_bytes) : 0;
    if (blocks <= fit)
        return nvcc_kernel_check(k, code, grid, block, shared_bytes);
    failed_call_because("%llu blocks of a cooperative launch have to run at once, and %llu fit",
                        (unsigned long long)blocks, (unsigned long long)fit);
    return cudaErrorCooperativeLaunchTooLarge;
}

/* ---- launches ---- */

struct nvcc_kernel *nvcc_kernel_new(struct registered_kernel *k, const struct kernel_code *code,
                                    dim3 grid, dim3 block, size_t shared_bytes,
                                    void *const *arguments)
{
    NEEDS_LOCK();
    const struct function *f = code->entry->function;
    struct nvcc_kernel *launch = os_allocate(sizeof *launch + f->parameter_bytes);
    launch->size = sizeof *launch + f->parameter_bytes;
    launch->kernel = k;
    launch->code = code;
    launch->hints.domains.remote = 1;
    launch->shape = (struct launch_shape){.grid = {grid.x, grid.y, grid.z},
                                          .block = {block.x, block.y, block.z},
                                          .shared_bytes = shared_bytes,
                                          .fitting = blocks_on_device(code, block, shared_bytes),
                                          .parameter_bytes = f->parameter_bytes};
    for (size_t n = 0; arguments && n < f->parameters.count; n++) {
        const struct variable *p = &f->parameters.all[n];
        memcpy(launch->parameters + p->offset, arguments[n], p->bytes);
    }
    return launch;
}

/* ---- the memory that a kernel touches ---- */

/* The state of a launch while it runs. */
struct running {
    struct op *op;
    const struct nvcc_kernel *kernel;
    struct touched_memory *windows;
    /* `why`: the reason why an address cannot be touched, or NULL if there is no particular one.
     * `is_gone`: there is no allocation at the address, which may have been freed. */
    const char *why;
    bool is_gone;
    /* Allocations that its threads have freed. They stay until the launch is judged. */
    struct address_info *freed;
    size_t freed_count;
    struct device_runtime device_runtime;
    /* The grid, where races between grids are looked for, or else NULL. */
    struct grid *grid;
};

/* An allocation that the launch touches, or mapped memory outside of allocations. */
struct touched_memory {
    struct touched_memory *next;
    struct window window;
    struct address_info info;
    /* The number of launches that the grid had made when it first touched this memory. */
    unsigned launches;
    /* The allocation; .shadow is NULL outside of allocations. */
    struct shadow_ref ref;
};

static struct window *add_window(struct running *r, const struct address_info *a,
                                 struct shadow_ref ref, uint64_t base, uint64_t end, char *storage)
{
    struct touched_memory *m = os_allocate(sizeof *m);
    m->window = (struct window){.base = base, .end = end, .storage = storage, .owner = m};
    m->info = *a;
    m->ref = ref;
    m->window.is_outside = !ref.shadow;
    m->launches = r->device_runtime.launches;
    m->next = r->windows;
    r->windows = m;
    return &m->window;
}

/* A larger allocation counts as written, because looking at all its pages takes too long. */
#define LOOKED_AT_MAX ((size_t)64 * MiB)

/* The page faults of the process (os_page_faults) when an allocation's pages were looked at. Needs
 * the lock. */
static struct look {
    uint32_t id;
    uint64_t faults;
} looks[64];

/* Writes of the host to memory that it shares are not seen. But a page that nobody has touched yet
 * has no value (assumed: its earlier contents in a pool are one). Called before the launch touches
 * the page. */
static void note_untouched(const struct address_info *a, struct shadow_ref ref, const char *storage)
{
    const bool is_own = a->kind == ADDRESS_PINNED
                          ? !a->pinned->registered
                          : a->kind == ADDRESS_ALLOCATED && a->heap->host_visible && !a->heap->file
                                && !a->heap->imported && !memory_is_variable(a->range);
    if (!is_own || ref.shadow->is_touched || ref.shadow->ipc_ref || ref.bytes > LOOKED_AT_MAX)
        return;
    const uint64_t faults = os_page_faults();
    struct look *last_look = &looks[ref.id % (sizeof looks / sizeof *looks)];
    if (faults && last_look->faults == faults && last_look->id == ref.id)
        return;
    *last_look = (struct look){ref.id, faults};
    const size_t before = (uintptr_t)storage & (PAGE - 1), end = page_up(before + ref.bytes);
    size_t first, last = 0;
    written_end(ref.shadow);
    written_begin(ref.shadow);
    while (os_find_touched(storage - before, last, end, &first, &last)) {
        const size_t from = first > before ? first - before : 0, to = last - before;
        written_set(ref.shadow, ref.bytes, from, to < ref.bytes ? to : ref.bytes, true);
    }
    ref.shadow->is_touched = written_is_all(ref.shadow);
}

static struct window *add_allocation(struct running *r, const struct address_info *a,
                                     struct shadow_ref ref, char *storage)
{
    uint64_t base = (uint64_t)(uintptr_t)ref.address;
    struct window *win = add_window(r, a, ref, base, base + ref.bytes, storage);
    if (settings.check && settings.init) {
        note_untouched(a, ref, storage);
        win->pieces = written_pieces(ref.shadow, ref.bytes);
    }
    return win;
}

/* Adds a window for mapped memory outside of allocations: the free range around the address, within
 * one segment. */
static struct window *add_gap(struct running *r, const struct address_info *a, uint64_t address,
                              size_t bytes)
{
    struct heap *h = a->heap;
    const struct range *free = a->range ? NULL : heap_free_at(h, a->offset, 1);
    size_t segment = a->offset / h->segment_size * h->segment_size;
    size_t from = a->offset, to = a->offset + bytes;
    if (a->range) {
        from = a->range->offset + a->range->requested;
        to = range_end(a->range) > to ? range_end(a->range) : to;
    } else if (free) {
        from = free->offset > segment ? free->offset : segment;
        to = range_end(free) < segment + h->segment_size ? range_end(free)
                                                         : segment + h->segment_size;
    }
    if (from > a->offset || to < a->offset + bytes) {
        from = a->offset;
        to = a->offset + bytes;
    }
    uint64_t base = address - a->offset;
    return add_window(r, a, (struct shadow_ref){.shadow = NULL}, base + from, base + to,
                      heap_storage(h, from, to - from));
}

static char *storage_of_all(const struct address_info *a, struct shadow_ref ref)
{
    return heap_storage(a->heap, (size_t)(ref.address - a->heap->base), ref.bytes);
}

/* Notes which bytes have a value now. A read of bytes without a value is reported later, after
 * everything else is judged. */
static void note_values(const struct touched_memory *m)
{
    const struct window *win = &m->window;
    const struct touched *all[] = {&win->written, &win->atomic, &win->of_block[1],
                                   &win->of_block[2]};
    for (size_t n = 0; n < 4 && (win->pieces || win->carried.bits); n++)
        if (all[n]->bits && m->info.heap && memory_is_noted(m->info.heap, m->ref.shadow))
            written_set_bits(m->ref.shadow, m->ref.bytes, all[n]->bits, all[n]->first, all[n]->last,
                             win->carried.bits);
}

/* ---- malloc and free of kernels ---- */

#define MALLOC "malloc in a kernel"

/* The bytes of each device that kernels have allocated. Needs the lock. */
static size_t heap_used[MAX_DEVICES];

/* Assumed: each allocation takes 16 bytes more of the heap. */
static size_t heap_share(size_t bytes) { return round_up(bytes, 16) + 16; }

static uint64_t allocate_in_kernel(void *context, size_t bytes)
{
    const struct running *r = context;
    int device = r->op->stream->device;
    size_t most = 0;
    struct heap *h;
    device_limit(device, cudaLimitMallocHeapSize, &most);
    if (bytes > most || heap_share(bytes) > most - heap_used[device])
        return 0;
    struct range *range = memory_allocate_variable(device, bytes ? bytes : 1, &h);
    if (!range)
        return 0;
    heap_used[device] += heap_share(bytes);
    range->id = memory_new_id();
    range->shadow =
        (struct shadow){.kind = ALLOCATION_AT_CALL,
                        .allocated_by = {.call = MALLOC, .slot = HOST_SLOT, .stream = -2}};
    if (settings.init && settings.check)
        written_begin(&range->shadow);
    memory_fill_new(h, range, NULL);
    return (uint64_t)(uintptr_t)memory_address(h, range);
}

static bool is_freed(const struct running *r, const struct range *range)
{
    for (size_t n = 0; n < r->freed_count; n++)
        if (range && r->freed[n].range == range)
            return true;
    return false;
}

static bool is_of_kernel(const struct shadow *s) { return !strcmp(s->allocated_by.call, MALLOC); }

static bool release_in_kernel(void *context, uint64_t address)
{
    struct running *r = context;
    struct address_info a = memory_find((const void *)(uintptr_t)address);
    if (a.kind != ADDRESS_ALLOCATED || a.inner_offset || !memory_is_variable(a.range)
        || !is_of_kernel(&a.range->shadow) || is_freed(r, a.range))
        return false;
    *OS_ADD(r->freed, r->freed_count) = a;
    heap_used[a.heap->device] -= heap_share(a.range->requested);
    return true;
}

/* After this many launches, a grid's accesses are no longer kept apart by launch. The same number
 * of grids is compared for each launch by the host (assumed to be enough). */
#define GRIDS_MAX 128

static uint64_t call_in_kernel(void *context, struct device_call *c)
{
    struct running *r = context;
    const unsigned launches = r->device_runtime.launches;
    uint64_t result;
    switch (c->function) {
    case DEVICE_Malloc:
        c->output = allocate_in_kernel(r, c->arguments[1][0]);
        return c->output ? cudaSuccess
                         : device_runtime_fail(&r->device_runtime, c, cudaErrorMemoryAllocation);
    case DEVICE_Free:
        return !c->arguments[0][0] || release_in_kernel(r, c->arguments[0][0])
                 ? cudaSuccess
                 : device_runtime_fail(&r->device_runtime, c, cudaErrorInvalidValue);
    default: break;
    }
    result = device_runtime_call(&r->device_runtime, c);
    c->is_launch =
        r->grid && r->device_runtime.launches > launches && r->device_runtime.launches <= GRIDS_MAX;
    for (struct touched_memory *m = r->windows; m && c->is_launch; m = m->next)
        if (m->launches == launches && m->ref.shadow)
            note_values(m);
    return result;
}

/* Frees what the launch's threads have freed, now that the launch is judged. */
static void free_released(struct running *r)
{
    for (size_t n = 0; n < r->freed_count; n++) {
        checker_variable_freed(&r->freed[n].range->shadow);
        memory_free_variable(&r->freed[n]);
    }
    os_free(r->freed);
}

static bool set_condition(void *context, uint64_t handle, uint32_t value)
{
    struct condition *c = handle_object(HANDLE_CONDITION, (const void *)(uintptr_t)handle);
    const struct running *r = context;
    /* Documented: the handle must be of the kernel's context. */
    if (!c || c->device != r->op->stream->device)
        return false;
    if (c->set_by != r->kernel->late->number)
        checker_found(r->kernel->late, condition_shadow(c),
                      &(struct found_access){.to = sizeof c->value, .write = true});
    c->set_by = r->kernel->late->number;
    c->has_value = true;
    c->value = value;
    return true;
}

static const struct texture *find_texture(void *context, uint64_t handle)
{
    const struct running *r = context;
    return texture_object_of_launch(handle, r->op->call);
}

/* ---- finding memory ---- */

/* Finds what the address meant when the launch was made, because since then its allocation may have
 * been freed and another one may have taken its place. */
static struct window *find_memory(void *context, uint64_t address, size_t bytes, bool write)
{
    struct running *r = context;
    const char *p = (const char *)(uintptr_t)address;
    struct address_info a = memory_find(p);
    const struct late_launch *l = r->kernel->late;
    struct window *own = device_runtime_find(&r->device_runtime, address, bytes);
    if (own)
        return own;
    struct late_freed *freed = late_freed_find(l, p);
    r->why = command_why_not(&a, p, bytes, r->op->stream->device, write);
    if (is_freed(r, a.range))
        r->why = "a thread of the kernel has given to free";
    r->is_gone = a.kind == ADDRESS_UNALLOCATED || a.kind == ADDRESS_PAGEABLE;
    if (r->why)
        return NULL;
    size_t left = freed ? (size_t)(freed->ref.address + freed->ref.bytes - p) : 0;
    if (freed && bytes <= left && a.heap && heap_is_mapped(a.heap, a.offset, left))
        return add_allocation(r, &a, freed->ref, storage_of_all(&a, freed->ref));
    if (a.kind == ADDRESS_PINNED && a.pinned->registered)
        page_guard_open(a.pinned->base, a.pinned->bytes);
    if (a.kind == ADDRESS_PINNED)
        return add_allocation(r, &a, memory_shadow(&a), a.pinned->storage);
    /* A variable of device code exists before every launch. */
    bool was_there = a.kind == ADDRESS_ALLOCATED
                  && (a.range->id <= l->newest_allocation || memory_is_variable(a.range));
    if (bytes <= a.bytes_left && (was_there || (a.kind == ADDRESS_ALLOCATED && !settings.check)))
        return add_allocation(r, &a, memory_shadow(&a), storage_of_all(&a, memory_shadow(&a)));
    return add_gap(r, &a, address, bytes);
}

static void free_window(struct touched_memory *m)
{
    kernel_library()->window_end(&m->window);
    os_free(m);
}

static void free_windows(struct running *r) { LIST_END(r->windows, free_window); }

static void settle_windows(void *context, size_t found, struct window *const *windows, size_t count)
{
    struct running *r = context;
    struct touched_memory *m = r->windows, *next;
    for (; found; found--, m = next) {
        bool stays = false;
        next = m->next;
        for (size_t n = 0; n < count; n++)
            stays |= windows[n]->owner == m;
        if (!stays)
            free_window(m);
    }
    r->windows = m;
    for (size_t n = 0; n < count; n++) {
        struct touched_memory *kept = windows[n]->owner;
        kept->next = r->windows;
        r->windows = kept;
    }
    r->why = NULL;
    r->is_gone = false;
}

/* ---- reporting accesses to the checker ---- */

/* Returns the source line of an instruction, if nvcc -lineinfo has recorded it, or "". Uses the
 * caller's `text` of `size` bytes. */
static const char *line_of(const struct code *code, const struct instruction *i, char *text,
                           size_t size)
{
    const struct module *m = code ? code->function->module : NULL;
    const char *file = i && m && i->file < m->file_count ? m->files[i->file] : NULL;
    char path[256];
    *text = 0;
    if (!file || !i->line)
        return text;
    os_source_path(file, path, sizeof path);
    snprintf(text, size, " at %s:%u", path, i->line);
    return text;
}

/* Returns the value of argument `n`, from 0, or 0 if it has not the size of an address. */
static uint64_t argument_value(const struct nvcc_kernel *k, size_t n)
{
    const struct variable *p = &k->code->entry->function->parameters.all[n];
    uint64_t value = 0;
    if (p->bytes == sizeof value)
        memcpy(&value, k->parameters + p->offset, sizeof value);
    return value;
}

/* Returns which argument of the kernel, from 1, is an address in this memory, or 0. */
static size_t argument_in(const struct nvcc_kernel *k, const struct window *win)
{
    for (size_t n = 0; n < k->code->entry->function->parameters.count; n++)
        if (argument_value(k, n) >= win->base && argument_value(k, n) < win->end)
            return n + 1;
    return 0;
}

/* Writes "thread (0,0,0) of block (0,0,0) at k.cu:3, by its argument 1". An argument of 0 is
 * unknown and left out. A kernel that another kernel launched is named after the block. */
static void write_place(char *text, size_t size, const struct running *r,
                        const struct launch_fault *f, size_t argument)
{
    const uint32_t *t = f->thread, *b = f->block;
    const bool is_child = r->kernel != r->op->staged;
    char line[300], by[64] = "";
    if (argument)
        snprintf(by, sizeof by, ", by its argument %zu", argument);
    line_of(f->code, f->instruction, line, sizeof line);
    snprintf(text, size, "thread (%u,%u,%u) of block (%u,%u,%u)%s%s%s%s", t[0], t[1], t[2], b[0],
             b[1], b[2], is_child ? " of " : "", is_child ? r->kernel->kernel->name : "", line, by);
}

/* The end of a report's sentence, kept for good. There is one for each instruction and argument. */
struct place {
    struct place *next;
    const struct instruction *instruction;
    size_t argument;
    bool is_first;
    char text[];
};

/* Returns the text of this place after the words `first`, kept for good. */
static const char *place_in_kernel(const struct running *r, const char *first,
                                   const struct launch_fault *f, size_t argument)
{
    static struct place *places;
    char text[512];
    for (const struct place *p = places; p; p = p->next)
        if (p->instruction == f->instruction && p->argument == argument
            && p->is_first == (*first != 0))
            return p->text;
    write_place(text, sizeof text, r, f, argument);
    struct place *p = os_allocate(sizeof *p + strlen(first) + strlen(text) + 1);
    *p = (struct place){places, f->instruction, argument, *first != 0};
    strcat(strcpy(p->text, first), text);
    places = p;
    return p->text;
}

/* Returns the text that says where in the kernel, and through which argument, this memory was first
 * touched. */
static const char *inside(const struct running *r, const struct window *win)
{
    return place_in_kernel(r, "first by ", &win->first, argument_in(r->kernel, win));
}

/* If a launch touches a byte in several ways, only one counts: a write, else an atomic operation,
 * else a read. The others are in the same launch, and so have the same order. */
static void subtract(struct touched *from, const struct touched *other)
{
    for (size_t n = other->first; other->bits && from->bits && n <= other->last; n++)
        from->bits[n] &= ~other->bits[n];
}

/* Assumed: pinned memory with fewer bytes may be a flag, which the host reads until it changes. */
#define LEAST_DATA 64

/* Returns whether the page guard may close this memory to the host until the launch has ended. */
static bool is_quiet(const struct running *r, const struct touched_memory *m)
{
    const struct address_info *a = &m->info;
    const bool is_closable = a->kind == ADDRESS_PINNED
                               ? !a->pinned->registered && m->ref.bytes >= LEAST_DATA
                               : a->kind == ADDRESS_ALLOCATED && a->heap->host_visible;
    return is_closable && !kernel_library()->kernel_signals(r->kernel->code);
}

static void judge_kind(const struct running *r, const struct touched_memory *m,
                       const struct touched *t, bool write, bool is_atomic)
{
    struct byte_set *bytes = t->bits ? byte_set_of_bits(t->bits, t->first, t->last) : NULL;
    if (!bytes)
        return;
    struct found_access f = {.from = byte_set_first(bytes),
                             .to = byte_set_end(bytes),
                             .write = write,
                             .is_atomic = is_atomic,
                             .is_guarded = is_quiet(r, m),
                             .lets_others_begin =
                                 kernel_library()->kernel_lets_others_begin(r->kernel->code),
                             .bytes = bytes,
                             .inside = inside(r, &m->window)};
    if (byte_set_is_whole(bytes)) {
        os_free(bytes);
        f.bytes = NULL;
    }
    checker_found(r->kernel->late, m->ref, &f);
}

static void judge_gap(const struct running *r, const struct touched_memory *m)
{
    const struct window *win = &m->window;
    const struct address_info *a = &m->info;
    const char *where = inside(r, win);
    if (a->range && a->range->live && a->range->id <= r->kernel->late->newest_allocation) {
        struct address_info of_range = *a;
        of_range.kind = ADDRESS_ALLOCATED;
        checker_found_outside(r->kernel->late, memory_shadow(&of_range), a->inner_offset,
                              win->first.bytes, win->first.write, where);
        return;
    }
    checker_found_unallocated(r->kernel->late, (const void *)(uintptr_t)win->first.address,
                              win->first.bytes, win->first.write, memory_allocation_before(a),
                              a->pool && a->pool->graph, where);
}

static void judge_values(const struct running *r)
{
    for (struct touched_memory *m = r->windows; m; m = m->next) {
        const struct launch_fault *u = &m->window.unwritten;
        if (!u->instruction)
            continue;
        const size_t from = u->address - m->window.base;
        char where[512];
        write_place(where, sizeof where, r, u, argument_in(r->kernel, &m->window));
        checker_read_unwritten(&r->kernel->late->origin, m->ref, from, from + u->bytes, where);
    }
}

/* ---- writes to allocations that the launch was not given ---- */

/* Returns the number of the argument at this place, from 1. */
static size_t argument_at(const struct nvcc_kernel *k, uint32_t from)
{
    const struct variables *p = &k->code->entry->function->parameters;
    size_t n = p->count;
    while (n > 1 && p->all[n - 1].offset > from)
        n--;
    return n;
}

/* Returns the allocation that was at the address when the launch was made, although it may have
 * been freed since. Its .shadow is NULL if there was none, and for a variable of device code. */
static struct shadow_ref allocation_at_launch(const struct late_launch *l, uint64_t address)
{
    const char *p = (const char *)(uintptr_t)address;
    const struct late_freed *freed = late_freed_find(l, p);
    struct address_info a = memory_find(p);
    if (freed)
        return freed->ref;
    if (a.kind != ADDRESS_ALLOCATED || memory_is_variable(a.range)
        || a.range->id > l->newest_allocation)
        return (struct shadow_ref){.shadow = NULL};
    return memory_shadow(&a);
}

/* Returns whether one argument alone has this value, and the launch touched the allocation that
 * starts there. */
static bool is_used_itself(const struct running *r, uint64_t address)
{
    const struct nvcc_kernel *k = r->kernel;
    unsigned named = 0;
    for (size_t at = 0; at + sizeof address <= k->shape.parameter_bytes; at += sizeof(uint32_t))
        named += !memcmp(k->parameters + at, &address, sizeof address);
    for (const struct touched_memory *m = r->windows; m && named == 1; m = m->next)
        if (m->window.base == address && m->window.first.instruction)
            return true;
    return false;
}

/* Reports a write to an allocation to which no argument points, if the first address there was
 * computed only from numbers and one argument, which is the start of another allocation. An
 * argument that points shortly before the allocation's start counts as pointing to it, because
 * arrays may be indexed from 1, and so does one that points to its end, unless the launch also uses
 * the allocation that starts there. If an address may come from memory, a choice, or a call, the
 * program is assumed to be correct. Returns whether the write is reported. */
static bool judge_stray(const struct running *r, const struct touched_memory *m)
{
    const uint64_t shortly = 64;
    const struct window *win = &m->window;
    const struct nvcc_kernel *k = r->kernel;
    struct address_origins origins;
    struct shadow_ref given = {.shadow = NULL};
    size_t argument = 0;
    if ((!win->written.bits && !win->atomic.bits) || m->info.kind == ADDRESS_PINNED
        || !allocation_at_launch(k->late, win->base).shadow
        || late_is_given(k->parameters, k->shape.parameter_bytes, win->base - shortly, win->end - 1)
        || !kernel_library()->code_address_origins(win->first.code, win->first.instruction,
                                                   &origins))
        return false;
    for (size_t n = 0; n < origins.count; n++) {
        uint64_t value;
        memcpy(&value, k->parameters + origins.from[n], sizeof value);
        struct address_info a = memory_find((const void *)(uintptr_t)value);
        if (a.kind == ADDRESS_PAGEABLE && !memory_host_has((const void *)(uintptr_t)value, 1))
            continue; /* A number. */
        if (a.heap && a.heap == m->info.heap && a.heap->is_virtual)
            return false; /* The mappings of a reservation may be one array. */
        given = allocation_at_launch(k->late, value);
        if (argument || !given.shadow || (uint64_t)(uintptr_t)given.address != value)
            return false;
        argument = argument_at(k, origins.from[n]);
    }
    if (!argument
        || (late_is_given(k->parameters, k->shape.parameter_bytes, win->end, win->end)
            && !is_used_itself(r, win->end)))
        return false;
    char where[512] = "first by ";
    write_place(where + strlen(where), sizeof where - strlen(where), r, &win->first, argument);
    checker_found_stray(k->late, m->ref, win->first.address - win->base, win->first.bytes, given,
                        argument, where);
    return true;
}

/* Compares the grid with the other grids of its launch. */
static void judge_grid(struct running *r, const struct launch_found *found)
{
    r->grid->released = found->released;
    r->grid->acquired = found->acquired;
    r->grid->has_waits = r->device_runtime.has_waits;
    for (struct touched_memory *m = r->windows; m; m = m->next)
        if (m->window.first.instruction && m->ref.shadow && !is_of_kernel(m->ref.shadow))
            grid_touched(r->grid, m->ref, m->launches, &m->window, inside(r, &m->window));
    grid_judge(r->kernel->late, r->grid);
}

static void judge(struct running *r)
{
    for (struct touched_memory *m = r->windows; m; m = m->next) {
        if (!m->window.first.instruction)
            continue;
        if (!m->ref.shadow) {
            judge_gap(r, m);
            continue;
        }
        struct window *win = &m->window;
        note_values(m);
        if (settings.check && judge_stray(r, m))
            continue;
        subtract(&win->read, &win->written);
        subtract(&win->read, &win->atomic);
        subtract(&win->atomic, &win->written);
        judge_kind(r, m, &win->written, true, false);
        judge_kind(r, m, &win->atomic, true, true);
        judge_kind(r, m, &win->read, false, false);
    }
    judge_values(r);
}

/* ---- what threads of one launch do to each other ---- */

static void judge_misuse(const struct running *r, const struct launch_found *found)
{
    static const char *const texts[] = {
        [MISUSE_TWO_BARRIERS] = "wait at two barriers, and threads of one warp have to come to the "
                                "same one",
        [MISUSE_PASSED_BY_SOME] = "come to a barrier that other threads of the block leave out",
        [MISUSE_ABSENT] = "exchange with the mask %#x, and of the warp only the threads %#x have "
                          "come",
        [MISUSE_NOT_IN_MASK] = "exchange with the mask %#x, in which some of the threads %#x that "
                               "have come are not",
    };
    char what[256], first[512], second[512];
    const bool is_barrier =
        found->misuse == MISUSE_TWO_BARRIERS || found->misuse == MISUSE_PASSED_BY_SOME;
    if (!found->misuse)
        return;
    write_place(first, sizeof first, r, &found->misused[0], 0);
    write_place(second, sizeof second, r, &found->misused[1], 0);
    snprintf(what, sizeof what, texts[found->misuse], found->mask, found->came);
    checker_found_misuse(r->kernel->late, is_barrier, what, first,
                         found->misuse == MISUSE_NOT_IN_MASK ? NULL : second);
}

static void judge_threads(const struct running *r, const struct launch_found *found)
{
    const struct launch_fault *race = found->shared_race, *unwritten = &found->shared_unwritten;
    char what[256], first[512], second[512];
    if (race[1].instruction) {
        write_place(first, sizeof first, r, &race[0], 0);
        write_place(second, sizeof second, r, &race[1], 0);
        snprintf(what, sizeof what, "byte %llu of their block's shared memory",
                 (unsigned long long)race[1].address);
        checker_found_race(
            r->kernel->late, HAZARD_RACE_IN_A_BLOCK, what,
            &(struct racing){first, race[0].write, race[0].is_atomic, race[0].is_in_flight},
            &(struct racing){second, race[1].write, race[1].is_atomic, false});
    }
    const bool is_own = !found->block_race.window;
    const struct device_race *device = is_own ? &found->own_race : &found->block_race;
    if (device->window) {
        const struct touched_memory *m = device->window->owner;
        const struct launch_fault *both = device->places;
        for (size_t n = 0; n < 2; n++)
            if (both[n].instruction)
                write_place(n ? second : first, sizeof first, r, &both[n], 0);
            else
                snprintf(n ? second : first, sizeof first, "by %s",
                         n ? "a later block" : "an earlier block");
        checker_found_race_in_memory(r->kernel->late, m->ref, device->byte,
                                     is_own                         ? RACE_IN_BLOCK
                                     : r->kernel->shape.cooperative ? RACE_BETWEEN_MEETING_BLOCKS
                                                                    : RACE_BETWEEN_BLOCKS,
                                     &(struct racing){first, both[0].write, false, false},
                                     &(struct racing){second, both[1].write, false, false});
    }
    /* Without the barrier, the read may merely have come too early. */
    if (unwritten->instruction && !race[1].instruction) {
        write_place(first, sizeof first, r, unwritten, 0);
        checker_found_unwritten_shared(r->kernel->late, unwritten->address, unwritten->bytes,
                                       first);
    }
}

/* ---- faults ---- */

static const struct {
    cudaError_t error;
    /* The words say why the thread may not touch the fault's address, and otherwise what it did. */
    bool has_address;
    const char *words;
} faults[] = {
    [FAULT_ADDRESS] = {cudaErrorIllegalAddress, true, ""},
    [FAULT_MISALIGNED] = {cudaErrorMisalignedAddress, true, "is no multiple of the access's size"},
    [FAULT_SHARED_ADDRESS] = {cudaErrorIllegalAddress, true,
                              "is beyond the shared memory of its block"},
    [FAULT_LOCAL_ADDRESS] = {cudaErrorIllegalAddress, true, "is beyond the memory of its thread"},
    [FAULT_STACK] = {cudaErrorHardwareStackError, false,
                     "called functions deeper than its stack allows"},
    /* Measured (probe-more-answers.txt, "fault_trap"). */
    [FAULT_TRAP] = {cudaErrorLaunchFailure, false, "came to a trap"},
    [FAULT_ASSERTION] = {cudaErrorAssert, false, "failed an assertion"},
    [FAULT_BARRIER] = {cudaErrorLaunchTimeout, false,
                       "waits at a barrier that other threads of its block do not come to"},
    [FAULT_NO_FUNCTION] = {cudaErrorInvalidPc, false, "called an address where no function is"},
    [FAULT_FREE] = {cudaErrorIllegalAddress, false,
                    "gave free an address that malloc of a kernel has not returned, or that is "
                    "free already"},
    [FAULT_CONDITION] = {cudaErrorIllegalAddress, false,
                         "gave cudaGraphSetConditional what is no handle of a condition of its "
                         "device: cudaGraphConditionalHandleCreate makes one, and it ends with its "
                         "graph"},
    [FAULT_TEXTURE] = {cudaErrorIllegalAddress, false,
                       "uses what is no texture or surface object of this kind: it was never made, "
                       "or was destroyed before the launch"},
    [FAULT_SURFACE] = {cudaErrorIllegalAddress, false,
                       "is outside of its surface, whose x counts bytes, with "
                       "cudaBoundaryModeTrap"},
    [FAULT_WAITS] = {cudaErrorLaunchTimeout, false,
                     "reads memory again and again that nothing on the device changes. If it waits "
                     "for another block: only as many run at once as fit on the device. If it "
                     "waits for the host: kernels that do are not simulated, except launch_hold of "
                     "kernels.h. The GPU would go on waiting"},
};

/* Returns whether the fault is a hazard of the program. It is none if the simulation cannot go on,
 * nor if it is an assertion or a trap, because the program itself has found those. */
static bool is_hazard(const struct launch_fault *f, const char *refusal)
{
    return f->kind != FAULT_TRAP && f->kind != FAULT_ASSERTION && f->kind != FAULT_WAITS
        && !refusal;
}

static void end_by_fault(struct running *r, const struct launch_fault *f)
{
    /* Another core may have asked for another address since. */
    if (f->kind == FAULT_ADDRESS)
        (void)find_memory(r, f->address, f->bytes, f->write);
    cudaError_t e = faults[f->kind].error;
    const uint32_t *t = f->thread, *b = f->block;
    char what[400], line[300];
    const char *refusal = f->kind == FAULT_NO_FUNCTION && f->code ? f->code->kernel->refusal : NULL;
    const char *where = place_in_kernel(r, "", f, 0);
    if (f->kind == FAULT_ADDRESS && r->is_gone
        && checker_found_gone(r->kernel->late, (const void *)(uintptr_t)f->address, f->bytes,
                              f->write, where)) {
        device_fault(e);
        return;
    }
    if (faults[f->kind].has_address)
        snprintf(what, sizeof what, "%s %zu byte%s at %#llx, which %s", f->write ? "wrote" : "read",
                 f->bytes, f->bytes == 1 ? "" : "s", (unsigned long long)f->address,
                 r->why ? r->why : faults[f->kind].words);
    else if (refusal)
        snprintf(what, sizeof what, "called a function that does not run here: %s", refusal);
    else
        snprintf(what, sizeof what, "%s", faults[f->kind].words);
    if (settings.check && is_hazard(f, refusal)) {
        command_fault(r->op, e, what, where, true);
        return;
    }
    diag("%s: thread (%u,%u,%u) of block (%u,%u,%u) of the kernel %s (stream %d)%s %s. Every "
         "further call returns an error.",
         e == cudaErrorIllegalAddress ? "illegal address" : "launch failure", t[0], t[1], t[2],
         b[0], b[1], b[2], r->kernel->kernel->name, r->op->stream->id,
         line_of(f->code, f->instruction, line, sizeof line), what);
    hazards_gave_up("a fault ended the kernel %s", r->kernel->kernel->name);
    device_fault(e);
}

static void say_still_runs(void *context, const struct launch_fault *place)
{
    const struct running *r = context;
    const uint32_t *t = place->thread, *b = place->block;
    char line[300];
    line_of(place->code, place->instruction, line, sizeof line);
    diag("the kernel %s (stream %d) still runs after ten seconds. Thread (%u,%u,%u) of block "
         "(%u,%u,%u) is%s. A loop that waits for the host, or for what nothing changes, never ends "
         "here; a kernel that has much to do takes far longer than on a GPU: give it a smaller "
         "input.",
         r->kernel->kernel->name, r->op->stream->id, t[0], t[1], t[2], b[0], b[1], b[2],
         *line ? line : " somewhere in it (nvcc -lineinfo gives the line)");
}

/* Ends a launch that wrote memory which its device may only read, and which it had read before. The
 * device is lost, as after a write at the first touch. Returns whether there was such a write. */
static bool end_by_write(struct running *r)
{
    for (const struct touched_memory *m = r->windows; m; m = m->next) {
        const struct window *win = &m->window;
        struct launch_fault f = win->first;
        if (!(win->written.bits || win->atomic.bits)
            || memory_peer_writable(&m->info, r->op->stream->device))
            continue;
        f.kind = FAULT_ADDRESS;
        f.write = true;
        end_by_fault(r, &f);
        return true;
    }
    return false;
}

/* ---- queuing and running ---- */

/* Runs one grid, and adds the grids that it launches to the front of `children`. Returns false if a
 * fault ended it. */
static bool run_grid(struct op *op, struct nvcc_kernel *k, struct grid *grid, size_t *pending,
                     struct child **children)
{
    struct running r = {.op = op, .kernel = k, .grid = grid};
    struct launch_memory memory = {find_memory,       settle_windows, allocate_in_kernel,
                                   release_in_kernel, set_condition,  call_in_kernel,
                                   find_texture,      say_still_runs, &r};
    struct launch_fault fault;
    struct launch_found found = {.shared_unwritten = {.instruction = NULL}};
    device_runtime_begin(&r.device_runtime, k, op->stream->device, pending);
    k->shape.parameters = k->parameters;
    k->shape.fills = settings.fill != NO_FILL;
    k->shape.fill = settings.fill;
    k->shape.nanoseconds = virtual_now;
    k->shape.cores = settings.threads;
    k->shape.seed = settings.schedule == SCHEDULE_RANDOM ? 1 + random_below(1u << 30) : 0;
    if (settings.check) {
        k->shape.checks.init = settings.init;
        k->shape.checks.race = settings.race;
        k->shape.checks.sync = settings.sync;
    }
    const bool survived = kernel_library()->grid_run(k->code, &k->shape, &memory, &fault, &found);
    if (grid && (grid->parent || r.device_runtime.launches))
        judge_grid(&r, &found);
    judge(&r);
    judge_misuse(&r, &found);
    judge_threads(&r, &found);
    const bool goes_on = survived ? !end_by_write(&r) : (end_by_fault(&r, &fault), false);
    free_windows(&r);
    free_released(&r);
    struct child *launched = device_runtime_end(&r.device_runtime), **end = &launched;
    for (; *end; end = &(*end)->next)
        (*end)->parent = grid;
    *end = *children;
    *children = launched;
    return goes_on;
}

/* Runs a launch and all grids that it leads to. A grid's children run before its younger siblings,
 * so that each grid has ended completely when the next one in its stream begins. */
static void effect_nvcc_kernel(struct op *op)
{
    struct nvcc_kernel *k = op->staged;
    struct child *children = NULL;
    struct grid root = {.name = k->kernel->name}, *newest = &root;
    const bool compares = settings.check && settings.race;
    size_t pending = 0;
    unsigned compared = 1;
    bool goes_on = run_grid(op, k, compares ? &root : NULL, &pending, &children);
    for (struct child *c; (c = children); child_free(c)) {
        struct grid *g = c->parent && compared++ < GRIDS_MAX ? grid_new(newest, c) : NULL;
        newest = g ? g : newest;
        children = c->next;
        goes_on = goes_on && run_grid(op, c->kernel, g, &pending, &children);
        pending -= c->is_counted;
    }
    grids_free(newest);
    if (kernel_library()->kernel_signals(k->code))
        op->stream->signal_seq = op->seq;
    checker_launch_ended(k->late);
}

/* Assumed: the kernel takes as long as a kernel of kernels.h that writes four bytes in each thread.
 */
static time_ns duration_of(const struct nvcc_kernel *k)
{
    const struct launch_shape *s = &k->shape;
    size_t threads =
        (size_t)s->grid.x * s->grid.y * s->grid.z * s->block.x * s->block.y * s->block.z;
    return command_duration(DURATION_FILL, DURATION_FILL_GIB, 4 * threads);
}

/* Stores the first two arguments that are device addresses, by which searches find work that
 * touches an address (assumed to be enough). */
static void set_operands(struct op *op, const struct nvcc_kernel *k)
{
    for (size_t n = 0; n < k->code->entry->function->parameters.count && !op->from; n++) {
        const uint64_t value = argument_value(k, n);
        if (!value || !address_map_find((const void *)(uintptr_t)value))
            continue;
        if (!op->to)
            op->to = (char *)(uintptr_t)value;
        else
            op->from = (const char *)(uintptr_t)value;
    }
}

/* Returns whether the launch has a pointer to memory that the host may touch as soon as the call
 * returns, or the kernel names such memory. Its accesses there must be known by then, so that the
 * page guard can close the memory. */
static bool meets_host(const struct nvcc_kernel *k)
{
    if (k->code->has_managed)
        return true;
    for (size_t from = 0; from + 8 <= k->shape.parameter_bytes; from += 8) {
        uint64_t value;
        memcpy(&value, k->parameters + from, sizeof value);
        struct address_info a = memory_find((const void *)(uintptr_t)value);
        if (a.kind == ADDRESS_PINNED || (a.kind == ADDRESS_ALLOCATED && a.heap->host_visible))
            return true;
    }
    return false;
}

cudaError_t command_nvcc_kernel(const struct call *call, const struct nvcc_kernel *kernel,
                                struct stream *s)
{
    NEEDS_LOCK();
    struct op *op = stream_enqueue(s, OP_COMMAND, time_under_schedule(duration_of(kernel)));
    struct nvcc_kernel *copy = os_copy(kernel, kernel->size);
    copy->late = checker_launched(call, s, op->seq, copy->parameters, copy->shape.parameter_bytes);
    copy->late->overlaps = copy->overlaps && !kernel_library()->kernel_awaits_others(copy->code)
                        && !host_has_acquired(s->slot, op->seq - 1);
    op->name = kernel->kernel->name;
    command_made_by(op, call);
    op->effect = effect_nvcc_kernel;
    op->staged = copy;
    set_operands(op, copy);
    if (settings.check && meets_host(copy) && !kernel_library()->kernel_signals(copy->code))
        engine_hasten(s);
    return cudaSuccess;
}
