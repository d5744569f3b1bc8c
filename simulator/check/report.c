/* The text of reports. Each is one write to standard error: a first line "hazard: ...", followed by
 * indented lines. */
#include "check/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/device_state.h"
#include "base/hazards.h"
#include "base/observer.h"
#include "base/settings.h"
#include "base/summary.h"
#include "check/driver_words.h"
#include "check/event_waits.h"
#include "check/late_launch.h"
#include "check/stream_variable.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/happens_before.h"

#define REPORTS_MAX    20 /* Assumed: more are only counted. */
#define SEEN_MAX       64 /* Assumed: a few pairs of sites for each pair of lines. */
#define LOCATIONS_SIZE 16 /* At least four: a report has two origins and two launches. */
#define NOTES_MAX      16 /* There are fewer notes that say the same each time. */
#define SLOTS_SHOWN    12 /* Assumed: enough of a vector clock to read. */

/* A call and its site. */
struct call_place {
    const char *call;
    void *site;
};

/* A place in the source, and the name of the stream in the call there, or empty if uncertain. */
struct location {
    struct os_source_loc source;
    bool was_read;
    char variable[32];
};

/* What was reported: two calls and their lines. */
struct reported {
    enum hazard kind;
    const char *earlier_call, *later_call;
    char earlier[512], later[512];
    /* If a wait is missing: the allocation or 0, and the two calls between which it belongs. */
    uint32_t id;
    struct origin first, second;
    /* The wait is between two created streams. */
    bool lacks_wait;
    struct epoch {
        uint32_t slot;
        uint64_t seq;
    } at_earlier, at_later;
    unsigned repeats;
    /* A repeat was about created streams of which one was not in the report. */
    bool in_other_streams;
};

/* A variable by which the present report names a stream; 0 if it names several streams. */
struct named {
    char variable[32];
    int stream;
};

/* Needs the lock. Invariants: `text` holds the first `length` characters of the report under
 * construction, with room for a NUL, and `named` has the variables of its calls. `reported` holds
 * the first REPORTS_MAX hazards; `count` may be larger. `seen` holds the pairs of sites that were
 * found to be one of these, so that their lines are not looked up again. A location stays valid
 * until LOCATIONS_SIZE other sites have been looked up. */
static struct {
    char text[4096];
    size_t length;
    /* The report names a place whose line is not known. */
    bool lacks_lines;
    /* The calls are in streams of two devices, so each stream is named with its device. */
    bool has_two_devices;
    unsigned count;
    /* The number of the later call of the newest report, or of one that was not to be repeated. */
    uint32_t newest_call;
    enum hazard kind;
    struct origin earlier, later;
    bool unordered;
    struct reported reported[REPORTS_MAX];
    struct {
        enum hazard kind;
        struct seen_site {
            void *site;
            bool depends_on_callers;
        } earlier, later;
        struct reported *as;
    } seen[SEEN_MAX];
    unsigned seen_count;
    struct named named[6];
    unsigned named_count;
    /* Both streams were created by one variable's name, as in a loop, so it names neither. */
    bool were_created_alike;
    struct location locations[LOCATIONS_SIZE];
    unsigned locations_found;
    const char *notes[NOTES_MAX];
    unsigned notes_count;
    /* The number of calls of report_unseen, and the first pair. */
    struct {
        unsigned count;
        struct origin earlier, later;
    } unseen;
    /* How many allocations report_left was given, their bytes, and the first. */
    struct {
        unsigned count;
        size_t bytes;
        struct origin allocated_by;
    } left;
} report;

unsigned report_count(void) { return report.count; }

bool report_is_of_call(uint32_t number)
{
    NEEDS_LOCK();
    return number && report.newest_call == number;
}

bool report_covers(const struct origin *origin)
{
    NEEDS_LOCK();
    for (unsigned i = 0; i < report.count && i < REPORTS_MAX; i++) {
        const struct reported *r = &report.reported[i];
        /* Only the newest access of a stream is reported. */
        if ((r->at_earlier.slot == origin->slot && r->at_earlier.seq >= origin->seq
             && !strcmp(r->earlier_call, origin->call))
            || (r->at_later.slot == origin->slot && r->at_later.seq == origin->seq))
            return true;
    }
    return false;
}

static void append_arguments(const char *format, va_list arguments)
{
    int n = vsnprintf(report.text + report.length, sizeof report.text - report.length, format,
                      arguments);
    if (n > 0)
        report.length += (size_t)n;
    if (report.length > sizeof report.text - 2)
        report.length = sizeof report.text - 2;
}

static void append(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void append(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_arguments(format, arguments);
    va_end(arguments);
}

static struct phrase phrase(const char *format, ...) __attribute__((format(printf, 1, 2)));
static struct phrase stream_in_code(const struct origin *origin);
static struct phrase call_in_words(const struct origin *origin);
static struct phrase phrase(const char *format, ...)
{
    struct phrase p;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p.text, sizeof p.text, format, arguments);
    va_end(arguments);
    return p;
}

/* ---- source locations ---- */

/* Returns whether the location of `known` is also right for this site. */
static bool is_at(void *known, bool depends_on_callers, void *site)
{
    return known == site || (!depends_on_callers && os_call_sites_same_address(known, site));
}

static struct location *known_location(const struct call_place *place)
{
    for (unsigned i = 0; i < report.locations_found && i < LOCATIONS_SIZE; i++) {
        const struct os_source_loc *loc = &report.locations[i].source;
        if (loc->call == place->call && is_at(loc->site, loc->depends_on_callers, place->site))
            return &report.locations[i];
    }
    return NULL;
}

/* Looks up the places that are not known yet, together, because each lookup takes long. */
static void find_locations(const struct call_place *places, size_t n)
{
    struct os_source_loc *missing[OS_SOURCE_LOC_MAX];
    size_t missing_count = 0;
    for (size_t i = 0; i < n; i++) {
        if (known_location(&places[i]))
            continue;
        struct location *added = &report.locations[report.locations_found++ % LOCATIONS_SIZE];
        *added = (struct location){
            .source = {.site = places[i].site, .call = places[i].call, .depends_on_callers = true}};
        missing[missing_count++] = &added->source;
    }
    os_source_lines(missing, missing_count);
}

static struct location *location_of(const struct call_place *place)
{
    if (!known_location(place))
        find_locations(place, 1);
    return known_location(place);
}

static struct call_place place_of(const struct origin *origin)
{
    return (struct call_place){origin->call, origin->site};
}

static struct call_place launch_place_of(const struct origin *origin)
{
    return (struct call_place){"cudaGraphLaunch", origin->launch_site};
}

/* The text is valid for the report (see the invariants of `report`). */
static const char *text_of(struct call_place place)
{
    const struct location *l = location_of(&place);
    report.lacks_lines |= place.site && !l->source.file[0];
    return l->source.text;
}

static const char *source_line(const struct origin *origin) { return text_of(place_of(origin)); }
static const char *launch_line(const struct origin *origin)
{
    return text_of(launch_place_of(origin));
}

/* ---- names of streams in the program ---- */

/* Returns how the source of a call names its stream; empty: that is not sure. */
static const char *variable_at(struct call_place place)
{
    char source[1024];
    struct location *l = location_of(&place);
    /* A parameter of the function that was called from there may be any stream. */
    if (!l->was_read && !l->source.is_called_from
        && os_source_read(&l->source, source, sizeof source))
        stream_variable_find(source, place.call, l->variable, sizeof l->variable);
    l->was_read = true;
    return l->variable;
}

static const char *variable_in_source(const struct origin *origin)
{
    if (origin->stream <= 0)
        return "";
    return variable_at(origin->launch ? launch_place_of(origin) : place_of(origin));
}

/* Returns how the call that created the stream names it, or "" if that is not sure. */
static const char *variable_when_created(const struct origin *origin)
{
    const struct stream *s = origin->stream > 0 ? stream_of_slot(origin->slot) : NULL;
    if (!s || s->id != origin->stream || !s->made_by)
        return "";
    return variable_at((struct call_place){s->made_by, s->made_at});
}

/* Returns whether the report may call the stream by this variable. Two streams never have one name:
 * a function's parameter may be many streams. */
static bool take_name(const char *variable, int stream)
{
    for (unsigned i = 0; i < report.named_count; i++)
        if (!strcmp(report.named[i].variable, variable))
            return report.named[i].stream == stream;
    if (!*variable || report.named_count == sizeof report.named / sizeof *report.named)
        return false;
    struct named *added = &report.named[report.named_count++];
    snprintf(added->variable, sizeof added->variable, "%s", variable);
    added->stream = stream;
    return true;
}

/* Returns how the present report names the stream; empty: by its number alone. */
static const char *variable_of(const struct origin *origin)
{
    const char *variable = variable_in_source(origin);
    if (*variable && take_name(variable, origin->stream))
        return variable;
    variable = report.were_created_alike ? "" : variable_when_created(origin);
    return *variable && take_name(variable, origin->stream) ? variable : "";
}

/* A variable that names two streams is the name of neither. */
static void name_streams(const struct origin *earlier, const struct origin *later)
{
    const char *first = variable_in_source(earlier), *second = variable_in_source(later);
    report.named_count = 0;
    report.were_created_alike =
        earlier->stream != later->stream
        && !strcmp(variable_when_created(earlier), variable_when_created(later));
    if (*first && earlier->stream != later->stream && !strcmp(first, second))
        take_name(first, 0);
}

/* ---- parts of a report ---- */

static bool was_seen_at(const struct seen_site *seen, const struct origin *origin)
{
    return is_at(seen->site, seen->depends_on_callers, origin->site);
}

static struct reported *find_seen(enum hazard kind, const struct origin *earlier,
                                  const struct origin *later)
{
    for (unsigned i = 0; i < report.seen_count; i++)
        if (report.seen[i].kind == kind && was_seen_at(&report.seen[i].earlier, earlier)
            && was_seen_at(&report.seen[i].later, later))
            return report.seen[i].as;
    return NULL;
}

static struct seen_site seen_site_of(const struct origin *origin)
{
    const struct call_place place = place_of(origin);
    return (struct seen_site){origin->site, location_of(&place)->source.depends_on_callers};
}

static void add_seen(enum hazard kind, const struct origin *earlier, const struct origin *later,
                     struct reported *as)
{
    if (report.seen_count == SEEN_MAX)
        return;
    report.seen[report.seen_count].kind = kind;
    report.seen[report.seen_count].earlier = seen_site_of(earlier);
    report.seen[report.seen_count].later = seen_site_of(later);
    report.seen[report.seen_count++].as = as;
}

/* Returns an earlier hazard with these source lines. One line may be compiled to several calls. */
static struct reported *find_reported(const struct reported *wanted)
{
    for (unsigned i = 0; i < report.count; i++) {
        struct reported *r = &report.reported[i];
        if (r->kind == wanted->kind && !strcmp(r->earlier_call, wanted->earlier_call)
            && !strcmp(r->later_call, wanted->later_call) && !strcmp(r->earlier, wanted->earlier)
            && !strcmp(r->later, wanted->later))
            return r;
    }
    return NULL;
}

/* Returns whether the two are work of one stream, to which the branches of its graphs belong. */
static bool is_in_one_stream(const struct origin *a, const struct origin *b)
{
    return a->slot == b->slot
        || (a->stream >= 0 && a->stream == b->stream && a->device == b->device);
}

/* Counts a hazard that was found again, for other work of the same calls. */
static void count_again(struct reported *r, const struct origin *earlier,
                        const struct origin *later)
{
    r->repeats++;
    r->at_earlier = (struct epoch){earlier->slot, earlier->seq};
    r->at_later = (struct epoch){later->slot, later->seq};
    if (r->lacks_wait)
        r->in_other_streams |=
            !is_in_one_stream(earlier, &r->first) || !is_in_one_stream(later, &r->second);
}

bool report_begin(enum hazard kind, const struct origin *earlier, const struct origin *later)
{
    NEEDS_LOCK();
    report.newest_call = later->number;
    struct reported *same = find_seen(kind, earlier, later);
    if (same) {
        count_again(same, earlier, later);
        return false;
    }
    if (report.count >= REPORTS_MAX) {
        if (report.count++ == REPORTS_MAX)
            hazards_diag("more than %d hazards: the others are only counted.", REPORTS_MAX);
        return false;
    }
    const struct call_place places[] = {place_of(earlier), place_of(later),
                                        launch_place_of(earlier), launch_place_of(later)};
    find_locations(places, earlier->launch || later->launch ? 4 : 2);
    struct reported wanted = {.kind = kind,
                              .earlier_call = earlier->call,
                              .later_call = later->call,
                              .at_earlier = {earlier->slot, earlier->seq},
                              .at_later = {later->slot, later->seq}};
    snprintf(wanted.earlier, sizeof wanted.earlier, "%s", source_line(earlier));
    snprintf(wanted.later, sizeof wanted.later, "%s", source_line(later));
    same = find_reported(&wanted);
    if (same) {
        count_again(same, earlier, later);
        add_seen(kind, earlier, later, same);
        return false;
    }
    report.reported[report.count] = wanted;
    add_seen(kind, earlier, later, &report.reported[report.count++]);
    report.kind = kind;
    report.later = *later;
    report.earlier = *earlier;
    if (earlier == later)
        report.earlier.number = 0;
    report.unordered = false;
    report.length = 0;
    report.lacks_lines = false;
    report.has_two_devices =
        earlier->stream != -2 && later->stream != -2 && earlier->device != later->device;
    name_streams(earlier, later);
    append("hazard: %s. ", hazard_name(kind));
    /* Documented: CUDA Runtime API, "API synchronization behavior"; measured: probe-uploads.txt.
     * Few know it, and without it the report reads like a mistake of the checker. */
    if (earlier->returns_early && earlier != later)
        append("%s may return before its bytes have arrived: it waits until a pageable source has "
               "been staged, and for a copy from device to device not at all. ",
               earlier->call);
    return true;
}

void report_unseen(const struct origin *earlier, const struct origin *later)
{
    NEEDS_LOCK();
    if (report.unseen.count++)
        return;
    report.unseen.earlier = *earlier;
    report.unseen.later = *later;
}

void report_left(size_t bytes, const struct origin *allocated_by)
{
    NEEDS_LOCK();
    report.left.bytes += bytes;
    if (!report.left.count++)
        report.left.allocated_by = *allocated_by;
}

static void print_left(void)
{
    const struct origin *first = &report.left.allocated_by;
    bool one = report.left.count == 1;
    diag("note: %u allocation%s (%zu bytes) had not been freed when the program ended%s %s at %s. "
         "The system takes the memory back. SIM_CHECK=leaks reports a leak as a hazard.",
         report.left.count, one ? "" : "s", report.left.bytes,
         one ? ":" : "; the first was made by", first->call, source_line(first));
}

/* Says for the summary which wait covers this report and later ones: those whose calls are in the
 * same two streams, if each first call was made before each second one. */
static void note_one_wait(unsigned at)
{
    const struct reported *r = &report.reported[at];
    const struct origin *first = &r->first, *second = &r->second;
    unsigned count = 0;
    for (unsigned i = 0; i < report.count && i < REPORTS_MAX; i++) {
        const struct reported *other = &report.reported[i];
        if (!r->lacks_wait || !other->lacks_wait || r->in_other_streams || other->in_other_streams
            || !is_in_one_stream(&other->first, &r->first)
            || !is_in_one_stream(&other->second, &r->second))
            continue;
        if (i < at)
            return;
        count++;
        first = other->first.number > first->number ? &other->first : first;
        second = other->second.number < second->number ? &other->second : second;
    }
    size_t used = strlen(summary.one_wait);
    if (count < 2 || first->number >= second->number || used > sizeof summary.one_wait / 2)
        return;
    name_streams(first, second);
    struct phrase how_many = phrase(count == report.count ? "all %u" : "%u of them", count);
    snprintf(summary.one_wait + used, sizeof summary.one_wait - used,
             "; one wait covers %s: cudaEventRecord(event, %s) after %s, then "
             "cudaStreamWaitEvent(%s, event, 0) before %s",
             count == 2 && report.count == 2 ? "both" : how_many.text, stream_in_code(first).text,
             call_in_words(first).text, stream_in_code(second).text, call_in_words(second).text);
}

/* Prints a sentence about the first pair of report_unseen. */
static void print_unseen(void)
{
    const struct origin *earlier = &report.unseen.earlier, *later = &report.unseen.later;
    struct phrase first = phrase("%s at %s", earlier->call, source_line(earlier));
    struct phrase second = phrase("%s at %s", later->call, source_line(later));
    diag("%s (%s) comes after %s (%s) only because a host function had begun meanwhile%s. Nothing "
         "shows that the host looked at what the function did. If it did not, a wait is missing "
         "there; SIM_SCHEDULE=late may report it.",
         second.text, report_stream(later).text, first.text, report_stream(earlier).text,
         report.unseen.count > 1 ? ", and so do others" : "");
}

void report_at_end(void)
{
    NEEDS_LOCK();
    for (unsigned i = 0; i < report.count && i < REPORTS_MAX; i++)
        note_one_wait(i);
    if (report.unseen.count)
        print_unseen();
    if (report.left.count)
        print_left();
    bool is_explained = false;
    for (unsigned i = 0; i < report.count && i < REPORTS_MAX; i++) {
        const struct reported *r = &report.reported[i];
        struct phrase place = phrase("%s at %s", r->later_call, r->later);
        if (r->repeats)
            hazards_diag("found %u more time%s: %s, %s.%s%s", r->repeats,
                         r->repeats == 1 ? "" : "s", hazard_name(r->kind), place.text,
                         r->in_other_streams ? " Other streams were in it, too." : "",
                         r->in_other_streams && !is_explained
                             ? " An event keeps only its last record, so each pair of streams "
                               "needs a record, and then at once its wait."
                             : "");
        is_explained |= r->repeats && r->in_other_streams;
    }
}

void report_text(const char *format, ...)
{
    NEEDS_LOCK();
    va_list arguments;
    va_start(arguments, format);
    append_arguments(format, arguments);
    va_end(arguments);
}

/* Each device has its own default streams. Those of device 0 are named without it if the report is
 * about one device. */
static struct phrase stream_name(const struct origin *origin)
{
    bool is_default = origin->stream == 0 || origin->stream == -1;
    struct phrase name = phrase("stream %d", origin->stream);
    if (origin->stream == -2)
        return phrase("the host");
    if (is_default)
        name = phrase("the %s stream", origin->stream ? "per-thread" : "legacy");
    if (report.has_two_devices || (is_default && origin->device))
        return phrase("%.100s of device %d", name.text, origin->device);
    return name;
}

struct phrase report_stream(const struct origin *origin)
{
    NEEDS_LOCK();
    if (!origin->launch)
        return stream_name(origin);
    return phrase("graph launch %u in %s", origin->launch, stream_name(origin).text);
}

struct phrase report_bytes(size_t from, size_t to)
{
    NEEDS_LOCK();
    return to - from == 1 ? phrase("byte %zu", from) : phrase("bytes %zu to %zu", from, to - 1);
}

/* Adds the program's variable to a stream's name. */
static struct phrase with_variable(struct phrase stream, const struct origin *origin)
{
    const char *variable = variable_of(origin);
    return *variable ? phrase("%.200s (%s)", stream.text, variable) : stream;
}

void report_origin(const char *what, const struct origin *origin)
{
    NEEDS_LOCK();
    append("\n  %-10s %s, %s, at %s", what, origin->call,
           with_variable(report_stream(origin), origin).text, source_line(origin));
    if (origin->launch)
        append(", launched at %s", launch_line(origin));
}

void report_allocation(uint32_t id, size_t bytes, const struct origin *allocated_by)
{
    NEEDS_LOCK();
    if (allocated_by->site)
        report_origin("allocated", allocated_by);
    else
        append("\n  %-10s %s, of device code", "allocated", allocated_by->call);
    append(" (allocation %u, %zu byte%s)", id, bytes, bytes == 1 ? "" : "s");
}

void report_advice(const char *advice)
{
    NEEDS_LOCK();
    append("\n  To do:     %s", advice);
}

/* A note that names nothing of its report is printed with the first such report alone. */
static bool is_new_note(const char *text)
{
    for (unsigned i = 0; i < report.notes_count; i++)
        if (!strcmp(report.notes[i], text))
            return false;
    if (report.notes_count < NOTES_MAX)
        report.notes[report.notes_count++] = text;
    return true;
}

void report_note(const char *format, ...)
{
    NEEDS_LOCK();
    if (!strchr(format, '%') && !is_new_note(format))
        return;
    va_list arguments;
    va_start(arguments, format);
    append("\n  Note:      ");
    append_arguments(format, arguments);
    va_end(arguments);
}

void report_end(uint32_t id)
{
    NEEDS_LOCK();
    if (report.lacks_lines)
        report_note("compile with -g to see the lines.");
    report.text[report.length] = '\0';
    driver_words(report.text, sizeof report.text);
    report.has_two_devices = false;
    hazards_print(report.text);
    if (observer.hazard)
        observer.hazard(&(struct observed_hazard){hazard_name(report.kind), id, &report.earlier,
                                                  &report.later, report.unordered});
}

/* ---- the missing edge ---- */

/* Returns how the program writes the stream, as far as known. */
static struct phrase stream_in_code(const struct origin *origin)
{
    const char *variable = variable_of(origin);
    if (origin->stream == 0)
        return phrase("cudaStreamLegacy");
    if (origin->stream == -1)
        return phrase("cudaStreamPerThread");
    return *variable ? phrase("%s", variable) : stream_name(origin);
}

/* Returns the program's call that caused it, and its place. */
static struct phrase call_in_words(const struct origin *origin)
{
    if (origin->launch)
        return phrase("the cudaGraphLaunch that runs %s (%s)", origin->call, launch_line(origin));
    return phrase("%s (%s)", origin->call, source_line(origin));
}

/* A default stream's handle means another stream in another thread or on another device. */
static struct phrase wait_context(const struct origin *origin)
{
    if (origin->stream > 0)
        return phrase("%s", "");
    if (origin->stream == -1 && !stream_is_of_this_thread(stream_of_slot(origin->slot)))
        return phrase(
            ", in the thread of the first: cudaStreamPerThread is another stream in each thread");
    if (origin->device == device_current())
        return phrase("%s", "");
    return phrase(", while device %d is current (cudaSetDevice)", origin->device);
}

/* For a report about two devices, says which one must be current where a default stream is named.
 * `end` is the comma that follows. */
static struct phrase with_device(const struct origin *origin, const char *end)
{
    if (!report.has_two_devices || origin->stream > 0)
        return phrase("%s", "");
    return phrase(", with device %d current%s", origin->device, end);
}

/* Documented (CUDA Runtime API): an event belongs to the device that was current when it was made,
 * and is recorded only in that device's streams; a stream of any device may wait for it. */
static void note_two_devices(const struct origin *earlier, const struct origin *later)
{
    if (!report.has_two_devices)
        return;
    report_note("create the event while device %d is current (cudaSetDevice), because an event can "
                "only be\n             recorded in streams of its own device.",
                earlier->device);
    if (earlier->stream == later->stream && earlier->stream <= 0)
        report_note("%s is another stream while another device is current. If one stream is meant, "
                    "make device %d\n             current for %s, too.",
                    stream_in_code(earlier).text, earlier->device, call_in_words(later).text);
}

/* Moves an end of the wait to `used` if the wait would not cover that: the earlier end to a later
 * call, or the later end to an earlier one. What the host touches has no number, and is made
 * now. */
static void take_end(struct origin *end, const struct origin *first, const struct origin *second,
                     const struct origin *used)
{
    uint32_t before = second->number ? second->number : UINT32_MAX;
    if (is_in_one_stream(end, used) && used->number > first->number && used->number < before)
        *end = *used;
}

/* Moves one end of a missing wait: to the last call of its stream before `second` that uses the
 * allocation, or to the first one after `first`. Those are calls that were reported, and launches
 * that have not run but were given a pointer to it. */
static void move_end(struct shadow_ref ref, struct origin *end, const struct origin *first,
                     const struct origin *second)
{
    const uint64_t base = (uintptr_t)ref.address;
    for (const struct late_launch *l = late_launches; l; l = l->next)
        if (late_is_given(l->parameters, l->parameter_bytes, base, base + ref.bytes - 1))
            take_end(end, first, second, &l->origin);
    for (unsigned i = 0; i < report.count; i++)
        if (ref.id && report.reported[i].id == ref.id)
            take_end(end, first, second,
                     end == first ? &report.reported[i].first : &report.reported[i].second);
}

/* Says why the wait is not right at a call of the report, if it is not. */
static void say_moved(const struct origin *from, const struct origin *to, const char *side,
                      const char *fault)
{
    struct phrase here = call_in_words(from), there = call_in_words(to);
    if (strcmp(here.text, there.text))
        append("\n             Right %s %s would be too %s: %s may use the memory, too.", side,
               here.text, fault, there.text);
}

/* Returns the call before which a wait is missing, and its place. In a loop its line may be above
 * that of the first call, and then the wait belongs before the next iteration's call. */
static struct phrase next_in_words(const struct origin *first, const struct origin *second)
{
    const struct call_place places[] = {place_of(first), place_of(second)};
    const struct os_source_loc *from = &location_of(&places[0])->source,
                               *to = &location_of(&places[1])->source;
    bool is_above = to->file[0] && !strcmp(to->file, from->file) && to->line <= from->line
                 && !to->is_called_from && !from->is_called_from && !first->launch
                 && !second->launch;
    if (second->slot == HOST_SLOT && !second->number)
        return phrase("the host%s touches the memory (%s)", is_above ? " next" : "",
                      source_line(second));
    return phrase("%s%.370s", is_above ? "the next " : "", call_in_words(second).text);
}

static void missing_host_wait(const struct origin *first, const struct origin *second)
{
    append("\n  To do:     cudaStreamSynchronize(%s) after %s and before %s%s.",
           stream_in_code(first).text, call_in_words(first).text, next_in_words(first, second).text,
           wait_context(first).text);
}

static void missing_graph_edge(const struct origin *earlier, const struct origin *later)
{
    const struct phrase first = phrase("%s (%s)", earlier->call, source_line(earlier)),
                        second = phrase("%s (%s)", later->call, source_line(later));
    const bool is_nested = earlier->is_nested || later->is_nested;
    append("\n  Missing:   no path of edges leads from one node of the graph to the other.\n  "
           "To do:     ");
    if (earlier->is_captured && later->is_captured && !is_nested)
        append("while capturing, record an event after %s, or after the last call of its\n"
               "             stream that uses the allocation, and make the stream of %s\n"
               "             wait for it before that call.",
               first.text, second.text);
    else
        append(
            "let the node of %s depend on that of %s: name that\n"
            "             node in the call that adds it, or call cudaGraphAddDependencies before "
            "cudaGraphInstantiate.%s",
            second.text, first.text,
            is_nested
                ? "\n             Instead of a node in a child graph or a body, take the node "
                  "that contains it,\n             unless that contains both."
                : "");
}

/* Says what is wrong with a wait in the program. */
static void describe_wait(const struct faulty_wait *wait)
{
    static const char *const words[] = {
        [EVENT_WAIT_NOT_RECORDED] =
            "The event had not been recorded, or that failed: the wait waits for nothing",
        [EVENT_WAIT_BEFORE_RECORD] = "The wait came before the record: it waits for nothing",
        [EVENT_WAIT_RECORD_TOO_EARLY] = "The event was recorded too early",
        [EVENT_WAIT_BEFORE_NEW_RECORD] =
            "The wait came before the newest record: it waits for an older one",
        [EVENT_WAIT_RECORDED_AGAIN] = "The event was recorded again, in "};
    if (wait->fault == EVENT_WAIT_UNKNOWN)
        return;
    append("\n             %s", words[wait->fault]);
    if (wait->fault == EVENT_WAIT_RECORDED_AGAIN)
        append("%s, before the wait: it waits for that record alone",
               with_variable(stream_name(&wait->recorded_by), &wait->recorded_by).text);
    append(" (cudaStreamWaitEvent at %s).",
           text_of((struct call_place){"cudaStreamWaitEvent", wait->site}));
}

/* Says why `s`, the later stream, does not wait for the earlier call. */
static void describe_gap(const struct origin *earlier, const struct origin *later,
                         const struct stream *s)
{
    struct phrase first = with_variable(stream_name(earlier), earlier),
                  second = with_variable(stream_name(later), later);
    struct faulty_wait wait = event_waits_find(earlier, later);
    uint64_t event_epoch = vc_epoch(&s->ordering.device_order, earlier->slot);
    uint64_t host_epoch = vc_epoch(&host_acquired.clock, earlier->slot);
    bool waits_for_part = event_epoch > host_epoch && event_epoch < earlier->seq;
    /* Elsewhere the wait may serve another purpose. */
    if (wait.fault == EVENT_WAIT_RECORD_TOO_EARLY && !waits_for_part)
        wait.fault = EVENT_WAIT_UNKNOWN;
    if (earlier->stream == -1 && later->stream == -1 && earlier->device == later->device)
        append("\n  Missing:   nothing orders the two: cudaStreamPerThread is another stream in "
               "each thread.");
    else if (waits_for_part)
        append("\n  Missing:   %s waits for %s, but only for what comes before %s.%s", second.text,
               first.text, call_in_words(earlier).text,
               wait.fault != EVENT_WAIT_UNKNOWN
                   ? ""
                   : "\n             The event was recorded too early, or the wait came before the "
                     "newest record.");
    else if (host_epoch && !earlier->returns_early)
        append("\n  Missing:   nothing makes %s wait for %s. A wait or a query of the host covers "
               "earlier work of %s, but not that call.",
               second.text, earlier->call, first.text);
    else
        append("\n  Missing:   nothing makes %s wait for %s.", second.text, first.text);
    describe_wait(&wait);
}

static void missing_stream_wait(const struct origin *first, const struct origin *second)
{
    append("\n  To do:     cudaEventRecord(event, %s)%s after %s, then\n             "
           "cudaStreamWaitEvent(%s, event, 0)%s before %s.",
           stream_in_code(first).text, with_device(first, ",").text, call_in_words(first).text,
           stream_in_code(second).text, with_device(second, ",").text,
           next_in_words(first, second).text);
}

static void note_legacy(const struct origin *earlier, const struct origin *later,
                        const struct stream *s)
{
    if ((earlier->stream == 0 || later->stream == 0)
        && (s->kind == STREAM_NON_BLOCKING
            || stream_of_slot(earlier->slot)->kind == STREAM_NON_BLOCKING))
        report_note("the legacy stream and a stream made with cudaStreamNonBlocking do not wait "
                    "for each other.");
}

/* `s` NULL: the host is to wait. */
static void missing_wait(struct shadow_ref ref, const struct origin *earlier,
                         const struct origin *later, const struct stream *s)
{
    struct reported *r = &report.reported[report.count - 1];
    struct origin first = *earlier, second = *later;
    move_end(ref, &first, &first, &second);
    move_end(ref, &second, &first, &second);
    r->id = ref.id;
    r->first = first;
    r->second = second;
    r->lacks_wait =
        s && earlier->stream > 0 && later->stream > 0 && !earlier->launch && !later->launch;
    if (s)
        describe_gap(earlier, later, s);
    else
        append("\n  Missing:   the host has not waited for %s.", earlier->call);
    if (s)
        missing_stream_wait(&first, &second);
    else
        missing_host_wait(&first, &second);
    say_moved(earlier, &first, "after", "early");
    say_moved(later, &second, "before", "late");
    if (!s)
        return;
    note_two_devices(earlier, later);
    note_legacy(earlier, later, s);
}

/* ---- SIM_EXPLAIN=1 ---- */

/* Names a slot of a vector clock. A stream without a number of its own is named by its slot. */
static struct phrase slot_name(uint32_t slot)
{
    const struct stream *s = stream_of_slot(slot);
    if (!s)
        return phrase("slot %u, of another process,", slot);
    if (s->kind == STREAM_BRANCH)
        return phrase("slot %u, a branch of a graph,", slot);
    if (s->kind == STREAM_PER_THREAD)
        return phrase("slot %u, a per-thread stream,", slot);
    struct origin origin = {.stream = s->kind == STREAM_LEGACY ? 0 : s->id,
                            .device = (int16_t)s->device};
    return stream_name(&origin);
}

/* Prints the epoch of the earlier access and the vector clock of the later one: the entry for the
 * same slot, and then the other nonzero entries. A postponed conflict is judged by the host's
 * clock, while the stream's may have grown. */
static void explain(const struct origin *earlier, const struct origin *later,
                    const struct stream *s)
{
    const struct vector_clock *vc = &host_acquired.clock;
    if (s && vc_includes(&s->ordering.happens_before, earlier->slot, earlier->seq))
        s = NULL;
    if (s)
        vc = &s->ordering.happens_before;
    append("\n  Epoch:     %s is operation %llu of %s.", earlier->call,
           (unsigned long long)earlier->seq, slot_name(earlier->slot).text);
    append("\n  Acquired:  before %s, %s has acquired %s up to %llu", later->call,
           s ? slot_name(s->slot).text : "the host", slot_name(earlier->slot).text,
           (unsigned long long)vc_epoch(vc, earlier->slot));
    unsigned others = 0;
    for (uint32_t slot = vc_next(vc, 0); slot != CLOCK_END; slot = vc_next(vc, slot + 1))
        if (slot != earlier->slot && ++others < SLOTS_SHOWN)
            append(", %s up to %llu", slot_name(slot).text, (unsigned long long)vc_epoch(vc, slot));
    if (others >= SLOTS_SHOWN)
        append(", and %u more", others - SLOTS_SHOWN + 1);
    append(".");
}

static void missing_kernel_wait(const struct origin *earlier, const struct origin *later)
{
    append("\n  Missing:   %s may begin before %s has ended "
           "(cudaLaunchAttributeProgrammaticStreamSerialization), and does not wait for it."
           "\n  To do:     cudaGridDependencySynchronize() in %s before it touches the memory.",
           later->call, earlier->call, later->call);
}

/* The copies of a batch are in no order, and some may read before their turn. */
static void missing_batch_order(const struct origin *earlier, const struct origin *later)
{
    append(earlier->number == later->number
               ? "\n  Missing:   nothing orders the copies of one batch."
                 "\n  To do:     put the copies that use the same bytes into two batches."
               : "\n  Missing:   a copy of the batch may read its source before earlier work of "
                 "its stream has ended.\n  To do:     set the copy's srcAccessOrder to "
                 "cudaMemcpySrcAccessOrderStream.");
}

void report_missing_edge(struct shadow_ref ref, const struct origin *earlier,
                         const struct origin *later, const struct stream *s)
{
    NEEDS_LOCK();
    report.unordered = true;
    if (s && earlier->launch && earlier->launch == later->launch)
        missing_graph_edge(earlier, later);
    else if (s && earlier->slot == later->slot)
        missing_kernel_wait(earlier, later);
    else if (s && earlier->stream == later->stream && strstr(later->call, "Batch"))
        missing_batch_order(earlier, later);
    else
        missing_wait(ref, earlier, later, s);
    if (settings.explain)
        explain(earlier, later, s);
}

/* ---- late uses ---- */

void report_late_use(const struct origin *freed_by, const struct origin *used_by)
{
    NEEDS_LOCK();
    bool one_launch = freed_by->launch && freed_by->launch == used_by->launch;
    if (one_launch)
        append("\n  To do:     call %s (%s) after the last use, which is %s (%s) or comes later",
               freed_by->call, source_line(freed_by), used_by->call, source_line(used_by));
    else
        append("\n  To do:     call %s after the last use, which is %s or comes later",
               call_in_words(freed_by).text, call_in_words(used_by).text);
    if (freed_by->slot == HOST_SLOT)
        append(", when the host has waited for %s.",
               with_variable(report_stream(used_by), used_by).text);
    else if (freed_by->slot == used_by->slot)
        append(".");
    else
        append(", and make %s wait for it first:\n             cudaEventRecord(event, %s)%s, then "
               "cudaStreamWaitEvent(%s, event, 0)%s.",
               with_variable(report_stream(freed_by), freed_by).text, stream_in_code(used_by).text,
               with_device(used_by, "").text, stream_in_code(freed_by).text,
               with_device(freed_by, "").text);
}
