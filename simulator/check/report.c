/* The text of an accusation. Each report is one write on standard error: a first line "hazard: ...", then indented lines. */
#include "check/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/virtual_time.h"
#include "mem/device.h"
#include "os/os.h"
#include "base/journal.h"

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

/* Where calls stand in the source: looks up those of these sites that are not known yet, all at once, and returns the last one's place. */
static const char *places_of(void *const *sites, size_t n)
{
    static struct host_place known[16];
    static unsigned next;
    struct host_place *missing[HOST_PLACES], *found = NULL;
    size_t lacking = 0;
    for (size_t k = 0; k < n; k++) {
        found = NULL;
        for (unsigned i = 0; i < next && i < 16; i++)
            if (known[i].site == sites[k]) found = &known[i];
        if (found) continue;
        found = missing[lacking++] = &known[next++ % 16];
        *found = (struct host_place){ .site = sites[k] };
    }
    host_source_lines(missing, lacking);
    return found->text;
}

static const char *place_of(void *site) { return places_of(&site, 1); }

bool report_begin(const char *kind, const struct deed *one, const struct deed *other)
{
    unsigned known = count < REPORTS ? count : REPORTS;
    for (unsigned i = 0; i < known; i++)
        if (!strcmp(seen[i].kind, kind) && seen[i].one == one->site && seen[i].other == other->site) return false;
    if (count < REPORTS) seen[count] = (struct pair){ kind, one->site, other->site };
    if (count == REPORTS) host_say("more than %d hazards: the others are only counted.", REPORTS);
    if (count++ >= REPORTS) return false;
    void *const sites[] = { one->site, other->site, one->launch ? one->launch_site : one->site, other->launch ? other->launch_site : other->site };
    places_of(sites, sizeof sites / sizeof *sites);
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

#define BUFFER 384
static char *next_buffer(void)
{
    static char buffers[16][BUFFER];
    static unsigned next;
    return buffers[next++ % 16];
}

/* Each device has default streams of its own; those of device 0 go without saying. */
static const char *stream_name(const struct deed *d)
{
    if (d->stream == -2) return "the host";
    char *buffer = next_buffer();
    if (d->stream > 0) snprintf(buffer, BUFFER, "stream %d", d->stream);
    else {
        int length = snprintf(buffer, BUFFER, "the %s stream", d->stream ? "per-thread" : "legacy");
        if (d->device) snprintf(buffer + length, BUFFER - (size_t)length, " of device %d", d->device);
    }
    return buffer;
}

const char *report_stream(const struct deed *d)
{
    if (!d->launch) return stream_name(d);
    char *buffer = next_buffer();
    snprintf(buffer, BUFFER, "graph launch %u in %s", d->launch, stream_name(d));
    return buffer;
}

void report_deed(const char *what, const struct deed *d)
{
    add("\n  %-10s %s, %s, at %s", what, d->call, report_stream(d), place_of(d->site));
    if (d->launch) add(", launched at %s", place_of(d->launch_site));
}

void report_block(uint32_t id, size_t bytes, const struct deed *allocated)
{
    report_deed("allocated", allocated);
    add(" (block %u, %zu bytes)", id, bytes);
}

/* How the program writes the stream, as far as can be known. */
static const char *stream_in_code(const struct deed *d)
{
    return d->stream == 0 ? "cudaStreamLegacy" : d->stream == -1 ? "cudaStreamPerThread" : stream_name(d);
}

/* What the program called to have it done, and where. */
static const char *call_in_words(const struct deed *d)
{
    char *buffer = next_buffer();
    if (d->launch) snprintf(buffer, BUFFER, "the cudaGraphLaunch that runs %s (%s)", d->call, place_of(d->launch_site));
    else snprintf(buffer, BUFFER, "%s (%s)", d->call, place_of(d->site));
    return buffer;
}

/* A default stream's handle means another stream in another thread, or while another device is current. */
static const char *where_to_wait(const struct deed *d)
{
    if (d->stream > 0) return "";
    if (d->stream == -1 && !stream_is_of_this_thread(stream_of_lane(d->lane))) return ", in the thread of the first: cudaStreamPerThread is another stream in each";
    if (d->device == device_current()) return "";
    char *buffer = next_buffer();
    snprintf(buffer, BUFFER, ", while device %d is current (cudaSetDevice)", d->device);
    return buffer;
}

static bool is_cudaMemcpy(const struct deed *d) { return !strcmp(d->call, "cudaMemcpy"); }

void report_missing_edge(const struct deed *earlier, const struct deed *later, const struct stream *s)
{
    const char *first = stream_name(earlier), *second = stream_name(later);
    if (!s) {
        add("\n  Missing:   the host has not waited for %s.\n  To do:     cudaStreamSynchronize(%s) between %s and %s%s.",
            earlier->call, stream_in_code(earlier), call_in_words(earlier), call_in_words(later), where_to_wait(earlier));
        return;
    }
    if (earlier->launch && earlier->launch == later->launch) {
        add("\n  Missing:   no path of edges leads from the one node of the graph to the other.\n  To do:     while capturing, record an event after the first call and make the stream\n"
            "             of the second wait for it; in a graph built by hand, cudaGraphAddDependencies.");
        return;
    }
    const struct order *told = &s->known.dependencies, *host = host_knowledge();
    uint64_t by_event = earlier->lane < told->lanes ? told->reached[earlier->lane] : 0, by_host = earlier->lane < host->lanes ? host->reached[earlier->lane] : 0;
    if (earlier->stream == -1 && later->stream == -1 && earlier->device == later->device)
        add("\n  Missing:   nothing orders the two: cudaStreamPerThread is another stream in each thread.");
    else if (by_event > by_host)
        add("\n  Missing:   %s waits for %s, but only up to a place before %s:\n             the event was recorded too early, or the wait came before it was recorded anew.",
            second, first, call_in_words(earlier));
    else if (by_host && !is_cudaMemcpy(earlier))
        add("\n  Missing:   nothing makes %s wait for %s. The host has waited for %s, but before that call.", second, earlier->call, first);
    else
        add("\n  Missing:   nothing makes %s wait for %s.", second, first);
    add("\n  To do:     cudaEventRecord(event, %s) after %s, then\n             cudaStreamWaitEvent(%s, event, 0) before %s.",
        stream_in_code(earlier), call_in_words(earlier), stream_in_code(later), call_in_words(later));
    bool legacy = earlier->stream == 0 || later->stream == 0;
    if (legacy && (s->kind == STREAM_NON_BLOCKING || stream_of_lane(earlier->lane)->kind == STREAM_NON_BLOCKING))
        report_note("the legacy stream and a stream made with cudaStreamNonBlocking do not wait for each other.");
    if (is_cudaMemcpy(earlier))        /* documented: CUDA Runtime API, "API synchronization behavior" */
        report_note("from pageable memory, cudaMemcpy may be back before the bytes have arrived; from device to device, it does not wait at all.");
}

void report_late_use(const struct deed *freed, const struct deed *used)
{
    bool one_launch = freed->launch && freed->launch == used->launch;
    if (one_launch) add("\n  To do:     call %s (%s) after %s (%s)", freed->call, place_of(freed->site), used->call, place_of(used->site));
    else add("\n  To do:     call %s after %s", call_in_words(freed), call_in_words(used));
    if (freed->lane == HOST_LANE) add(", when the host has waited for %s.", report_stream(used));
    else if (freed->lane == used->lane) add(".");
    else add(", and make %s wait for %s first:\n             cudaEventRecord(event, %s), then cudaStreamWaitEvent(%s, event, 0).",
             report_stream(freed), used->call, stream_in_code(used), stream_in_code(freed));
}

void report_advice(const char *advice) { add("\n  To do:     %s", advice); }

void report_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add("\n  Note:      ");
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
