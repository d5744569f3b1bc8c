/* The vocabulary of the simulated device: units and the few constants that every layer shares.
 * Includes nothing of ours. */
#ifndef SIM_BASE_TYPES_H
#define SIM_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Virtual time since the program's first call, nanoseconds. */
typedef uint64_t time_ns;
#define TIME_UNKNOWN UINT64_MAX /* an end that nobody can tell yet: a hold, a host function */

#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)

#define SEGMENT \
    (32 * MiB) /* physical memory of a pool comes in these (measured: H200, driver 580.159.04) */
#define ALIGNMENT ((size_t)512)  /* a block starts at a multiple of this (measured, same) */
#define PAGE      ((size_t)4096) /* of the host: what the guard can close */

#define NO_DEVICE   (-1) /* memory of the host: it is on no device */
#define MAX_DEVICES 16   /* chosen: no machine of the field has more in one process's sight */

static inline size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
static inline time_ns time_max(time_ns a, time_ns b) { return a > b ? a : b; }

#endif
