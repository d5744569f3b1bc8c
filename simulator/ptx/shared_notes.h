/* What the threads of a block have done to its shared memory: finds accesses that nothing orders,
 * and reads of what no thread of the block has written. Needs the lock.
 *
 * Time goes on at each synchronization. An access comes after another thread's earlier one if since
 * then
 * - all threads of the block have met at a barrier; or
 * - both are of one warp, and both took part in a synchronization of it (__syncwarp; a shuffle or a
 *   vote counts, too); or
 * - the other thread's warp has released (a fence, an atomic operation, a volatile store, a barrier
 *   for a part of the block), and this thread has acquired (a volatile load, an atomic operation
 *   whose result is used, such a barrier). Which variable they use does not matter.
 * So more counts as order than the documentation promises, because no correct kernel is to be
 * reported. Atomic and volatile accesses are in no race with each other, nor are writes that leave
 * memory as it is, nor the writes of one instruction of a warp (documented: one of them stays). */
#ifndef SIM_PTX_SHARED_NOTES_H
#define SIM_PTX_SHARED_NOTES_H

#include "ptx/warp.h"

/* A block begins, with notes if the launch wants them; or its slot is given up. */
void shared_begin(struct block *b);
void shared_end(struct block *b);

/* These threads of the warp have released what they and the others of their warp did; have
 * acquired; have synchronized with each other. All threads of the block have. */
void shared_release(struct warp *w, uint32_t lanes);
void shared_acquire(struct warp *w, uint32_t lanes);
void shared_sync_warp(struct warp *w, uint32_t lanes);
void shared_sync_block(struct block *b);

/* Called before each access if the block has notes. The threads read, write, or change atomically
 * `bytes` bytes at each one's address. */
void shared_note(struct warp *w, const struct instruction *i, uint32_t lanes, const uint64_t *at,
                 size_t bytes, enum access_kind kind);
/* The same for rows of threads: those of a row touch the same bytes, or one thread's are after the
 * other's. Returns false, and may have noted a part, if shared_note has to be called. */
bool shared_note_rows(struct warp *w, const struct instruction *i, const struct addresses *a,
                      size_t bytes, enum access_kind kind);

/* A cp.async of thread l has asked for a copy to these bytes; threads have closed their group of
 * copies; or have waited for all but the last `left` groups, or for ALL_COPIES. What nobody has
 * waited for is in a race with each access. */
#define ALL_COPIES UINT32_MAX
void shared_copied(struct warp *w, const struct instruction *i, unsigned l, uint64_t at,
                   size_t bytes);
void shared_close_group(struct warp *w, uint32_t lanes);
void shared_wait_copies(struct warp *w, uint32_t lanes, uint32_t left);
/* The mbarrier counts the copies of thread l so far; and a thread has waited for that mbarrier. */
void shared_count_copies(struct warp *w, unsigned l, uint64_t barrier);
void shared_land_copies(struct block *b, uint64_t barrier);

#endif
