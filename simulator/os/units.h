/* Units of memory, and the size of a page. */
#ifndef SIM_OS_UNITS_H
#define SIM_OS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)

/* A page of the host: the smallest range that can be protected, a power of two. 4 KiB on x86-64; 16
 * or 64 KiB on some arm64 systems. It is asked of the system when the library is loaded. */
extern size_t os_page_bytes;
#define PAGE os_page_bytes
/* What the host's cache reads at once (assumed: of most processors). */
#define CACHE_LINE ((size_t)64)

/* The next multiple of `unit` from n on. */
static inline size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
/* The beginning of the page that byte n is in; the next beginning from n on. */
static inline size_t page_down(size_t n) { return n & ~(PAGE - 1); }
static inline size_t page_up(size_t n) { return page_down(n + PAGE - 1); }

#endif
