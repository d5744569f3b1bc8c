/* The accesses of a block's threads to its shared memory: finds unordered accesses, and reads of
 * bytes that no thread of the block has written. Needs the lock.
 *
 * Time advances at each synchronization. An access is ordered after another thread's earlier one if
 * since then
 * - all threads of the block have met at a barrier; or
 * - both are of one warp, and both took part in a synchronization of it (__syncwarp; a shuffle or a
 *   vote counts, too); or
 * - the other thread's warp has released (a fence, an atomic operation, a volatile store, a barrier
 *   for a part of the block), and this thread has acquired (a volatile load, an atomic operation
 *   whose result is used, such a barrier). Which variable they use does not matter.
 * So that no correct kernel is reported, this orders more than the documentation promises. Atomic
 * and volatile accesses do not race with each other, nor do writes that leave memory unchanged, nor
 * the writes of one instruction of a warp (documented: one of them stays). */
#ifndef SIM_PTX_SHARED_NOTES_H
#define SIM_PTX_SHARED_NOTES_H

#include "ptx/warp.h"

/* Begins a block, with notes if the launch asks for them; and ends the notes of a slot. */
void shared_begin(struct block *b);
void shared_end(struct block *b);

/* These threads of the warp have released what their warp did before, have acquired, or have
 * synchronized with each other; and all threads of the block have synchronized. */
void shared_release(struct warp *w, uint32_t lanes);
void shared_acquire(struct warp *w, uint32_t lanes);
void shared_sync_warp(struct warp *w, uint32_t lanes);
void shared_sync_block(struct block *b);

/* Is called before each access of a block that has notes. The threads read, write, or atomically
 * change `bytes` bytes at each thread's address. */
void shared_note(struct warp *w, const struct instruction *i, uint32_t lanes, const uint64_t *at,
                 size_t bytes, enum access_kind kind);
/* Does the same for rows of threads, which touch the same bytes or one after the other's. Returns
 * false if shared_note has to be called, although a part may have been noted. */
bool shared_note_rows(struct warp *w, const struct instruction *i, const struct addresses *a,
                      size_t bytes, enum access_kind kind);

/* A cp.async of thread l has requested a copy to these bytes. Until run_wait_copies, which waits
 * for all but some groups of copies or for ALL_COPIES, it races with each access. */
#define ALL_COPIES UINT32_MAX
void shared_copied(struct warp *w, const struct instruction *i, unsigned l, uint64_t at,
                   size_t bytes);
/* The mbarrier counts the copies of thread l so far; and a thread has waited for the mbarrier. */
void shared_count_copies(struct warp *w, unsigned l, uint64_t barrier);
void shared_land_copies(struct block *b, uint64_t barrier);

#endif
