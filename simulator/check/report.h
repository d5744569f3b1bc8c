/* The text of a report, made for a student: what happened, which two calls and where they stand,
 * which edge is missing, what to add.
 *
 * All of these need the lock, but for report_count: an exit in the midst of a call asks it, too,
 * and then whoever is in that call has it. One report is written at a time: report_begin, then its
 * parts, then report_end. */
#ifndef SIM_CHECK_REPORT_H
#define SIM_CHECK_REPORT_H

#include "base/hazard_kinds.h"
#include "check/shadow.h"
#include "sched/stream.h"

/* A part of a sentence, returned by value: the caller's own. */
struct phrase {
    char text[384];
};

/* Starts a report about two accesses. Returns false, and nothing more is to be said, when the same
 * calls on the same two lines have been reported under this kind, which is counted, or when there
 * have been too many reports. */
bool report_begin(enum hazard kind, const struct origin *earlier, const struct origin *later);
/* Adds to the first line. */
void report_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_allocation(uint32_t id, size_t bytes, const struct origin *allocated_by);
/* `what`: "written", "freed"... */
void report_origin(const char *what, const struct origin *origin);
/* Says what is missing between `earlier` and `later`, and what to add; with SIM_EXPLAIN=1 also the
 * epoch and the vector clock that it was judged by. `s`: the stream of `later`; NULL: the host. */
void report_missing_edge(const struct origin *earlier, const struct origin *later,
                         const struct stream *s);
/* Says what to do about a use that comes after the free. */
void report_late_use(const struct origin *freed_by, const struct origin *used_by);
void report_advice(const char *text);
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes the report on standard error; `id`: the allocation for the journal, 0 for none. */
void report_end(uint32_t id);

/* Returns "stream 2", "the legacy stream", "the host", "graph launch 1 in stream 2". */
struct phrase report_stream(const struct origin *origin);

/* The later call comes after the earlier one because a host function had begun, and nothing says
 * that the host looked at what it did. */
void report_unseen(const struct origin *earlier, const struct origin *later);

/* The program ends: prints how many more times each hazard was found, and what host functions alone
 * have ordered. */
void report_at_end(void);

/* Returns how many reports there were so far. */
unsigned report_count(void);

#endif
