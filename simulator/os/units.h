/* Units of memory, and the size of a page. */
#ifndef SIM_OS_UNITS_H
#define SIM_OS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)

/* A page of the host: the smallest range that can be protected. */
#define PAGE ((size_t)4096)
/* What the host's cache reads at once (assumed: of most processors). */
#define CACHE_LINE ((size_t)64)

/* The next multiple of `unit` from n on. */
static inline size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

#endif
