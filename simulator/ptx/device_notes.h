/* Each thread's accesses to device memory: finds unordered ones of threads of one block and, in a
 * cooperative launch, of all threads, because its blocks run at the same time. (For other launches,
 * ptx/between_blocks.c compares whole blocks.) Because noting takes many times as long as running,
 * it is done only for cooperative launches and for the first block of others, while it takes little
 * of a program's time. Needs the lock.
 *
 * Two accesses of one block are ordered as in shared memory (ptx/shared_notes.h). Two accesses of
 * different blocks are ordered if
 * - after the earlier access, its block came to a barrier of the grid (this_grid().sync()) to which
 *   the other block came before the later access; or
 * - after the earlier access, its block released, and then the other block acquired.
 * So that no correct kernel is reported, bytes are in no race once a volatile access or an atomic
 * operation with a used result has touched them. A read and an atomic operation do not race, nor do
 * accesses that would not in shared memory. */
#ifndef SIM_PTX_DEVICE_NOTES_H
#define SIM_PTX_DEVICE_NOTES_H

#include "ptx/warp.h"

/* Begin notes, with the launch's first block, and end them. */
void device_notes_begin(struct launch *launch);
void device_notes_end(struct launch *launch);

/* Called if the launch has notes: the threads are about to touch `bytes` bytes of the window at one
 * address each; or they release, acquire, or synchronize. */
void device_note(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                 const uint64_t *at, size_t bytes, enum access_kind kind);
void device_release(const struct warp *w);
void device_acquire(const struct warp *w, uint32_t lanes);
void device_sync_warp(const struct warp *w, uint32_t lanes);
void device_sync_block(const struct block *b);
/* Between blocks: the block has released or acquired; its thread comes to the grid's barrier. */
void device_sync_blocks(const struct block *b, bool releases, bool acquires);
void device_meet_grid(const struct block *b);

#endif
