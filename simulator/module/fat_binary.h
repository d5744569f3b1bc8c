/* The containers in which nvcc puts device code into a program. Needs the lock. */
#ifndef SIM_MODULE_FAT_BINARY_H
#define SIM_MODULE_FAT_BINARY_H

#include <driver_types.h>
#include <stddef.h>

/* Finds the PTX of a binary, whose `wrapper` is the argument of __cudaRegisterFatBinary. Calls
 * `found` with the PTX of each source file, a text that the callee owns (os_free). Returns NULL, or
 * why there is none, as the end of a sentence. */
const char *fat_binary_read(const void *wrapper, void (*found)(void *context, char *text),
                            void *context);

/* Does the same for what a program loads: PTX as text, or a fat binary with or without its wrapper.
 * A linker's result (fat_binary_link) has several texts. */
const char *fat_binary_read_image(const void *image, void (*found)(void *context, char *text),
                                  void *context);
/* Returns the error of an image that fat_binary_read_image refuses: cudaErrorNoKernelImageForDevice
 * if a GPU could run it. */
cudaError_t fat_binary_error(const void *image);
/* Returns an image of several texts, in one piece of `*bytes` bytes, which the caller owns. */
void *fat_binary_link(char *const *texts, size_t count, size_t *bytes);

#endif
