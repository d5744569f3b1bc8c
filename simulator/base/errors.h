/* The names and short texts of errors. No lock is needed. */
#ifndef SIM_BASE_ERRORS_H
#define SIM_BASE_ERRORS_H

#include <driver_types.h>

/* Return what cudaGetErrorName and cudaGetErrorString return. */
const char *error_name(cudaError_t e);
const char *error_string(cudaError_t e);

#endif
