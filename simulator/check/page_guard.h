/* What the host may touch now. The checker does not see loads and stores. But where the device has
 * a second address for the same bytes, the host's view of a page can be protected while a touch
 * would be incorrect:
 *
 * - no touch before the host has waited for the allocation or for work that writes there, and none
 *   after the free;
 * - no store before the host has waited for work that reads there.
 *
 * This covers memory that host and device share (host and managed pools, cudaMallocManaged,
 * __managed__ variables) and pinned memory (cudaMallocHost, cudaHostAlloc), but not ordinary
 * memory. Registered memory has no second address, so it is closed only for copies and memsets, and
 * opened while work of the device runs that uses it. The first touch of a protected page is
 * reported, and the page is opened. Where the guard cannot see, it decides for the program
 * (assumed):
 *
 * - Only pages that lie wholly in what the work uses are protected. In a range without a whole page
 *   (4 KiB) nothing is seen, except for the last bytes of an allocation that shares no page with
 *   others (cudaMallocManaged, cudaMallocHost, cudaHostAlloc).
 * - What is used by work or a free that can begin only after the host does something (opens a gate,
 *   ends a host function) may be touched until the next call. An allocation or free after such a
 *   function protects nothing.
 * - Accesses by the operating system for the program (read, write) are not seen. At a protected
 *   page they fail with EFAULT.
 * - A kernel protects pages only if nothing in it may signal the host (kernel_signals), because a
 *   program may poll what a kernel writes. Nor does it protect a flag in pinned memory, for the
 *   same reason (LEAST_DATA).
 * - Each protected range may cost the process two mappings, of which Linux allows a limited number
 *   (vm.max_map_count). When three quarters of them are in use, no more ranges are protected, and a
 *   sentence says once that some touches are not reported.
 *
 * All of these need the lock. */
#ifndef SIM_CHECK_PAGE_GUARD_H
#define SIM_CHECK_PAGE_GUARD_H

#include "check/shadow.h"

struct stream;

/* The mapping that contains an address, of memory that the host sees at its own addresses (host and
 * managed pools, cudaMallocManaged). */
struct host_view {
    const void *heap;
    char *base;
    size_t segment_size;
    /* No two allocations share a page. */
    bool own_pages;
};
/* The functions of mem/ that page guards need. */
struct host_memory {
    /* Finds the mapping. Returns false if the address is in no such memory. */
    bool (*find)(const void *address, struct host_view *view);
    /* Returns whether every byte of [address, address + bytes) has physical memory. */
    bool (*is_mapped)(const struct host_view *view, const char *address, size_t bytes);
};
/* Set by mem/ when there is such memory. While it is NULL, the first three functions do nothing and
 * need not be called. */
extern const struct host_memory *page_guard_memory;

/* Called with bytes [from, to) whenever the checker is told the same. Allocations in other memory
 * are ignored. */
void page_guard_allocated(struct shadow_ref ref);
void page_guard_used(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                     bool write);
void page_guard_freed(struct shadow_ref ref, struct origin origin, const struct stream *s);
/* Called for a copy that uses memory that the host sees: pinned memory, or what page_guard_used
 * covers. */
void page_guard_copied(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                       bool write);

/* Open pages of registered memory for work that runs now, and close them after it. */
void page_guard_open(const char *address, size_t bytes);
void page_guard_close(const char *address, size_t bytes);

/* Called when these addresses no longer belong to anything. */
void page_guard_forget(const char *address, size_t bytes);

/* Called when an instruction at `site` touched a protected address. `site` is NULL in one of our
 * own calls, which is not reported. Returns whether the instruction may continue. */
bool page_guard_touched(const void *address, void *site);

/* Whether a touched range is open until the next call. */
extern bool page_guard_paused;
/* Protects these ranges again. */
void page_guard_resume(void);

#endif
