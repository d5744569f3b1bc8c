/* The journal (SIM_JOURNAL=FILE): JSON Lines. A line with "call" is a call of the program, written
 * when it returns; a line with "did" is something that the device or the allocator did. All times
 * are virtual, so a run under one pace writes the same bytes each time. */
#ifndef SIM_BASE_JOURNAL_H
#define SIM_BASE_JOURNAL_H

#include "base/types.h"

extern bool journal_on;

/* Opens the file that settings.journal names; ends the process with a sentence when it cannot. */
void journal_open(void);
void journal_close(void);

/* A call: begin, any number of fields, end with the name of the result. Nothing is written for a
 * call that journal_drop forgets. */
void journal_call(const char *name);
void journal_call_end(const char *result);
void journal_drop(void);
/* Something that happened: begin, fields, end. May stand between a call's begin and end. */
void journal_did(const char *what);
void journal_did_end(time_ns when);

/* While quiet, fields for the call's line are dropped: what a launched graph does is no field of
 * cudaGraphLaunch. */
void journal_quiet(bool quiet);

/* Fields of the line that was begun last. The key is a string literal: it becomes ,"key": when this
 * is compiled, and is followed by zeroes, so that it can be copied sixteen bytes at a time. A text
 * is a name or a word of ours: it holds nothing that JSON would have to escape. */
#define JOURNAL_KEY(key)           ",\"" key "\":\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", sizeof ",\"" key "\":" - 1
#define journal_number(key, value) journal_put_number(JOURNAL_KEY(key), value)
#define journal_signed(key, value) journal_put_signed(JOURNAL_KEY(key), value)
#define journal_text(key, value)   journal_put_text(JOURNAL_KEY(key), value)
void journal_put_number(const char *key, size_t length, uint64_t value);
void journal_put_signed(const char *key, size_t length, int64_t value);
void journal_put_text(const char *key, size_t length, const char *value);

#endif
