/* The text of a report, for students: what happened, the two calls and their places, the missing
 * edge, and what to add.
 *
 * All of these need the lock, except report_count, because exit may be called in the middle of a
 * call, which already has the lock. One report is written at a time: report_begin, its parts, and
 * report_end. */
#ifndef SIM_CHECK_REPORT_H
#define SIM_CHECK_REPORT_H

#include "base/hazards.h"
#include "check/shadow.h"
#include "sched/stream.h"

/* A part of a sentence, returned by value so that the caller owns it. */
struct phrase {
    char text[384];
};

/* Begins a report about two accesses. Returns false, and nothing more is to be added, if the same
 * kind of hazard was reported for the same calls on the same two lines, which is counted, or if
 * there have been too many reports. */
bool report_begin(enum hazard kind, const struct origin *earlier, const struct origin *later);
/* Adds to the first line. */
void report_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_allocation(uint32_t id, size_t bytes, const struct origin *allocated_by);
/* `what`: "written", "freed", and so on. */
void report_origin(const char *what, const struct origin *origin);
/* Says what is missing between `earlier` and `later`, and what to add, so that it covers all that
 * the two streams are known to do with the allocation (.id 0: with any) in that time; with
 * SIM_EXPLAIN=1 also the epoch and vector clock by which it was judged. `s` is the stream of
 * `later`; NULL: the host. */
void report_missing_edge(struct shadow_ref ref, const struct origin *earlier,
                         const struct origin *later, const struct stream *s);
/* Says what to do about a use after the free. */
void report_late_use(const struct origin *freed_by, const struct origin *used_by);
void report_advice(const char *text);
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes the report to standard error. `id` is the allocation for the journal, or 0. */
void report_end(uint32_t id);

/* Returns "stream 2", "the legacy stream", "the host", "graph launch 1 in stream 2". */
struct phrase report_stream(const struct origin *origin);
/* "byte 7", or for several "bytes 4 to 7": those before `to`. */
struct phrase report_bytes(size_t from, size_t to);

/* Counts a later call that comes after the earlier one only because a host function had begun,
 * while nothing shows that the host looked at what the function did. */
void report_unseen(const struct origin *earlier, const struct origin *later);

/* An allocation is alive at the end, and SIM_CHECK=leaks does not ask for a report of it. */
void report_left(size_t bytes, const struct origin *allocated_by);
/* Called at the end of the program: prints how often each hazard was found again, what only host
 * functions have ordered, and what was not freed. */
void report_at_end(void);

/* Returns whether a report is about this operation or a later one of the same call. */
bool report_covers(const struct origin *origin);
/* Returns whether the newest report, or one that it repeats, was made in this call. */
bool report_is_of_call(uint32_t number);
unsigned report_count(void);

#endif
