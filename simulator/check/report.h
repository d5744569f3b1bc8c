/* The text of an accusation, made for a student: what happened, which two calls and where they
 * stand, which edge is missing, what to add. */
#ifndef SIM_CHECK_REPORT_H
#define SIM_CHECK_REPORT_H

#include "sched/stream.h"
#include "check/shadow.h"

/* Starts a report about two deeds. False, and nothing more is to be said, when the same pair of
 * places has been reported under this name, or when there have been too many reports. */
bool report_begin(const char *kind, const struct origin *earlier, const struct origin *later);
void report_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_allocation(uint32_t id, size_t bytes, const struct origin *allocated_by);
void report_origin(const char *what, const struct origin *origin);
/* What is missing between `earlier` and `later`; `s`: the stream of `later`, NULL for the host. */
void report_missing_edge(const struct origin *earlier, const struct origin *later,
                         const struct stream *s);
/* What to do about a use that comes after the free. */
void report_late_use(const struct origin *freed_by, const struct origin *used_by);
void report_advice(const char *text);
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_end(uint32_t id);

/* "stream 2", "the legacy stream", "the host", "graph launch 1 in stream 2". In a buffer that a few
 * calls share. */
const char *report_stream(const struct origin *origin);

/* All reports so far. */
unsigned report_count(void);

#endif
