/* The text of an accusation. Each report is one write on standard error: a first line "hazard: ...", then indented lines. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "host.h"
#include "journal.h"

#define REPORTS 20                     /* chosen: more than these are only counted */

static char text[4096];
static size_t used;
static unsigned count;
static const char *kind_now;
static struct deed by_now;
static struct pair { const char *kind; void *one, *other; } seen[REPORTS];

unsigned report_count(void) { return count; }

static void add_arguments(const char *format, va_list arguments)
{
    int n = vsnprintf(text + used, sizeof text - used, format, arguments);
    if (n > 0) used += (size_t)n;
    if (used > sizeof text - 2) used = sizeof text - 2;
}

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_arguments(format, arguments);
    va_end(arguments);
}

bool report_begin(const char *kind, const struct deed *one, const struct deed *other)
{
    unsigned known = count < REPORTS ? count : REPORTS;
    for (unsigned i = 0; i < known; i++)
        if (!strcmp(seen[i].kind, kind) && seen[i].one == one->site && seen[i].other == other->site) return false;
    if (count < REPORTS) seen[count] = (struct pair){ kind, one->site, other->site };
    if (count++ >= REPORTS) return false;
    kind_now = kind;
    by_now = *other;
    used = 0;
    add("hazard: %s. ", kind);
    return true;
}

void report_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_arguments(format, arguments);
    va_end(arguments);
}

static char *next_buffer(void)
{
    static char buffers[8][64];
    static unsigned next;
    return buffers[next++ % 8];
}

static const char *stream_name(const struct deed *d)
{
    if (d->stream == 0) return "the legacy stream";
    if (d->stream == -1) return "the per-thread stream";
    if (d->stream == -2) return "the host";
    char *buffer = next_buffer();
    snprintf(buffer, 64, "stream %d", d->stream);
    return buffer;
}

const char *report_stream(const struct deed *d)
{
    if (!d->launch) return stream_name(d);
    char *buffer = next_buffer();
    snprintf(buffer, 64, "graph launch %u in %s", d->launch, stream_name(d));
    return buffer;
}

void report_deed(const char *what, const struct deed *d)
{
    char place[512];
    host_source_line(d->site, place, sizeof place);
    add("\n  %-10s %s, %s, at %s", what, d->call, report_stream(d), place);
}

void report_block(uint32_t id, size_t bytes, const struct deed *allocated)
{
    char place[512];
    host_source_line(allocated->site, place, sizeof place);
    add("\n  %-10s %s, %s, at %s (block %u, %zu bytes)", "allocated", allocated->call, report_stream(allocated), place, id, bytes);
}

/* "launch_add (lessons/03_stream_order.c:31)" */
static const char *call_and_line(const struct deed *d, char *buffer, size_t size)
{
    char place[512];
    host_source_line(d->site, place, sizeof place);
    snprintf(buffer, size, "%s%s (%s)", d->launch ? "the cudaGraphLaunch that runs " : "", d->call, place);
    return buffer;
}

void report_missing_edge(const struct deed *earlier, const struct deed *later, const struct stream *s)
{
    char one[640], other[640];
    call_and_line(earlier, one, sizeof one);
    call_and_line(later, other, sizeof other);
    if (!s) {
        add("\n  To do: cudaStreamSynchronize of %s between %s and %s.", stream_name(earlier), one, other);
        return;
    }
    if (earlier->launch && earlier->launch == later->launch) {
        add("\n  Missing: no path of edges leads from the one node of the graph to the other.\n  To do: while capturing, record an event after the first call and make the stream "
            "of the second wait for it; in a graph built by hand, cudaGraphAddDependencies.");
        return;
    }
    const struct order *known = &s->known.everything;
    if (earlier->lane < known->lanes && known->reached[earlier->lane])
        add("\n  Missing: %s waits for %s, but only up to a place before %s.\n  To do: record the event after that call, and make %s wait for it before %s.",
            stream_name(later), stream_name(earlier), one, stream_name(later), other);
    else
        add("\n  Missing: nothing makes %s wait for %s.\n  To do: cudaEventRecord(event, %s) after %s, then cudaStreamWaitEvent(%s, event, 0) before %s.",
            stream_name(later), stream_name(earlier), stream_name(earlier), one, stream_name(later), other);
}

void report_advice(const char *advice) { add("\n  To do: %s", advice); }

void report_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add("\n  Note: ");
    add_arguments(format, arguments);
    va_end(arguments);
}

void report_end(uint32_t block)
{
    text[used] = '\0';
    host_report("%s", text);
    journal_did("hazard");
    journal_text("kind", kind_now);
    if (block) journal_number("block", block);
    journal_text("call", by_now.call);
    if (by_now.stream > 0) journal_signed("stream", by_now.stream);
    journal_did_end(clock_now());
}
