/* Which bytes of an allocation have a value: new memory has none until the host, a copy, a
 * memset, or a kernel has written it. A copy of bytes without a value produces bytes without a
 * value. Memory that the host or another process writes unseen counts as written.
 *
 * What is noted for a shadow belongs to it until written_end. All of these need the lock. */
#ifndef SIM_CHECK_WRITTEN_H
#define SIM_CHECK_WRITTEN_H

#include "check/shadow.h"

/* Bytes are noted in pieces of WRITTEN_PIECE bytes, with a bit for each byte. A piece that is
 * written as a whole, or not at all, has one of two shared maps. */
#define WRITTEN_PIECE ((size_t)64 * KiB)

/* Notes that nothing of the new allocation is written. */
void written_begin(struct shadow *s);
/* Makes the whole allocation count as written, and frees what was noted. */
void written_end(struct shadow *s);
/* Returns whether the whole allocation is written. */
static inline bool written_is_all(const struct shadow *s) { return !s->written; }
/* Gives bytes [from, to) of an allocation of `bytes` bytes a value, or takes it from them. */
void written_set(struct shadow *s, size_t bytes, size_t from, size_t to, bool value);
/* Gives a value to the bytes whose bits are set in words [first, last], but takes it from those
 * whose bits are set in `without` (NULL: none). */
void written_set_bits(struct shadow *s, size_t bytes, const uint64_t *bits, size_t first,
                      size_t last, const uint64_t *without);
/* Copies what is noted of bytes, from one allocation to another or within one. NULL is memory
 * without notes. */
void written_copy(struct shadow *to, size_t to_bytes, size_t to_offset, const struct shadow *from,
                  size_t from_offset, size_t count);
/* The first returns whether any byte of [from, to) is written; the second, whether all are. */
bool written_has_any(const struct shadow *s, size_t from, size_t to);
bool written_has_all(const struct shadow *s, size_t from, size_t to);
/* Returns the maps of the pieces, or NULL if all is written. Valid until the shadow changes. */
const uint64_t *const *written_pieces(struct shadow *s, size_t bytes);

#endif
