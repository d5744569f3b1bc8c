/* What the host may touch now. A load or store makes no call, so the checker would not see it; but
 * where the device has the same bytes at a second address, the host's view of a page can be
 * protected while a touch of it would be incorrect:
 *
 * - no touch before the host has waited for the allocation, or for work that writes there, and none
 *   after its free;
 * - no store before the host has waited for work that reads there.
 *
 * That is memory which host and device share (host and managed pools, cudaMallocManaged), and
 * pinned memory (cudaMallocHost, cudaHostAlloc); registered and ordinary memory has no second
 * address. The first touch of a protected page is reported, and the page is opened. Where it cannot
 * see, the guard decides for the program (assumed):
 *
 * - A page is protected when it lies whole in what the work uses. Of a range without a whole page
 *   (4 KiB) nothing is seen, but for the last bytes of an allocation whose pages are its own: of
 *   cudaMallocManaged, cudaMallocHost and cudaHostAlloc.
 * - What is used by work or a free that cannot begin before the host does something (a closed gate,
 *   a host function that has not returned) may be touched up to the next call; an allocation or a
 *   free behind such a function protects nothing.
 * - What the operating system does for the program (read, write) is not seen: at a protected page
 *   it answers EFAULT.
 * - In pinned memory only copies and memsets protect pages: a program may poll what a kernel writes
 *   there.
 * - Each protected range may cost the process two mappings, of which Linux allows a limited number
 *   (vm.max_map_count). When three quarters of them are in use, no more ranges are protected, and a
 *   sentence says once that some touches are not reported.
 *
 * All of these need the lock. */
#ifndef SIM_CHECK_PAGE_GUARD_H
#define SIM_CHECK_PAGE_GUARD_H

#include "check/shadow.h"

struct stream;

/* The mapping that an address lies in, of memory that the host sees at its own addresses (host and
 * managed pools, cudaMallocManaged). */
struct host_view {
    const void *heap;
    char *base;
    size_t segment_size;
    /* No two allocations have a page in common. */
    bool own_pages;
};
/* What page guards require of mem/. */
struct host_memory {
    /* Returns false when the address is in no such memory. */
    bool (*find)(const void *address, struct host_view *view);
    /* Returns whether every byte of [address, address + bytes) has physical memory. */
    bool (*is_mapped)(const struct host_view *view, const char *address, size_t bytes);
};
/* Set by the memory layer when there is some. While it is NULL the first three functions have
 * nothing to do, and need not be called. */
extern const struct host_memory *page_guard_memory;

/* Each is called for what the checker is called for, of bytes [from, to); an allocation in other
 * memory is none of the guard's business. */
void page_guard_allocated(struct shadow_ref ref);
void page_guard_used(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                     bool write);
void page_guard_freed(struct shadow_ref ref, struct origin origin, const struct stream *s);
/* The same for pinned memory, and a copy or a memset. */
void page_guard_copied(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                       bool write);

/* These addresses are nobody's any more. */
void page_guard_forget(const char *address, size_t bytes);

/* The host touched an address that it may not, in an instruction at `site`; NULL: in a call of
 * ours, which is not reported. Returns whether it may now go on. */
bool page_guard_touched(const void *address, void *site);

/* Something was touched that is protected again from the next call on. */
extern bool page_guard_paused;
/* Protects it again. */
void page_guard_resume(void);

#endif
