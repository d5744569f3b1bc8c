/* What a run of the program has shown, in three lines. */
#include "base/summary.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"

struct summary summary;

struct sentence {
    char text[4096];
    size_t length;
};

static void add(struct sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct sentence *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(s->text + s->length, sizeof s->text - s->length, format, arguments);
    va_end(arguments);
    s->length += n > 0 ? (size_t)n : 0;
    if (s->length >= sizeof s->text)
        s->length = sizeof s->text - 1;
}

/* Adds a number and what it counts, such as ", 3 kernels", unless the number is 0. */
static void add_count(struct sentence *s, unsigned long long count, const char *one,
                      const char *several)
{
    if (count)
        add(s, "%s%llu %s", s->length ? ", " : "", count, count == 1 ? one : several);
}

static void print_checked(const char *schedule)
{
    struct sentence s = {.length = 0};
    add_count(&s, summary.calls - summary.failed, "call", "calls");
    add_count(&s, summary.kernels, "kernel", "kernels");
    add_count(&s, summary.copies, "copy or memset", "copies and memsets");
    add_count(&s, summary.host_functions, "host function", "host functions");
    add_count(&s, summary.allocations, "allocation", "allocations");
    add_count(&s, summary.streams, "stream", "streams");
    if (settings.check)
        diag("checked: %s, in the schedule %s.", s.text, schedule);
    else
        diag("checked: nothing, because of SIM_CHECK=off. There were: %s.", s.text);
}

static void print_reported(unsigned reports, size_t left)
{
    struct sentence s = {.length = 0};
    add_count(&s, reports, "hazard", "hazards");
    if (!reports)
        add(&s, "no hazard");
    add(&s, "%s", summary.one_wait);
    if (left)
        add(&s, "; %zu allocation%s not freed at the end", left, left == 1 ? " was" : "s were");
    diag("reported: %s.", s.text);
}

static void print_unchecked(void)
{
    struct sentence s = {.length = 0};
    add_count(&s, summary.given_up, "launch of a kernel that did not run to its end",
              "launches of kernels that did not run to their end");
    add_count(&s, summary.unmodeled, "call of a function that is not simulated",
              "calls of functions that are not simulated");
    if (summary.unmodeled)
        add(&s, " (%s%s)", summary.first_unmodeled, summary.unmodeled > 1 ? ", ..." : "");
    add_count(&s, summary.dropped, "kernel, copy, or memset that a fault kept from running",
              "kernels, copies, and memsets that a fault kept from running");
    add_count(&s, summary.failed, "call that failed", "calls that failed");
    if (summary.failed) {
        struct os_source_loc place = {.site = summary.first_failed_site,
                                      .call = summary.first_failed},
                             *places[] = {&place};
        os_source_lines(places, 1);
        add(&s, " (%s at %s: %s%s)", summary.first_failed, place.text, summary.first_error,
            summary.failed > 1 ? ", ..." : "");
    }
    add_count(&s, summary.shared,
              "allocation's order by messages between processes (interprocess events and waits "
              "of the host alone are seen)",
              "allocations' order by messages between processes (interprocess events and waits of "
              "the host alone are seen)");
    if (!settings.strict)
        add(&s, "%swaits that only a copy of ordinary memory makes (SIM_CHECK=strict)",
            s.length ? ", " : "");
    add(&s,
        "%sother schedules (%s), the order of one block's threads in device "
        "memory, the host's own accesses to ordinary memory.",
        s.length ? ", " : "",
        settings.schedule == SCHEDULE_MEASURED ? "SIM_SCHEDULE=late or random:1"
                                               : "SIM_SCHEDULE=measured or random:1");
    diag("not checked: %s", s.text);
}

void summary_print(unsigned reports, size_t left)
{
    NEEDS_LOCK();
    static const char *const schedules[] = {"measured", "instant", "late", "random:"};
    char schedule[32];
    if (!settings.summary)
        return;
    int length = snprintf(schedule, sizeof schedule, "%s", schedules[settings.schedule]);
    if (settings.schedule == SCHEDULE_RANDOM)
        snprintf(schedule + length, sizeof schedule - (size_t)length, "%llu",
                 (unsigned long long)settings.seed);
    fflush(stdout); /* so that the program's lines come first, also in a pipe */
    print_checked(schedule);
    print_reported(reports, left);
    print_unchecked();
}
