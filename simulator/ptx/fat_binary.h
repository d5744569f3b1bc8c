/* The containers in which nvcc puts device code into a program. Needs the lock. */
#ifndef SIM_PTX_FAT_BINARY_H
#define SIM_PTX_FAT_BINARY_H

#include <stddef.h>

/* Finds the PTX of a binary, whose `wrapper` is the argument of __cudaRegisterFatBinary. Calls
 * `found` with the PTX of each source file, a text that the callee owns (os_free). Returns NULL, or
 * why there is none, as the end of a sentence. */
const char *fat_binary_read(const void *wrapper, void (*found)(void *context, char *text),
                            void *context);

#endif
