/* What copies, memsets, and kernels do to the notes of which bytes have a value
 * (check/written.h), when they run. All of these need the lock. */
#ifndef SIM_RUN_VALUE_NOTES_H
#define SIM_RUN_VALUE_NOTES_H

#include "run/commands.h"

/* The op has written these bytes. */
void values_written(const struct op *op, const void *address, size_t bytes);
/* The op computes with these bytes, of which it may not need all. If none has a value, that is
 * reported; if `each`, also if an int there has none. */
void values_used(const struct op *op, const void *address, size_t bytes, bool each);
/* The op has copied these rows, from `from` or, if that is NULL, from the host. If none that it
 * copies to the host has a value, that is reported (SIM_CHECK=strict: if an int has none). */
void values_copied(const struct op *op, const void *to, const void *from, const struct rows *r);

#endif
