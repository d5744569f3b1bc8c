/* Which live chunk starts where in a range of addresses, and which start comes last before an offset. */
#ifndef SIM_STARTS_H
#define SIM_STARTS_H

#include "types.h"

struct chunk;
struct start;
struct step_starts;

struct starts {
    size_t         step;               /* bytes for which there is one map */
    size_t         steps;
    struct step_starts **maps;         /* a map for each step in which something started */
    struct start  *table;              /* 1 << bits places */
    unsigned       bits;
    size_t         count;
};

/* Offsets are multiples of GRAIN below step * steps. */
void starts_open(struct starts *s, size_t step, size_t steps);
void starts_close(struct starts *s);
void starts_put(struct starts *s, size_t offset, struct chunk *c);
void starts_remove(struct starts *s, size_t offset);
/* What starts exactly there; NULL: nothing. */
struct chunk *starts_at(const struct starts *s, size_t offset);
/* What starts there, or last before; NULL: nothing. The offset may be any. */
struct chunk *starts_before(const struct starts *s, size_t offset);

#endif
