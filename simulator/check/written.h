/* Which bytes of an allocation have a value: memory that an allocation returns has none until the
 * host, a copy, a memset, or a kernel has written it. A copy of bytes without a value carries that
 * along. Memory that others write unseen, the host or another process, counts as written.
 *
 * What a shadow has belongs to it until written_end. All of these need the lock. */
#ifndef SIM_CHECK_WRITTEN_H
#define SIM_CHECK_WRITTEN_H

#include "check/shadow.h"

/* Bytes are noted in pieces of WRITTEN_PIECE bytes, with a bit for each byte. A piece that is
 * written as a whole, or not at all, has one of two shared maps. */
#define WRITTEN_PIECE ((size_t)64 * KiB)

/* Nothing of the new allocation is written. */
void written_begin(struct shadow *s);
/* All of it counts as written, and what was noted is freed. */
void written_end(struct shadow *s);
/* Is all of it written? */
static inline bool written_is_all(const struct shadow *s) { return !s->written; }
/* Bytes [from, to) of an allocation of `bytes` bytes have got a value, or lost it. */
void written_set(struct shadow *s, size_t bytes, size_t from, size_t to, bool value);
/* The bytes whose bits are set in words [first, last] have got a value, but for those in `without`
 * (NULL: none), which have lost it. */
void written_set_bits(struct shadow *s, size_t bytes, const uint64_t *bits, size_t first,
                      size_t last, const uint64_t *without);
/* Bytes are copied from one allocation to another or within one; NULL: what has no notes. */
void written_copy(struct shadow *to, size_t to_bytes, size_t to_offset, const struct shadow *from,
                  size_t from_offset, size_t count);
/* Is any byte of [from, to) written? Are all? */
bool written_has_any(const struct shadow *s, size_t from, size_t to);
bool written_has_all(const struct shadow *s, size_t from, size_t to);
/* Returns the maps of the pieces, or NULL if all is written. Valid until the shadow changes. */
const uint64_t *const *written_pieces(struct shadow *s, size_t bytes);

#endif
