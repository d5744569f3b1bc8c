/* Arrays of bits. The caller knows how many there are. */
#ifndef SIM_BASE_BITS_H
#define SIM_BASE_BITS_H

#include "base/types.h"

static inline bool bit_get(const uint64_t *bits, size_t i) { return bits[i / 64] >> i % 64 & 1; }
static inline void bit_set(uint64_t *bits, size_t i) { bits[i / 64] |= (uint64_t)1 << i % 64; }
static inline void bit_clear(uint64_t *bits, size_t i) { bits[i / 64] &= ~((uint64_t)1 << i % 64); }

#endif
