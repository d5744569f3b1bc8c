/* Reports for programs of the driver API name its functions. Needs no lock. */
#ifndef SIM_CHECK_DRIVER_WORDS_H
#define SIM_CHECK_DRIVER_WORDS_H

#include <stddef.h>

/* If the calls that the report is about are the driver API's, replaces the runtime's names in its
 * advice and its notes by the driver's. `text` has room for `size` bytes. */
void driver_words(char *text, size_t size);

#endif
