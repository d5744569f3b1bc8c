/* The journal's lines about the rooms below api/ (base/observer.h), and fields that several calls
 * share. */
#include "api/call.h"
#include "base/observer.h"
#include "mem/memory.h"
#include "sched/virtual_time.h"

void line_stream(struct journal_line *line, const struct stream *s)
{
    if (s->kind == STREAM_LEGACY)
        line_text(line, "stream", "legacy");
    else if (s->kind == STREAM_PER_THREAD)
        line_text(line, "stream", "per-thread");
    else
        line_number(line, "stream", (uint64_t)s->id);
}

void line_pool(struct journal_line *line, const struct pool *p)
{
    if (p)
        line_number(line, "pool", (uint64_t)p->id);
}

void line_allocation(struct journal_line *line, const void *address)
{
    if (!line_is_open(line))
        return;
    struct address_info a = memory_find(address);
    uint32_t id = memory_allocation_id(&a);
    line_number(line, "allocation", id);
    if (id && a.inner_offset)
        line_number(line, "inner_offset", a.inner_offset);
}

void line_turn(struct call *call, struct stream *s, uint64_t before)
{
    if (s->last_seq == before)
        return;
    if (s->head)
        s->tail->call = call->origin.number;
    else
        line_number(&call->line, "turn", 1);
}

static void op_done(const struct op *op)
{
    struct journal_line line;
    line_begin(&line, op->finish, op->name ? "run" : "turn");
    line_number(&line, "of", op->call);
    line_stream(&line, op->stream);
    if (!op->name) {
        line_write(&line);
        return;
    }
    line_text(&line, "op", op->name);
    if (op->allocation_id)
        line_number(&line, "allocation", op->allocation_id);
    if (op->bytes)
        line_number(&line, "bytes", op->bytes);
    line_number(&line, "start", op->start);
    line_number(&line, "finish", op->finish);
    line_write(&line);
}

static void pool_grew(const struct pool *p, size_t segments, size_t remapped)
{
    struct journal_line line;
    line_begin(&line, virtual_now, "grow");
    line_number(&line, "pool", (uint64_t)p->id);
    line_number(&line, "segments", segments);
    if (remapped)
        line_number(&line, "remapped", remapped);
    line_number(&line, "reserved", pool_reserved(p));
    line_write(&line);
}

static void pool_released(const struct pool *p, size_t segments, const char *why)
{
    struct journal_line line;
    line_begin(&line, virtual_now, "release");
    line_number(&line, "pool", (uint64_t)p->id);
    line_number(&line, "segments", segments);
    line_number(&line, "reserved", pool_reserved(p));
    line_text(&line, "why", why);
    line_write(&line);
}

static void graph_memory_changed(int device, const char *what, size_t segments, size_t reserved,
                                 const char *why)
{
    struct journal_line line;
    line_begin(&line, virtual_now, what);
    line_signed(&line, "graph_memory_of_device", device);
    line_number(&line, "segments", segments);
    line_number(&line, "reserved", reserved);
    if (why)
        line_text(&line, "why", why);
    line_write(&line);
}

static void graph_memory_used(const char *what, const struct origin *origin, int stream,
                              struct observed_range range)
{
    struct journal_line line;
    line_begin(&line, virtual_now, what);
    line_number(&line, "of", origin->number);
    if (origin->launch)
        line_number(&line, "launch", origin->launch);
    if (stream)
        line_number(&line, "stream", (uint64_t)stream);
    line_number(&line, "allocation", range.id);
    line_number(&line, "bytes", range.bytes);
    line_number(&line, "offset", range.offset);
    line_write(&line);
}

/* Adds an access to the line of a hazard: its call and that call's number. */
static void line_access(struct journal_line *line, const struct origin *origin, const char *call,
                        const char *number, const char *launch)
{
    if (origin->call)
        line_text(line, call, origin->call);
    if (origin->number)
        line_number(line, number, origin->number);
    if (origin->launch)
        line_number(line, launch, origin->launch);
}

static void hazard(const struct observed_hazard *h)
{
    struct journal_line line;
    line_begin(&line, virtual_now, "hazard");
    line_text(&line, "kind", h->kind);
    if (h->allocation)
        line_number(&line, "allocation", h->allocation);
    line_access(&line, h->later, "call", "later", "launch");
    if (h->later->stream > 0)
        line_number(&line, "stream", (uint64_t)h->later->stream);
    if (h->earlier->number)
        line_access(&line, h->earlier, "earlier_call", "earlier", "earlier_launch");
    if (h->unordered)
        line_number(&line, "unordered", 1);
    line_write(&line);
}

void journal_observe(void)
{
    observer = (struct observer){
        .op_done = op_done,
        .pool_grew = pool_grew,
        .pool_released = pool_released,
        .graph_memory_changed = graph_memory_changed,
        .graph_memory_used = graph_memory_used,
        .hazard = hazard,
    };
}
