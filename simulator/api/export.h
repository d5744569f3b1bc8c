/* For the files of the API's skin: the toolkit's own header, so that a wrong signature does not
 * compile, and its functions visible. */
#ifndef SIM_API_EXPORT_H
#define SIM_API_EXPORT_H

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

#endif
