/* The checker for the host's own loads and stores: of pinned memory that a pending copy or memset still reads or writes.
 *
 * While such work is queued and the host does not know it to be over, the pages that it covers are guarded: the program's access to them faults, is told, and goes
 * on. The device has the same bytes at a second address. Where it cannot see, it takes the program's part (chosen):
 * - A page is guarded when the work covers all of the buffer's bytes in it, so a neighbour in the same page is never accused, and a piece of a page is not seen.
 * - Work that cannot begin before the host does something (a closed gate, a host function that has not returned) may be touched up to the next call.
 * - Kernels guard nothing: a program may poll what one writes.
 * - Only cudaMallocHost and cudaHostAlloc: registered and ordinary memory has no second address. Pools and managed memory: guard.h. */
#ifndef SIM_CHECKER_HOST_H
#define SIM_CHECKER_HOST_H

#include "checker.h"

/* Work `number` of stream `s` reads or writes bytes [from, to) of pinned memory. */
void checker_host_pending(struct watched b, const struct stream *s, uint64_t number, size_t from, size_t to, bool write);
/* The pinned memory at this address is about to go. */
void checker_host_forget(const void *base);
/* The program touched this address at `site` (NULL: in a call of ours, which is not accused), and faulted. True when that was a guard: it is told, and the guard is gone. */
bool checker_host_touched(const void *address, void *site);

/* Something was touched that is guarded again from the next call on. */
extern bool checker_host_paused;
void checker_host_renew(void);

#endif
