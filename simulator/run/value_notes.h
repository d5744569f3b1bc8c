/* What copies, memsets, and kernels change, when they run, in the notes of which bytes have a value
 * (check/written.h). All of these need the lock. */
#ifndef SIM_RUN_VALUE_NOTES_H
#define SIM_RUN_VALUE_NOTES_H

#include "run/commands.h"

void values_written(const struct op *op, const void *address, size_t bytes);
/* The op computes with these bytes, but it may not need all of them. If none of them has a value,
 * that is reported; with `each`, also if a single int has none. */
void values_used(const struct op *op, const void *address, size_t bytes, bool each);
/* The op has copied these rows, from `from` or, if that is NULL, from the host. If a copy to the
 * host has no byte with a value, that is reported (with SIM_CHECK=strict: if an int has none). */
void values_copied(const struct op *op, const void *to, const void *from, const struct rows *r);

#endif
