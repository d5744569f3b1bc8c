/* A program's own kernels. To the checker, a launch is one access to each byte that it declares,
 * whatever its function does. The rest of this file compares the function with the declaration, as
 * far as possible. */
#include "run/value_notes.h"
#include "run/user_kernel.h"

#include <string.h>

#include "base/settings.h"
#include "check/failed_call.h"
#include "check/report.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "run/commands.h"
#include "sched/cost.h"
#include "sched/virtual_time.h"

#define NAME_MAX_LENGTH 63
/* Assumed: comparing this many bytes next to a range finds a loop that goes one element too far. */
#define EDGE_MAX ((size_t)64)
/* Assumed: it is enough to compare this many bytes at both ends of a range that is only read. */
#define DIGEST_MAX (8 * MiB)

struct name {
    struct name *next;
    char text[NAME_MAX_LENGTH + 1];
};

/* Needs the lock. Invariant: each name is in the list of its hash, once, and is never freed,
 * because origins point to it. `running` is the launch whose function is being called, or NULL. */
static struct {
    struct name *names[64];
    const struct user_kernel *running;
} kernels;

/* ---- launches ---- */

static const char *intern(const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    struct name **list = &kernels.names[hash % 64];
    for (struct name *n = *list; n; n = n->next)
        if (!strcmp(n->text, text))
            return n->text;
    struct name *n = os_allocate(sizeof *n);
    strcpy(n->text, text);
    n->next = *list;
    *list = n;
    return n->text;
}

static bool is_name(const char *text)
{
    size_t length = 0;
    for (; text && text[length]; length++)
        if (length == NAME_MAX_LENGTH || text[length] < ' ' || text[length] > '~'
            || text[length] == '"' || text[length] == '\\')
            return false;
    return length > 0;
}

#define REFUSED "The call returns cudaErrorInvalidValue."

static bool is_range(const char *name, const struct sim_range *r, size_t i)
{
    const char *why = NULL;
    if (!r->address && r->bytes)
        why = "begins at NULL";
    else if ((uintptr_t)r->address > UINTPTR_MAX - r->bytes)
        why = "goes beyond the last address";
    else if (r->access < SIM_READ || r->access > SIM_READ_WRITE)
        why = "has an access that is none of SIM_READ, SIM_WRITE and SIM_READ_WRITE";
    if (why)
        diag("sim_launch: range %zu of the kernel \"%s\" (%zu bytes) %s. " REFUSED, i, name,
             r->bytes, why);
    return !why;
}

static bool is_launch(const char *name, sim_function function, const void *argument,
                      size_t argument_bytes, const struct sim_range *ranges, size_t count)
{
    if (!is_name(name))
        diag("sim_launch: the name of a kernel is 1 to %d printable characters, no quotation mark "
             "and no backslash. " REFUSED,
             NAME_MAX_LENGTH);
    else if (!function)
        diag("sim_launch: the kernel \"%s\" has no function (NULL). " REFUSED, name);
    else if (argument_bytes > SIM_ARGUMENT_MAX)
        diag("sim_launch: the argument of the kernel \"%s\" has %zu bytes; at most %d are "
             "possible. " REFUSED,
             name, argument_bytes, SIM_ARGUMENT_MAX);
    else if (!argument && argument_bytes)
        diag("sim_launch: the argument of the kernel \"%s\" is NULL, with %zu bytes. " REFUSED,
             name, argument_bytes);
    else if (count > SIM_RANGES_MAX)
        diag("sim_launch: the kernel \"%s\" has %zu ranges; at most %d are possible. " REFUSED,
             name, count, SIM_RANGES_MAX);
    else if (!ranges && count)
        diag("sim_launch: the ranges of the kernel \"%s\" are NULL; %zu were passed. " REFUSED,
             name, count);
    else
        return true;
    return false;
}

/* Returns the offset of the argument, which is aligned for any type. */
static size_t argument_offset(size_t count)
{
    size_t align = _Alignof(max_align_t);
    size_t end = sizeof(struct user_kernel) + count * sizeof(struct sim_range);
    return (end + align - 1) / align * align;
}

struct user_kernel *user_kernel_new(const char *name, sim_function function, const void *argument,
                                    size_t argument_bytes, const struct sim_range *ranges,
                                    size_t count, time_ns duration)
{
    NEEDS_LOCK();
    if (!is_launch(name, function, argument, argument_bytes, ranges, count))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_range(name, &ranges[i], i))
            return NULL;
    size_t offset = argument_offset(count);
    struct user_kernel *k = os_allocate(offset + argument_bytes);
    k->size = offset + argument_bytes;
    k->name = intern(name);
    k->function = function;
    k->duration = duration;
    k->count = count;
    if (count)
        memcpy(k->ranges, ranges, count * sizeof *ranges);
    if (argument_bytes)
        memcpy((char *)k + offset, argument, argument_bytes);
    return k;
}

size_t user_kernel_bytes(const struct user_kernel *kernel)
{
    NEEDS_LOCK();
    size_t bytes = 0;
    for (size_t i = 0; i < kernel->count; i++)
        bytes += kernel->ranges[i].bytes;
    return bytes;
}

/* ---- checking the function ---- */

/* A range as the CPU sees it. */
struct memory {
    char *bytes;
    size_t count;
    bool write;
    /* Nothing else writes there or next to it meanwhile, so all changes are the function's. */
    bool is_ours;
    uint32_t allocation_id;
    /* The state before the function: the bytes next to the range, and a digest if it is read. */
    size_t before_count, behind_count;
    char before[EDGE_MAX], behind[EDGE_MAX];
    bool has_digest;
    uint64_t digest;
};

static uint64_t mix(uint64_t digest, const char *bytes, size_t count)
{
    size_t i = 0;
    uint64_t word, other = ~digest;
    for (; i + 16 <= count; i += 16) {
        memcpy(&word, bytes + i, 8);
        digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
        memcpy(&word, bytes + i + 8, 8);
        other = (other ^ word) * 0xC2B2AE3D27D4EB4Fu;
    }
    for (; i < count; i++)
        digest = (digest ^ (unsigned char)bytes[i]) * 0x9E3779B97F4A7C15u;
    return digest ^ (other >> 29) ^ other;
}

static uint64_t digest_of(const struct memory *m)
{
    if (m->count <= 2 * DIGEST_MAX)
        return mix(1, m->bytes, m->count);
    return mix(mix(1, m->bytes, DIGEST_MAX), m->bytes + m->count - DIGEST_MAX, DIGEST_MAX);
}

/* Returns whether the launch may write any of these bytes. */
static bool is_writable(const struct memory *all, size_t count, const char *at, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].write && at < all[i].bytes + all[i].count && all[i].bytes < at + bytes)
            return true;
    return false;
}

/* Prepares range `i` of the launch, whose memory exists. If only this process and this device write
 * to its heap, the bytes next to the range are remembered. */
static void begin_range(struct memory *m, const struct sim_range *r, char *storage)
{
    struct address_info a = memory_find(r->address);
    *m = (struct memory){.bytes = storage, .count = r->bytes, .write = r->access & SIM_WRITE};
    if (!settings.check || !storage || !a.heap || a.heap->host_visible || a.heap->file)
        return;
    size_t behind = a.heap->limit - a.offset - r->bytes;
    m->is_ours = true;
    m->allocation_id = memory_allocation_id(&a);
    m->before_count = a.offset < EDGE_MAX ? a.offset : EDGE_MAX;
    m->behind_count = behind < EDGE_MAX ? behind : EDGE_MAX;
    memcpy(m->before, storage - m->before_count, m->before_count);
    memcpy(m->behind, storage + r->bytes, m->behind_count);
}

static void begin_digests(struct memory *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        all[i].has_digest =
            all[i].is_ours && !all[i].write && !is_writable(all, count, all[i].bytes, all[i].count);
        if (all[i].has_digest)
            all[i].digest = digest_of(&all[i]);
    }
}

static void hazard_undeclared(const struct user_kernel *k, size_t i, uint32_t allocation_id,
                              const char *what)
{
    if (!report_begin(HAZARD_UNDECLARED_ACCESS, &k->origin, &k->origin))
        return;
    report_text("%s (%s) writes %s memory[%zu], and its launch does not declare that.", k->name,
                report_stream(&k->origin).text, what, i);
    report_origin("launched", &k->origin);
    report_advice("declare all that the kernel writes, with sim_write or sim_read_write, or let "
                  "the function write less: what is not declared is not checked.");
    report_end(allocation_id);
}

/* Returns whether the function has changed bytes at `now` that it may not change. */
static bool is_changed(const struct memory *all, size_t count, const char *now, const char *then,
                       size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (now[i] != then[i] && !is_writable(all, count, now + i, 1))
            return true;
    return false;
}

static void check_writes(const struct user_kernel *k, const struct memory *all)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct memory *m = &all[i];
        if (m->has_digest && digest_of(m) != m->digest)
            hazard_undeclared(k, i, m->allocation_id, "into");
        else if (is_changed(all, k->count, m->bytes + m->count, m->behind, m->behind_count))
            hazard_undeclared(k, i, m->allocation_id, "after the end of");
        else if (is_changed(all, k->count, m->bytes - m->before_count, m->before, m->before_count))
            hazard_undeclared(k, i, m->allocation_id, "before the beginning of");
    }
}

void user_kernel_touched(const void *address)
{
    NEEDS_LOCK();
    const struct user_kernel *k = kernels.running;
    if (!k)
        return;
    if (report_begin(HAZARD_UNDECLARED_ACCESS, &k->origin, &k->origin)) {
        report_text("%s (%s) touches %p, by the address that the memory has for the program.",
                    k->name, report_stream(&k->origin).text, address);
        report_origin("launched", &k->origin);
        report_advice("declare the range, and let the function use memory[0], memory[1]...: there "
                      "it finds the ranges, in their order.");
        report_end(0);
    }
    journal_close();
    os_exit(3);
}

/* ---- the work ---- */

static void effect_user_kernel(struct op *op)
{
    const struct user_kernel *k = op->staged;
    struct memory all[SIM_RANGES_MAX];
    void *memory[SIM_RANGES_MAX];
    for (size_t i = 0; i < k->count; i++) {
        const struct sim_range *r = &k->ranges[i];
        char *storage = NULL;
        if (r->bytes
            && !(storage = command_resolve(op, r->address, r->bytes, r->access & SIM_WRITE)))
            return;
        if (r->access & SIM_READ)
            values_used(op, r->address, r->bytes, false);
        if (r->access & SIM_WRITE)
            values_written(op, r->address, r->bytes);
        begin_range(&all[i], r, storage);
        memory[i] = storage;
    }
    begin_digests(all, k->count);
    kernels.running = k;
    lock_set_owner("the function of a kernel (sim_launch)");
    k->function(memory, (const char *)k + argument_offset(k->count));
    lock_set_owner(NULL);
    kernels.running = NULL;
    check_writes(k, all);
}

/* The duration of the kernels of kernels.h: fill writes, add reads and writes. */
static time_ns duration_of(const struct user_kernel *k)
{
    if (k->duration)
        return k->duration;
    time_ns sum = DURATION_FILL;
    for (size_t i = 0; i < k->count; i++) {
        const struct sim_range *r = &k->ranges[i];
        time_ns each_gib = r->access == SIM_READ  ? DURATION_ADD_GIB - DURATION_FILL_GIB
                         : r->access == SIM_WRITE ? DURATION_FILL_GIB
                                                  : DURATION_ADD_GIB;
        sum += command_duration(0, each_gib, r->bytes);
    }
    return sum;
}

/* A range for the checker. */
struct operand {
    struct address_info address;
    const struct sim_range *range;
    size_t from, to; /* In the allocation. Operands of one shadow are compared. */
    const void *shadow;
    bool write;
};

/* Returns whether operand `j` of the launch accounts for the bytes that it shares with operand `i`.
 * Ranges may overlap, and each byte counts as one access, which is a write if any of the ranges
 * writes it. */
static bool takes_precedence(const struct operand *all, size_t j, size_t i)
{
    if (i == j || !all[i].shadow || all[j].shadow != all[i].shadow)
        return false;
    return all[j].write != all[i].write ? all[j].write : j < i;
}

/* Reports bytes [from, to) of operand `i`'s allocation to the checker. */
static void check_piece(const struct call *call, const struct operand *o, size_t from, size_t to,
                        const struct op *op)
{
    struct address_info piece = o->address;
    piece.inner_offset += from - o->from;
    command_check_use(call, &piece, (const char *)o->range->address + (from - o->from), to - from,
                      op, o->write);
}

static void check_operand(const struct call *call, const struct operand *all, size_t count,
                          size_t i, const struct op *op)
{
    for (size_t at = all[i].from; at < all[i].to;) {
        size_t end = all[i].to, skip = at;
        for (size_t j = 0; j < count; j++) {
            if (!takes_precedence(all, j, i))
                continue;
            if (all[j].from <= at && all[j].to > skip)
                skip = all[j].to;
            else if (all[j].from > at && all[j].from < end)
                end = all[j].from;
        }
        if (skip == at)
            check_piece(call, &all[i], at, end, op);
        at = skip == at ? end : skip;
    }
}

static void check_operands(const struct call *call, const struct user_kernel *k, struct op *op)
{
    struct operand all[SIM_RANGES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++) {
        if (!k->ranges[i].bytes)
            continue;
        struct operand *o = &all[count++];
        *o = (struct operand){.address = memory_find(k->ranges[i].address),
                              .range = &k->ranges[i],
                              .write = k->ranges[i].access & SIM_WRITE};
        if (o->address.kind == ADDRESS_ALLOCATED || o->address.kind == ADDRESS_PINNED)
            o->shadow = memory_shadow(&o->address).shadow;
        o->from = o->address.inner_offset;
        o->to = o->from + k->ranges[i].bytes;
    }
    for (size_t i = 0; i < count; i++) {
        check_operand(call, all, count, i, op);
        command_check_peer_access(call, &all[i].address, op);
    }
    if (count)
        op->allocation_id = memory_allocation_id(&all[0].address);
}

cudaError_t command_user_kernel(const struct call *call, const struct user_kernel *kernel,
                                struct stream *s)
{
    NEEDS_LOCK();
    struct op *op = stream_enqueue(s, OP_COMMAND, time_under_schedule(duration_of(kernel)));
    struct user_kernel *copy = os_copy(kernel, kernel->size);
    copy->origin = checker_origin(call, s, op->seq);
    op->name = copy->name;
    command_made_by(op, call);
    op->effect = effect_user_kernel;
    op->staged = copy;
    op->bytes = user_kernel_bytes(copy);
    /* The first two ranges, for searches for work that touches an address. A third one is not found
     * (assumed: this matters only for incorrect programs). */
    op->to = copy->count > 0 ? (char *)copy->ranges[0].address : NULL;
    op->from = copy->count > 1 ? copy->ranges[1].address : NULL;
    check_operands(call, copy, op);
    return cudaSuccess;
}

/* Documented for the driver's launch: grids and blocks have limits. Measured on an H100 with a
 * block of 2,000 threads (simulator/tests/facts/kernels-features.txt): exceeding a block's limit is
 * an invalid value; and in the driver (probe-more-answers.txt, "launches"), so are all others. */
cudaError_t kernel_check_shape(dim3 grid, dim3 block, unsigned most)
{
    NEEDS_LOCK();
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    most = most ? most : 1024;
    if (threads > most)
        failed_call_because("a block has %llu threads, and may have %u",
                            (unsigned long long)threads, most);
    else if (block.x > 1024 || block.y > 1024 || block.z > 64 || !threads || !grid.x || !grid.y
             || !grid.z || grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
        failed_call_because("a grid of (%u,%u,%u) blocks of (%u,%u,%u) threads is empty, or too "
                            "large in one direction",
                            grid.x, grid.y, grid.z, block.x, block.y, block.z);
    else
        return cudaSuccess;
    return cudaErrorInvalidValue;
}
