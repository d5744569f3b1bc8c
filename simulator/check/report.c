/* The text of an accusation. Each report is one write on standard error: a first line "hazard:
 * ...", then indented lines. */
#include "check/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/virtual_time.h"
#include "base/device_state.h"
#include "os/os.h"
#include "base/observer.h"
#include "sched/happens_before.h"

#define REPORTS_MAX 20 /* chosen: more than these are only counted */

static char text[4096];
static size_t text_length;
static unsigned hazard_count;
static const char *current_kind;
static struct origin current_origin;
static struct pair {
    const char *kind;
    void *earlier, *later;
} seen[REPORTS_MAX];

unsigned report_count(void) { return hazard_count; }

static void append_arguments(const char *format, va_list arguments)
{
    int n = vsnprintf(text + text_length, sizeof text - text_length, format, arguments);
    if (n > 0)
        text_length += (size_t)n;
    if (text_length > sizeof text - 2)
        text_length = sizeof text - 2;
}

static void append(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void append(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_arguments(format, arguments);
    va_end(arguments);
}

/* Where calls stand in the source: looks up those of these sites that are not known yet, all at
 * once, and returns the last one's place. */
static const char *source_lines_of(void *const *sites, size_t n)
{
    static struct os_source_loc cache[16];
    static unsigned next;
    struct os_source_loc *missing[OS_SOURCE_LOC_MAX], *found = NULL;
    size_t missing_count = 0;
    for (size_t k = 0; k < n; k++) {
        found = NULL;
        for (unsigned i = 0; i < next && i < 16; i++)
            if (cache[i].site == sites[k])
                found = &cache[i];
        if (found)
            continue;
        found = missing[missing_count++] = &cache[next++ % 16];
        *found = (struct os_source_loc){.site = sites[k]};
    }
    os_source_lines(missing, missing_count);
    return found->text;
}

static const char *source_line_of(void *site) { return source_lines_of(&site, 1); }

bool report_begin(const char *kind, const struct origin *earlier, const struct origin *later)
{
    unsigned remembered = hazard_count < REPORTS_MAX ? hazard_count : REPORTS_MAX;
    for (unsigned i = 0; i < remembered; i++)
        if (!strcmp(seen[i].kind, kind) && seen[i].earlier == earlier->site
            && seen[i].later == later->site)
            return false;
    if (hazard_count < REPORTS_MAX)
        seen[hazard_count] = (struct pair){kind, earlier->site, later->site};
    if (hazard_count == REPORTS_MAX)
        diag("more than %d hazards: the others are only counted.", REPORTS_MAX);
    if (hazard_count++ >= REPORTS_MAX)
        return false;
    void *const sites[] = {earlier->site, later->site,
                           earlier->launch ? earlier->launch_site : earlier->site,
                           later->launch ? later->launch_site : later->site};
    source_lines_of(sites, sizeof sites / sizeof *sites);
    current_kind = kind;
    current_origin = *later;
    text_length = 0;
    append("hazard: %s. ", kind);
    return true;
}

void report_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_arguments(format, arguments);
    va_end(arguments);
}

#define BUFFER_SIZE 384
static char *next_buffer(void)
{
    static char buffers[16][BUFFER_SIZE];
    static unsigned next;
    return buffers[next++ % 16];
}

/* Each device has default streams of its own; those of device 0 go without saying. */
static const char *stream_name(const struct origin *origin)
{
    if (origin->stream == -2)
        return "the host";
    char *buffer = next_buffer();
    if (origin->stream > 0)
        snprintf(buffer, BUFFER_SIZE, "stream %d", origin->stream);
    else {
        int length = snprintf(buffer, BUFFER_SIZE, "the %s stream",
                              origin->stream ? "per-thread" : "legacy");
        if (origin->device)
            snprintf(buffer + length, BUFFER_SIZE - (size_t)length, " of device %d",
                     origin->device);
    }
    return buffer;
}

const char *report_stream(const struct origin *origin)
{
    if (!origin->launch)
        return stream_name(origin);
    char *buffer = next_buffer();
    snprintf(buffer, BUFFER_SIZE, "graph launch %u in %s", origin->launch, stream_name(origin));
    return buffer;
}

void report_origin(const char *what, const struct origin *origin)
{
    append("\n  %-10s %s, %s, at %s", what, origin->call, report_stream(origin),
           source_line_of(origin->site));
    if (origin->launch)
        append(", launched at %s", source_line_of(origin->launch_site));
}

void report_allocation(uint32_t id, size_t bytes, const struct origin *allocated_by)
{
    report_origin("allocated", allocated_by);
    append(" (allocation %u, %zu bytes)", id, bytes);
}

/* How the program writes the stream, as far as can be known. */
static const char *stream_in_code(const struct origin *origin)
{
    return origin->stream == 0  ? "cudaStreamLegacy"
         : origin->stream == -1 ? "cudaStreamPerThread"
                                : stream_name(origin);
}

/* What the program called to have it done, and where. */
static const char *call_in_words(const struct origin *origin)
{
    char *buffer = next_buffer();
    if (origin->launch)
        snprintf(buffer, BUFFER_SIZE, "the cudaGraphLaunch that runs %s (%s)", origin->call,
                 source_line_of(origin->launch_site));
    else
        snprintf(buffer, BUFFER_SIZE, "%s (%s)", origin->call, source_line_of(origin->site));
    return buffer;
}

/* A default stream's handle means another stream in another thread, or while another device is
 * current. */
static const char *wait_context(const struct origin *origin)
{
    if (origin->stream > 0)
        return "";
    if (origin->stream == -1 && !stream_is_of_this_thread(stream_of_slot(origin->slot)))
        return ", in the thread of the first: cudaStreamPerThread is another stream in each";
    if (origin->device == device_current())
        return "";
    char *buffer = next_buffer();
    snprintf(buffer, BUFFER_SIZE, ", while device %d is current (cudaSetDevice)", origin->device);
    return buffer;
}

static bool is_cudaMemcpy(const struct origin *origin)
{
    return !strcmp(origin->call, "cudaMemcpy");
}

void report_missing_edge(const struct origin *earlier, const struct origin *later,
                         const struct stream *s)
{
    const char *first = stream_name(earlier), *second = stream_name(later);
    if (!s) {
        append("\n  Missing:   the host has not waited for %s.\n  To do:     "
               "cudaStreamSynchronize(%s) between %s and %s%s.",
               earlier->call, stream_in_code(earlier), call_in_words(earlier), call_in_words(later),
               wait_context(earlier));
        return;
    }
    if (earlier->launch && earlier->launch == later->launch) {
        append(
            "\n  Missing:   no path of edges leads from the one node of the graph to the other.\n  "
            "To do:     while capturing, record an event after the first call and make the stream\n"
            "             of the second wait for it; in a graph built by hand, "
            "cudaGraphAddDependencies.");
        return;
    }
    const struct vector_clock *device_order = &s->ordering.device_order,
                              *host_order = host_vector_clock();
    uint64_t event_epoch =
                 earlier->slot < device_order->slots ? device_order->epochs[earlier->slot] : 0,
             host_epoch = earlier->slot < host_order->slots ? host_order->epochs[earlier->slot] : 0;
    if (earlier->stream == -1 && later->stream == -1 && earlier->device == later->device)
        append("\n  Missing:   nothing orders the two: cudaStreamPerThread is another stream in "
               "each thread.");
    else if (event_epoch > host_epoch)
        append("\n  Missing:   %s waits for %s, but only up to a place before %s:\n             "
               "the event was recorded too early, or the wait came before it was recorded anew.",
               second, first, call_in_words(earlier));
    else if (host_epoch && !is_cudaMemcpy(earlier))
        append("\n  Missing:   nothing makes %s wait for %s. The host has waited for %s, but "
               "before that call.",
               second, earlier->call, first);
    else
        append("\n  Missing:   nothing makes %s wait for %s.", second, first);
    append("\n  To do:     cudaEventRecord(event, %s) after %s, then\n             "
           "cudaStreamWaitEvent(%s, event, 0) before %s.",
           stream_in_code(earlier), call_in_words(earlier), stream_in_code(later),
           call_in_words(later));
    bool legacy = earlier->stream == 0 || later->stream == 0;
    if (legacy
        && (s->kind == STREAM_NON_BLOCKING
            || stream_of_slot(earlier->slot)->kind == STREAM_NON_BLOCKING))
        report_note("the legacy stream and a stream made with cudaStreamNonBlocking do not wait "
                    "for each other.");
    /* Documented: CUDA Runtime API, "API synchronization behavior". */
    if (is_cudaMemcpy(earlier))
        report_note("from pageable memory, cudaMemcpy may be back before the bytes have arrived; "
                    "from device to device, it does not wait at all.");
}

void report_late_use(const struct origin *freed_by, const struct origin *used_by)
{
    bool one_launch = freed_by->launch && freed_by->launch == used_by->launch;
    if (one_launch)
        append("\n  To do:     call %s (%s) after %s (%s)", freed_by->call,
               source_line_of(freed_by->site), used_by->call, source_line_of(used_by->site));
    else
        append("\n  To do:     call %s after %s", call_in_words(freed_by), call_in_words(used_by));
    if (freed_by->slot == HOST_SLOT)
        append(", when the host has waited for %s.", report_stream(used_by));
    else if (freed_by->slot == used_by->slot)
        append(".");
    else
        append(", and make %s wait for %s first:\n             cudaEventRecord(event, %s), then "
               "cudaStreamWaitEvent(%s, event, 0).",
               report_stream(freed_by), used_by->call, stream_in_code(used_by),
               stream_in_code(freed_by));
}

void report_advice(const char *advice) { append("\n  To do:     %s", advice); }

void report_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append("\n  Note:      ");
    append_arguments(format, arguments);
    va_end(arguments);
}

void report_end(uint32_t id)
{
    text[text_length] = '\0';
    diag_report("%s", text);
    if (observer.hazard)
        observer.hazard(current_kind, id, current_origin.call, current_origin.stream);
}
