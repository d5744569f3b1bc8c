/* A launch in a kernel, and what nvcc makes of it (the toolkit's cuda_device_runtime_api.h):
 *
 *   child<<<grid, block, shared, s>>>(a)    buffer = cudaGetParameterBufferV2(child, grid, ...);
 *                                           if (buffer) { *buffer = a; ...
 *                                               cudaLaunchDeviceV2(buffer, s); }
 *
 * Documented: a grid has ended when all that its threads have launched has. Launches of a block in
 * one stream run in order, of which the NULL stream is one; launches in different streams, of
 * different blocks, and into cudaStreamFireAndForget in any. A launch into cudaStreamTailLaunch
 * runs when the grid and all its other launches have ended, and after what was launched there
 * before. A child sees what its parent's thread had written before the launch, and nothing
 * lets the parent wait for the child. So here the children run when all threads of the grid have
 * ended: in the order of their launches, or with a seed in a random one of those that are
 * allowed. */
#include "run/device_runtime.h"

#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/settings.h"
#include "check/byte_set.h"
#include "check/checker.h"
#include "check/failed_call.h"
#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "run/kernel_library.h"
#include "sched/virtual_time.h"

/* Handles of streams and events are this plus a count. */
#define HANDLE_WINDOW ((uint64_t)7 << 56)
/* The bytes of a piece of the device runtime's own memory. */
#define PIECE_LEAST 4096
#define PIECE_MOST  65536
/* What the handles NULL, cudaStreamTailLaunch, and cudaStreamFireAndForget are as numbers. NULL has
 * two more names, up to STREAM_NULL_MOST. */
enum { STREAM_NULL_MOST = 2, STREAM_TAIL, STREAM_FIRE_AND_FORGET };
/* Launches of this stream or a higher one are ordered with no other launch. It is above all block
 * numbers and handles. */
#define FIRE_AND_FORGET ((uint64_t)1 << 63)

/* Memory to which threads write parameters, and from which they read the texts of errors. Its
 * addresses are the CPU's, so they differ from those of all device memory. */
struct buffers {
    struct buffers *next;
    struct window window;
    size_t used;
    char bytes[];
};

struct thread_error {
    uint64_t thread, block;
    cudaError_t error;
};

void device_runtime_begin(struct device_runtime *r, const struct nvcc_kernel *kernel, int device,
                          size_t *pending)
{
    NEEDS_LOCK();
    *r = (struct device_runtime){.kernel = kernel, .device = device, .pending = pending};
    r->children_end = &r->children;
    r->tails_end = &r->tails;
}

/* ---- the device runtime's own memory ---- */

/* Returns new bytes that live as long as the grid. */
static char *own_bytes(struct device_runtime *r, size_t bytes)
{
    struct buffers *b = r->buffers;
    const size_t used = b ? (b->used + 15) / 16 * 16 : 0;
    if (b && used + bytes <= b->window.end - b->window.base) {
        b->used = used + bytes;
        return b->bytes + used;
    }
    size_t size = b ? 2 * (size_t)(b->window.end - b->window.base) : PIECE_LEAST;
    size = size > PIECE_MOST ? PIECE_MOST : size;
    size = size < bytes ? bytes : size;
    b = os_allocate(sizeof *b + size);
    const uint64_t base = (uintptr_t)b->bytes;
    *b = (struct buffers){
        .next = r->buffers,
        .window = {.base = base, .end = base + size, .storage = b->bytes, .is_outside = true},
        .used = bytes};
    r->buffers = b;
    return b->bytes;
}

struct window *device_runtime_find(const struct device_runtime *r, uint64_t address, size_t bytes)
{
    NEEDS_LOCK();
    for (struct buffers *b = r->buffers; b; b = b->next)
        if (address >= b->window.base && address < b->window.end
            && bytes <= b->window.end - address)
            return &b->window;
    return NULL;
}

static uint64_t own_text(struct device_runtime *r, const char *text)
{
    return (uintptr_t)strcpy(own_bytes(r, strlen(text) + 1), text);
}

/* ---- errors ---- */

/* Documented: each thread has a last error. */
static cudaError_t *error_of(struct device_runtime *r, const struct device_call *c)
{
    for (size_t n = 0; n < r->error_count; n++)
        if (r->errors[n].thread == c->thread && r->errors[n].block == c->block)
            return &r->errors[n].error;
    return NULL;
}

cudaError_t device_runtime_fail(struct device_runtime *r, const struct device_call *c,
                                cudaError_t e)
{
    NEEDS_LOCK();
    cudaError_t *kept = error_of(r, c);
    if (kept) {
        *kept = e;
        return e;
    }
    *OS_ADD(r->errors, r->error_count) = (struct thread_error){c->thread, c->block, e};
    return e;
}

static cudaError_t last_error(struct device_runtime *r, const struct device_call *c, bool forget)
{
    cudaError_t *kept = error_of(r, c), e = kept ? *kept : cudaSuccess;
    if (c->thread == r->unasked.thread && c->block == r->unasked.block)
        r->unasked.text[0] = '\0';
    if (kept && forget)
        *kept = cudaSuccess;
    return e;
}

/* ---- launches ---- */

static cudaError_t refuse(struct device_runtime *r, const struct device_call *c,
                          const struct registered_kernel *k, cudaError_t e)
{
    const char *why = failed_call_reason();
    if (!r->unasked.text[0]) {
        r->unasked.thread = c->thread;
        r->unasked.block = c->block;
        snprintf(r->unasked.text, sizeof r->unasked.text,
                 "%s, by thread %llu of block %llu of %s, which fails with %s and does nothing%s%s",
                 k->name, (unsigned long long)c->thread, (unsigned long long)c->block,
                 r->kernel->kernel->name, error_name(e), *why ? ": " : "", why);
    }
    return device_runtime_fail(r, c, e);
}

/* Documented: cudaErrorLaunchPendingCountExceeded means more launches at once than
 * cudaLimitDevRuntimePendingLaunchCount. Measured on an H200 (driver 580.159.04): 5,000 launches of
 * one thread all run, because some have ended before others begin, and of 4,096 threads that launch
 * once 2,048 succeed (both in kernels-launch_answers.txt). So a thread has at most one pending
 * launch here. Assumed: the request for the parameter buffer is what fails at the limit. */
static cudaError_t check_pending(struct device_runtime *r, const struct device_call *c,
                                 bool *is_counted)
{
    size_t most = 0;
    uint32_t *launching = &r->launching[c->thread / 32], bit = 1u << c->thread % 32;
    if (r->launching_block != c->block)
        memset(r->launching, 0, sizeof r->launching);
    r->launching_block = c->block;
    *is_counted = !(*launching & bit);
    device_limit(r->device, cudaLimitDevRuntimePendingLaunchCount, &most);
    if (!*is_counted || *r->pending < most) {
        *launching |= bit;
        *r->pending += *is_counted;
        return cudaSuccess;
    }
    failed_call_because("%zu threads have launched before, and "
                        "cudaLimitDevRuntimePendingLaunchCount allows no more",
                        most);
    return cudaErrorLaunchPendingCountExceeded;
}

/* Returns a new launch that the caller completes, or NULL after an error. */
static struct child *child_new(struct device_runtime *r, const struct device_call *c,
                               struct registered_kernel *k, dim3 grid, dim3 block,
                               size_t shared_bytes)
{
    const char *why;
    const struct kernel_code *code = kernel_library_code(k, r->device, &why);
    if (!code) {
        device_runtime_fail(r, c, nvcc_kernel_refuse_launch(k, why));
        return NULL;
    }
    /* Measured (kernels-launch_answers.txt): each mistake in the shape of a launch has the same
     * error. */
    cudaError_t e = nvcc_kernel_check(k, code, grid, block, shared_bytes)
                      ? cudaErrorInvalidConfiguration
                      : cudaSuccess;
    bool is_counted = false;
    e = e ? e : check_pending(r, c, &is_counted);
    if (e) {
        refuse(r, c, k, e);
        return NULL;
    }
    struct child *child = os_allocate(sizeof *child);
    child->kernel = nvcc_kernel_new(k, code, grid, block, shared_bytes, NULL);
    child->kernel->late = r->kernel->late;
    child->is_counted = is_counted;
    return child;
}

void child_free(struct child *c)
{
    NEEDS_LOCK();
    os_free(c->kernel);
    os_free(c);
}

static dim3 dim3_of(const uint64_t *argument)
{
    dim3 d;
    memcpy(&d, argument, sizeof d);
    return d;
}

static uint64_t get_buffer(struct device_runtime *r, const struct device_call *c)
{
    const struct registered_kernel *parent = r->kernel->kernel;
    const struct function *f =
        module_function_at(r->kernel->code->entry->function->module, c->arguments[0][0]);
    struct registered_kernel *k =
        f && f->is_entry ? registry_kernel_of(parent->binary, f->name) : NULL;
    if (!k) {
        device_runtime_fail(r, c, cudaErrorInvalidDeviceFunction);
        return 0;
    }
    struct child *child = child_new(r, c, k, dim3_of(c->arguments[1]), dim3_of(c->arguments[2]),
                                    (uint32_t)c->arguments[3][0]);
    if (!child)
        return 0;
    child->buffer = own_bytes(r, f->parameter_bytes + 1);
    child->next = r->given;
    r->given = child;
    return (uintptr_t)child->buffer;
}

/* Adds a launch to those of its stream. Documented: NULL is a stream of the block, and a stream
 * belongs to the block of the thread that created it. */
static cudaError_t add_child(struct device_runtime *r, const struct device_call *c,
                             struct child *child, uint64_t stream)
{
    struct child ***end = &r->children_end;
    child->is_tail = stream == STREAM_TAIL;
    if (child->is_tail)
        end = &r->tails_end;
    else if (stream == STREAM_FIRE_AND_FORGET)
        child->stream = FIRE_AND_FORGET + r->made++;
    else if (stream > HANDLE_WINDOW && stream <= HANDLE_WINDOW + r->made)
        child->stream = stream;
    else if (stream <= STREAM_NULL_MOST)
        child->stream = c->block;
    else {
        *r->pending -= child->is_counted;
        /* Measured (kernels-launch_answers.txt): another block's stream is an invalid value.
         * Documented: the result is undefined. */
        failed_call_because("its stream is not one of the block's");
        refuse(r, c, child->kernel->kernel, cudaErrorInvalidValue);
        child_free(child);
        return cudaErrorInvalidValue;
    }
    child->next = NULL;
    child->launch = ++r->launches;
    **end = child;
    *end = &child->next;
    return cudaSuccess;
}

static cudaError_t launch(struct device_runtime *r, const struct device_call *c)
{
    struct child **at = &r->given, *child;
    while (*at && (uintptr_t)(*at)->buffer != c->arguments[0][0])
        at = &(*at)->next;
    child = *at;
    if (!child)
        return device_runtime_fail(r, c, cudaErrorInvalidValue);
    *at = child->next;
    memcpy(child->kernel->parameters, child->buffer, child->kernel->shape.parameter_bytes);
    return add_child(r, c, child, c->arguments[1][0]);
}

/* ---- copies and fills ---- */

/* Each thread copies or sets one byte. */
#define ENTRY(name, load)                                                                       \
    ".visible .entry " name "(.param .u64 to, .param .u64 from, .param .u64 count) {\n"         \
    ".reg .pred %p; .reg .b16 %v; .reg .b32 %r<4>; .reg .b64 %a<6>;\n"                          \
    "ld.param.u64 %a1, [to]; ld.param.u64 %a2, [from]; ld.param.u64 %a3, [count];\n"            \
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; cvt.u64.u32 %a5, %r3;\n" \
    "mad.wide.u32 %a4, %r1, %r2, %a5; setp.ge.u64 %p, %a4, %a3; @%p bra END;\n" load            \
    "add.u64 %a1, %a1, %a4; st.u8 [%a1], %v;\nEND: ret; }\n"
static const char copies[] = ".version 9.0\n.target sm_75\n.address_size 64\n" ENTRY(
    "cudaMemcpyAsync", "add.u64 %a2, %a2, %a4; ld.u8 %v, [%a2]; ")
    ENTRY("cudaMemsetAsync", "cvt.u16.u64 %v, %a2; ");

/* Documented: the bytes get the value. Measured (kernels-launch_answers.txt): they always get 0. */
static uint64_t byte_of(uint64_t value)
{
    static bool said;
    if (value & 0xff && !said)
        diag("cudaMemsetAsync in a kernel was asked for bytes of value %u and writes 0, as an H200 "
             "with driver 580.159.04 does.",
             (unsigned)(value & 0xff));
    said |= value & 0xff;
    return 0;
}

/* Documented: copies in a kernel are within the device. */
static cudaError_t copy_or_set(struct device_runtime *r, const struct device_call *c,
                               const char *name, uint64_t stream)
{
    static struct binary *binary;
    const char *why;
    const uint64_t from = c->function == DEVICE_MemsetAsync ? byte_of(c->arguments[1][0])
                                                            : c->arguments[1][0],
                   parameters[] = {c->arguments[0][0], from, c->arguments[2][0]},
                   blocks = (parameters[2] + 255) / 256;
    if (!binary)
        binary = registry_load(copies, NO_DEVICE, &why);
    if (!blocks)
        return cudaSuccess;
    struct child *child =
        child_new(r, c, registry_kernel_of(binary, name),
                  (dim3){blocks > UINT32_MAX ? 0 : (uint32_t)blocks, 1, 1}, (dim3){256, 1, 1}, 0);
    if (!child)
        return last_error(r, c, false);
    memcpy(child->kernel->parameters, parameters, sizeof parameters);
    return add_child(r, c, child, stream);
}

/* ---- the other calls ---- */

static uint64_t make(struct device_runtime *r, struct device_call *c, bool may)
{
    if (!may)
        return device_runtime_fail(r, c, cudaErrorInvalidValue);
    c->output = HANDLE_WINDOW + ++r->made;
    return cudaSuccess;
}

static cudaError_t figure(struct device_runtime *r, struct device_call *c)
{
    int value = 0;
    size_t limit = 0;
    switch (c->function) {
    case DEVICE_GetDevice: value = r->device; break;
    case DEVICE_GetDeviceCount: value = settings.devices; break;
    case DEVICE_DeviceGetLimit:
        if (!device_limit(r->device, (int)c->arguments[1][0], &limit))
            return device_runtime_fail(r, c, cudaErrorUnsupportedLimit);
        c->output = limit;
        return cudaSuccess;
    default:
        if (!device_attribute((enum cudaDeviceAttr)c->arguments[1][0], &value))
            return device_runtime_fail(r, c, cudaErrorInvalidValue);
    }
    memcpy(&c->output, &value, sizeof value);
    return cudaSuccess;
}

uint64_t device_runtime_call(struct device_runtime *r, struct device_call *c)
{
    NEEDS_LOCK();
    switch (c->function) {
    case DEVICE_GetParameterBufferV2: return get_buffer(r, c);
    case DEVICE_LaunchDeviceV2: return launch(r, c);
    case DEVICE_MemcpyAsync: return copy_or_set(r, c, "cudaMemcpyAsync", c->arguments[4][0]);
    case DEVICE_MemsetAsync: return copy_or_set(r, c, "cudaMemsetAsync", c->arguments[3][0]);
    /* Documented: a stream must be created as non-blocking. Measured (kernels-launch_answers.txt):
     * the flag 0 is accepted, too. */
    case DEVICE_StreamCreateWithFlags:
        return make(r, c, (uint32_t)c->arguments[1][0] <= cudaStreamNonBlocking);
    /* Documented: events of kernels do not record times, so the flag that disables timing is
     * required. */
    case DEVICE_EventCreateWithFlags:
        return make(r, c, c->arguments[1][0] & cudaEventDisableTiming);
    case DEVICE_StreamWaitEvent: r->has_waits = true; return cudaSuccess;
    case DEVICE_EventRecord:
    case DEVICE_EventRecordWithFlags:
    case DEVICE_EventDestroy:
    case DEVICE_StreamDestroy: return cudaSuccess;
    case DEVICE_GetLastError: return last_error(r, c, true);
    case DEVICE_PeekAtLastError: return last_error(r, c, false);
    case DEVICE_GetErrorString: return own_text(r, error_string((cudaError_t)c->arguments[0][0]));
    case DEVICE_GetErrorName: return own_text(r, error_name((cudaError_t)c->arguments[0][0]));
    default: return figure(r, c);
    }
}

/* ---- the end of the grid ---- */

/* Puts the launches into a random order that keeps the order within each stream. If the grid lets a
 * stream wait for an event, all launches keep their order. */
static void shuffle(struct device_runtime *r)
{
    struct child *all = r->children, **end = &r->children;
    if (settings.schedule != SCHEDULE_RANDOM || r->has_waits)
        return;
    while (all) {
        unsigned count = 0;
        struct child **at = &all;
        for (const struct child *c = all; c; c = c->next)
            count++;
        for (unsigned skip = random_below(count); skip; skip--)
            at = &(*at)->next;
        /* Take the oldest launch of the chosen stream. */
        struct child **first = &all;
        while ((*first)->stream != (*at)->stream)
            first = &(*first)->next;
        *end = *first;
        *first = (*first)->next;
        end = &(*end)->next;
    }
    *end = NULL;
    r->children_end = end;
}

struct child *device_runtime_end(struct device_runtime *r)
{
    NEEDS_LOCK();
    for (struct child *c = r->given, *next; c; c = next) {
        next = c->next;
        *r->pending -= c->is_counted;
        child_free(c);
    }
    for (struct buffers *b = r->buffers, *next; b; b = next) {
        next = b->next;
        kernel_library()->window_end(&b->window);
        os_free(b);
    }
    os_free(r->errors);
    if (r->unasked.text[0])
        failed_call_in_kernel(&r->kernel->late->origin, r->unasked.text);
    shuffle(r);
    *r->children_end = r->tails;
    return r->children;
}

/* ---- races between grids ---- */

/* Decides which grids of a launch are ordered, and remembers what they have touched. A correct
 * program must not be reported. Therefore two grids are not compared if one may have waited for the
 * other by an atomic operation or a flag. Two writes are not a race here, because both may write
 * the same value. */

static struct byte_set *set_of(const struct touched *t)
{
    return t->bits ? byte_set_of_bits(t->bits, t->first, t->last) : NULL;
}

void grid_touched(struct grid *g, struct shadow_ref ref, unsigned launches,
                  const struct window *win, const char *inside)
{
    NEEDS_LOCK();
    struct grid_access *a = os_allocate(sizeof *a);
    *a = (struct grid_access){
        g->accesses,          ref,   launches, set_of(&win->read), set_of(&win->written),
        set_of(&win->atomic), inside};
    g->accesses = a;
}

struct grid *grid_new(struct grid *newest, const struct child *c)
{
    NEEDS_LOCK();
    struct grid *g = os_allocate(sizeof *g);
    *g = (struct grid){.next = newest,
                       .parent = c->parent,
                       .launch = c->launch,
                       .depth = c->parent->depth + 1,
                       .stream = c->stream,
                       .is_tail = c->is_tail,
                       .name = c->kernel->kernel->name};
    return g;
}

void grids_free(struct grid *newest)
{
    NEEDS_LOCK();
    for (struct grid *g = newest, *before; g; g = before) {
        before = g->next;
        for (struct grid_access *a = g->accesses, *next; a; a = next) {
            next = a->next;
            os_free(a->read);
            os_free(a->written);
            os_free(a->atomic);
            os_free(a);
        }
        if (g->parent)
            os_free(g);
    }
}

/* Returns the ancestor of the grid at this depth, which may be the grid itself. */
static const struct grid *at_depth(const struct grid *g, unsigned depth)
{
    while (g->depth > depth)
        g = g->parent;
    return g;
}

/* Returns whether the grid is ordered with a grid that ran before it. If the earlier grid is an
 * ancestor, only what it did before its launch number `*launches` is ordered. */
static bool is_ordered(const struct grid *g, const struct grid *earlier, unsigned *launches)
{
    const struct grid *a = at_depth(g, earlier->depth), *b = earlier;
    *launches = 0;
    if (a == b) {
        const struct grid *child = at_depth(g, earlier->depth + 1);
        *launches = child->launch;
        return child->is_tail;
    }
    b = at_depth(earlier, a->depth);
    while (a->parent != b->parent) {
        a = a->parent;
        b = b->parent;
    }
    return a->is_tail || b->is_tail || a->stream == b->stream || a->parent->has_waits;
}

static bool meet(const struct byte_set *a, const struct byte_set *b)
{
    return a && b
        && byte_ranges_meet((struct byte_range){a, byte_set_first(a), byte_set_end(a)},
                            (struct byte_range){b, byte_set_first(b), byte_set_end(b)});
}

/* Returns whether two accesses race, and sets which of the two writes. */
static bool do_race(const struct grid_access *a, const struct grid_access *b, bool writes[2])
{
    if (a->ref.id != b->ref.id)
        return false;
    writes[0] = meet(a->written, b->read) || meet(a->written, b->atomic);
    writes[1] = !writes[0] && (meet(a->read, b->written) || meet(a->atomic, b->written));
    return writes[0] || writes[1];
}

void grid_judge(const struct late_launch *l, const struct grid *g)
{
    NEEDS_LOCK();
    unsigned launches;
    bool writes[2];
    for (const struct grid *e = g->next; e; e = e->next) {
        if ((e->released && g->acquired) || (g->released && e->acquired)
            || is_ordered(g, e, &launches))
            continue;
        for (const struct grid_access *a = e->accesses; a; a = a->next)
            for (const struct grid_access *b = g->accesses; b; b = b->next)
                if (a->launches >= launches && do_race(a, b, writes)) {
                    checker_found_race_of_grids(
                        l, a->ref, launches ? g->name : NULL,
                        &(struct racing){a->inside, writes[0], false, false},
                        &(struct racing){b->inside, writes[1], false, false});
                    return;
                }
    }
}
