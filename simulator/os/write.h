/* Writes to a descriptor, for os/ alone. */
#ifndef SIM_OS_WRITE_H
#define SIM_OS_WRITE_H

#include "os/units.h"

/* Writes the whole text. Returns false if the descriptor takes no more; errno says why. At the file
 * size limit (ulimit -f) this fails with EFBIG instead of a signal. */
bool write_all(int descriptor, const char *text, size_t length);

#endif
