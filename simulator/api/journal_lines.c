/* The journal's lines of what happens below the API (base/observer.h), and the fields that several
 * calls have. */
#include "api/call.h"
#include "base/observer.h"
#include "graph/graph_memory.h"
#include "mem/memory.h"
#include "sched/virtual_time.h"

void line_stream(struct journal_line *line, const struct stream *s)
{
    if (!line->used)
        return;
    if (s->kind == STREAM_LEGACY)
        line_text(line, "stream", "legacy");
    else if (s->kind == STREAM_PER_THREAD)
        line_text(line, "stream", "per-thread");
    else
        line_number(line, "stream", (uint64_t)s->id);
}

void line_allocation(struct journal_line *line, const void *address)
{
    if (!line->used)
        return;
    struct address_info a = memory_find(address);
    line_number(line, "allocation", memory_allocation_id(&a));
}

static void op_done(const struct op *op)
{
    struct journal_line line;
    line_begin(&line, "did", "run");
    line_stream(&line, op->stream);
    line_text(&line, "op", op->name);
    if (op->allocation_id)
        line_number(&line, "allocation", op->allocation_id);
    if (op->bytes)
        line_number(&line, "bytes", op->bytes);
    line_number(&line, "start", op->start);
    line_number(&line, "finish", op->finish);
    line_write(&line, op->finish);
}

static void pool_grew(const struct pool *p, size_t segments, size_t remapped)
{
    struct journal_line line;
    line_begin(&line, "did", "grow");
    line_number(&line, "pool", (uint64_t)p->id);
    line_number(&line, "segments", segments);
    if (remapped)
        line_number(&line, "remapped", remapped);
    line_number(&line, "reserved", pool_reserved(p));
    line_write(&line, virtual_now);
}

static void pool_released(const struct pool *p, size_t segments, const char *why)
{
    struct journal_line line;
    line_begin(&line, "did", "release");
    line_number(&line, "pool", (uint64_t)p->id);
    line_number(&line, "segments", segments);
    line_number(&line, "reserved", pool_reserved(p));
    line_text(&line, "why", why);
    line_write(&line, virtual_now);
}

static void graph_memory_changed(int device, const char *what, size_t segments, size_t reserved,
                                 const char *why)
{
    struct journal_line line;
    line_begin(&line, "did", what);
    line_signed(&line, "graph_memory_of_device", device);
    line_number(&line, "segments", segments);
    line_number(&line, "reserved", reserved);
    if (why)
        line_text(&line, "why", why);
    line_write(&line, virtual_now);
}

static void graph_memory_used(const char *what, uint32_t launch, int stream,
                              struct observed_range range)
{
    struct journal_line line;
    line_begin(&line, "did", what);
    if (launch)
        line_number(&line, "launch", launch);
    if (stream)
        line_number(&line, "stream", (uint64_t)stream);
    line_number(&line, "allocation", range.id);
    line_number(&line, "bytes", range.bytes);
    line_number(&line, "offset", range.offset);
    line_write(&line, virtual_now);
}

static void hazard(const char *kind, uint32_t allocation, const char *call, int stream)
{
    struct journal_line line;
    line_begin(&line, "did", "hazard");
    line_text(&line, "kind", kind);
    if (allocation)
        line_number(&line, "allocation", allocation);
    if (call)
        line_text(&line, "call", call);
    if (stream > 0)
        line_number(&line, "stream", (uint64_t)stream);
    line_write(&line, virtual_now);
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
