/* What threads have done to device memory, each for itself: finds accesses that nothing orders
 * between threads of one block, and between all threads of a cooperative launch, whose blocks run
 * at once. (Other launches compare whole blocks: ptx/between_blocks.c.) Noting takes many times as
 * long as running. So it is done for all blocks of a cooperative launch, and for the first block of
 * another one, as long as that takes little of a program's time. Needs the lock.
 *
 * Two accesses of one block are ordered by what orders those to shared memory
 * (ptx/shared_notes.h). Two accesses of different blocks are ordered if
 * - the earlier one's block has since come to a barrier of the grid (this_grid().sync()), and the
 *   later one's had come to that one before; or
 * - the earlier one's block has since released, and the later one's has then acquired.
 * No correct kernel is to be reported. So bytes are in no race from the first volatile access to
 * them on, or the first atomic operation whose result is used; nor are a read and an atomic
 * operation, nor what is in none in shared memory. */
#ifndef SIM_PTX_DEVICE_NOTES_H
#define SIM_PTX_DEVICE_NOTES_H

#include "ptx/warp.h"

/* The launch's first block begins; nothing is noted any more. */
void device_notes_begin(struct launch *launch);
void device_notes_end(struct launch *launch);

/* If the launch is noted: the threads are about to touch `bytes` bytes of the window at one address
 * each; and what orders. */
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
