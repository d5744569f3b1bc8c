/* Units of memory, and the page size. */
#ifndef SIM_OS_UNITS_H
#define SIM_OS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)

/* The host's page size, the smallest range that can be protected: a power of two, 4 KiB on x86-64,
 * 16 or 64 KiB on some arm64 systems. The system is asked when the library is loaded. */
extern size_t os_page_bytes;
#define PAGE os_page_bytes
/* The unit in which the host's cache reads (assumed for most processors). */
#define CACHE_LINE ((size_t)64)

static inline size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
/* Rounds n down or up to a page boundary. */
static inline size_t page_down(size_t n) { return n & ~(PAGE - 1); }
static inline size_t page_up(size_t n) { return page_down(n + PAGE - 1); }

#endif
