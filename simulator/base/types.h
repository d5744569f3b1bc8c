/* Units and constants that all rooms share. */
#ifndef SIM_BASE_TYPES_H
#define SIM_BASE_TYPES_H

#include "os/units.h"

/* For functions that are compiled into each caller, which then knows their constants. */
#define INLINE inline __attribute__((always_inline))

/* Virtual time since the program's first call, in nanoseconds. */
typedef uint64_t time_ns;
/* The time of an end that is not known yet, for example of a hold or a host function. */
#define TIME_UNKNOWN UINT64_MAX

/* Allocations start at a multiple of this (measured: one-gpu.txt, "growth and used rounding"). */
#define ALIGNMENT ((size_t)512)

/* The device number of host memory. */
#define NO_DEVICE (-1)
/* Assumed: no machine shows more devices to one process. */
#define MAX_DEVICES 16

static inline time_ns time_max(time_ns a, time_ns b) { return a > b ? a : b; }

#endif
