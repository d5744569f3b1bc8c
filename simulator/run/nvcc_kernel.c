/* Launches of kernels that nvcc built. What a kernel touches is known when it has run. */
#include "run/nvcc_kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/device_state.h"
#include "base/settings.h"
#include "check/checker.h"
#include "mem/address_map.h"
#include "mem/memory.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "run/commands.h"
#include "sched/cost.h"
#include "sched/virtual_time.h"

/* ---- launches ---- */

struct nvcc_kernel *nvcc_kernel_new(struct registered_kernel *k, const struct kernel_code *code,
                                    dim3 grid, dim3 block, size_t shared_bytes, bool cooperative,
                                    void *const *arguments)
{
    NEEDS_LOCK();
    const struct function *f = code->entry->function;
    struct nvcc_kernel *launch = os_allocate(sizeof *launch + f->parameter_bytes);
    launch->size = sizeof *launch + f->parameter_bytes;
    launch->kernel = k;
    launch->code = code;
    launch->shape = (struct launch_shape){.grid = {grid.x, grid.y, grid.z},
                                          .block = {block.x, block.y, block.z},
                                          .shared_bytes = shared_bytes,
                                          .parameter_bytes = f->parameter_bytes,
                                          .cooperative = cooperative};
    for (size_t n = 0; n < f->parameters.count; n++) {
        const struct variable *p = &f->parameters.all[n];
        memcpy(launch->parameters + p->offset, arguments[n], p->bytes);
    }
    return launch;
}

struct nvcc_kernel *nvcc_kernel_copy(const struct nvcc_kernel *kernel)
{
    NEEDS_LOCK();
    struct nvcc_kernel *copy = os_allocate(kernel->size);
    memcpy(copy, kernel, kernel->size);
    return copy;
}

/* ---- memory, for the kernel ---- */

/* A launch that runs. */
struct running {
    struct op *op;
    const struct nvcc_kernel *kernel;
    struct touched_memory *windows;
    /* Why an address cannot be touched; NULL: it was none of these. */
    const char *why;
};

/* An allocation that it touches, or memory beside one. */
struct touched_memory {
    struct touched_memory *next;
    struct window window;
    struct address_info info;
};

static struct window *add_window(struct running *r, const struct address_info *a, uint64_t base,
                                 uint64_t end, char *storage)
{
    struct touched_memory *m = os_allocate(sizeof *m);
    m->window = (struct window){.base = base, .end = end, .storage = storage, .owner = m};
    m->info = *a;
    m->next = r->windows;
    r->windows = m;
    return &m->window;
}

static struct window *find_memory(void *context, uint64_t address, size_t bytes, bool write)
{
    struct running *r = context;
    struct address_info a = memory_find((const void *)(uintptr_t)address);
    (void)write;
    if (a.kind == ADDRESS_PINNED && bytes <= a.bytes_left)
        return add_window(r, &a, address - a.inner_offset,
                          address - a.inner_offset + a.pinned->bytes, a.pinned->storage);
    if (a.kind == ADDRESS_PINNED)
        r->why = "is pinned memory of the host, but ends before the access does";
    else if (a.kind == ADDRESS_PAGEABLE)
        r->why = "is memory of the host that is not pinned";
    else if (!memory_peer_accessible(&a, r->op->stream->device))
        r->why = "is memory that this device has no access to";
    else if (!heap_is_mapped(a.heap, a.offset, bytes))
        r->why =
            "has no physical memory: it was never allocated, or it was freed and has gone back";
    if (r->why)
        return NULL;
    if (a.kind == ADDRESS_ALLOCATED && bytes <= a.bytes_left)
        return add_window(r, &a, address - a.inner_offset, address + a.bytes_left,
                          heap_storage(a.heap, a.offset - a.inner_offset));
    return add_window(r, &a, address, address + bytes, heap_storage(a.heap, a.offset));
}

static void free_windows(struct running *r)
{
    for (struct touched_memory *m = r->windows, *next; m; m = next) {
        next = m->next;
        os_free(m->window.read.bits);
        os_free(m->window.written.bits);
        os_free(m->window.atomic.bits);
        os_free(m);
    }
}

/* ---- what no device survives ---- */

static cudaError_t fault_error(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_MISALIGNED: return cudaErrorMisalignedAddress;
    case FAULT_TRAP: return cudaErrorLaunchFailure;
    case FAULT_ASSERTION: return cudaErrorAssert;
    case FAULT_STACK: return cudaErrorHardwareStackError;
    case FAULT_NO_FUNCTION: return cudaErrorInvalidPc;
    case FAULT_BARRIER: return cudaErrorLaunchTimeout;
    default: return cudaErrorIllegalAddress;
    }
}

static const char *fault_text(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_MISALIGNED: return "is no multiple of the access's size";
    case FAULT_SHARED_ADDRESS: return "is beyond the shared memory of its block";
    case FAULT_LOCAL_ADDRESS: return "is beyond the memory of its thread";
    default: return "";
    }
}

static const char *event_text(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_STACK: return "called functions deeper than its stack allows";
    case FAULT_TRAP: return "came to a trap";
    case FAULT_ASSERTION: return "failed an assertion";
    case FAULT_NO_FUNCTION: return "called an address where no function is";
    default: return "waits at a barrier that other threads of its block do not come to";
    }
}

/* Where an instruction stands in the program's source, when nvcc -lineinfo has said it; the caller's
 * `text` of `size` bytes. */
static const char *line_of(const struct code *code, const struct instruction *i, char *text,
                           size_t size)
{
    const struct module *m = code ? code->function->module : NULL;
    const char *file = i && m && i->file < m->file_count ? m->files[i->file] : NULL;
    *text = 0;
    if (file && i->line)
        snprintf(text, size, " (%s:%u)", file, i->line);
    return text;
}

static void end_by_fault(const struct running *r, const struct launch_fault *f)
{
    cudaError_t e = fault_error(f->kind);
    const uint32_t *t = f->thread, *b = f->block;
    char what[400], line[300];
    if (f->kind == FAULT_ADDRESS || f->kind == FAULT_MISALIGNED || f->kind == FAULT_SHARED_ADDRESS
        || f->kind == FAULT_LOCAL_ADDRESS)
        snprintf(what, sizeof what, "%s %zu bytes at %#llx, which %s", f->write ? "wrote" : "read",
                 f->bytes, (unsigned long long)f->address, r->why ? r->why : fault_text(f->kind));
    else
        snprintf(what, sizeof what, "%s", event_text(f->kind));
    diag("%s: thread (%u,%u,%u) of block (%u,%u,%u) of the kernel %s (stream %d)%s %s. Every "
         "further call returns an error.",
         e == cudaErrorIllegalAddress ? "illegal address" : "launch failure", t[0], t[1], t[2],
         b[0], b[1], b[2], r->op->name, r->op->stream->id,
         line_of(f->code, f->instruction, line, sizeof line), what);
    device_fault(e);
}

/* ---- the work ---- */

static void effect_nvcc_kernel(struct op *op)
{
    struct nvcc_kernel *k = op->staged;
    struct running r = {.op = op, .kernel = k};
    struct launch_memory memory = {find_memory, &r};
    struct launch_fault fault;
    k->shape.parameters = k->parameters;
    k->shape.nanoseconds = virtual_now;
    k->shape.seed = settings.schedule == SCHEDULE_RANDOM ? 1 + random_below(1u << 30) : 0;
    if (!grid_run(k->code, &k->shape, &memory, &fault))
        end_by_fault(&r, &fault);
    free_windows(&r);
}

/* Assumed: as a kernel of kernels.h that writes four bytes in each thread. */
static time_ns duration_of(const struct nvcc_kernel *k)
{
    const struct launch_shape *s = &k->shape;
    size_t threads =
        (size_t)s->grid.x * s->grid.y * s->grid.z * s->block.x * s->block.y * s->block.z;
    return command_duration(DURATION_FILL, DURATION_FILL_GIB, 4 * threads);
}

/* The first two arguments that are addresses of a device, for who looks for work that touches one
 * (assumed: enough). */
static void set_operands(struct op *op, const struct nvcc_kernel *k)
{
    const struct variables *p = &k->code->entry->function->parameters;
    for (size_t n = 0; n < p->count && !op->from; n++) {
        uint64_t value = 0;
        if (p->all[n].bytes != 8)
            continue;
        memcpy(&value, k->parameters + p->all[n].offset, 8);
        if (!value || !address_map_find((const void *)(uintptr_t)value))
            continue;
        if (!op->to)
            op->to = (char *)(uintptr_t)value;
        else
            op->from = (const char *)(uintptr_t)value;
    }
}

cudaError_t command_nvcc_kernel(const struct call *call, const struct nvcc_kernel *kernel,
                                struct stream *s)
{
    NEEDS_LOCK();
    struct op *op = stream_enqueue(s, OP_COMMAND, time_under_schedule(duration_of(kernel)));
    struct nvcc_kernel *copy = nvcc_kernel_copy(kernel);
    copy->origin = checker_origin(call, s, op->seq);
    op->name = kernel->kernel->name;
    op->call = call->origin.number;
    op->effect = effect_nvcc_kernel;
    op->staged = copy;
    set_operands(op, copy);
    return cudaSuccess;
}
