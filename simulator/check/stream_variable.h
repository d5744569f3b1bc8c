/* How the program's source names a stream. */
#ifndef SIM_CHECK_STREAM_VARIABLE_H
#define SIM_CHECK_STREAM_VARIABLE_H

#include "base/types.h"

/* `source` is the source from the line of a call on, and `call` the call's name. Writes the
 * argument that is the call's stream. Returns false, with an empty name, where that is not sure:
 * the call is not there once and as a whole, or the argument is no variable and no element of an
 * array. */
bool stream_variable_find(const char *source, const char *call, char *name, size_t size);

#endif
