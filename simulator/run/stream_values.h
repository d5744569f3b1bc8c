/* Values that streams write to memory and wait for (cuStreamWriteValue32, cuStreamWaitValue32). All
 * of these need the lock. */
#ifndef SIM_RUN_STREAM_VALUES_H
#define SIM_RUN_STREAM_VALUES_H

#include "run/commands.h"

enum value_condition { VALUE_IS_REACHED, VALUE_IS_EQUAL, VALUE_HAS_BITS, VALUE_LACKS_BITS };

/* Returns whether a stream of the device may write or wait for a value of this size there.
 * Documented: not in managed memory. Measured (probe-values.txt, "value_memory"): nor in that of a
 * pool. */
bool command_allows_value(const void *address, size_t bytes, int device);
/* The stream writes the value, after a memory barrier: what its earlier work did comes before what
 * a stream does that has waited for the value (documented: CUstreamWriteValue_flags). */
void command_write_value(const struct call *call, void *address, uint64_t value, size_t bytes,
                         struct stream *s);
/* The stream's later work waits until the condition holds. It comes after the work of the stream
 * that has written the value. Only two others that set the value give an order: a kernel with a
 * fence (assumed: it has used it), and the host, as at a gate. */
void command_wait_value(const struct call *call, const void *address, uint64_t value, size_t bytes,
                        enum value_condition condition, struct stream *s);

#endif
