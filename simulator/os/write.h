/* Writing to a descriptor, for the files of os/. */
#ifndef SIM_OS_WRITE_H
#define SIM_OS_WRITE_H

#include "os/units.h"

/* Writes all of the text. Returns false when the descriptor takes no more; errno says why. A file
 * that has its greatest length (ulimit -f) is no signal, but EFBIG. */
bool write_all(int descriptor, const char *text, size_t length);

#endif
