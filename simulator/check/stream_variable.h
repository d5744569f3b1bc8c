/* Finds the name of a stream in the program's source. */
#ifndef SIM_CHECK_STREAM_VARIABLE_H
#define SIM_CHECK_STREAM_VARIABLE_H

#include "base/types.h"

/* `source` begins at the line of a call, and `call` is its name. Writes the argument that is the
 * stream. Returns false, with an empty name, if that is uncertain: the call is not there exactly
 * once and complete, or the argument is not a variable or an element of an array. */
bool stream_variable_find(const char *source, const char *call, char *name, size_t size);

#endif
