/* What the models of random programs share: sets of hazards, and sets of nodes of a model's
 * graph, with the set of all nodes that happen before each. Included after NODES is defined, a
 * multiple of 64. */
#ifndef MODEL_H
#define MODEL_H

#include "base/hazard_kinds.h"

#include <stdbool.h>
#include <stdint.h>

/* By name, as in base/hazards.def: a report begins with it. */
static const char *const hazard_names[] = {
#define HAZARD(id, name, advice) [HAZARD_##id] = name,
#include "base/hazards.def"
};
enum { HAZARDS = sizeof hazard_names / sizeof *hazard_names };

/* A set of hazards. */
typedef uint64_t hazard_set;
#define ONLY(id) ((hazard_set)1 << HAZARD_##id)

/* What it is that two accesses to the same bytes are not ordered, of which one writes. */
static hazard_set conflict(bool first_writes, bool second_writes)
{
    return !second_writes ? ONLY(READ_NOT_ORDERED_AFTER_A_WRITE)
         : first_writes   ? ONLY(UNORDERED_WRITES)
                          : ONLY(WRITE_NOT_ORDERED_AFTER_A_READ);
}

struct set {
    uint64_t bits[NODES / 64];
};

static struct set befores[NODES];

static bool has(const struct set *s, int n) { return s->bits[n / 64] >> n % 64 & 1; }
static void put(struct set *s, int n) { s->bits[n / 64] |= (uint64_t)1 << n % 64; }

static void unite(struct set *into, const struct set *s)
{
    for (int i = 0; i < NODES / 64; i++)
        into->bits[i] |= s->bits[i];
}

/* Adds a node and all that happen before it; -1: none. */
static void with_node(struct set *s, int n)
{
    if (n < 0 || has(s, n))
        return;
    unite(s, &befores[n]);
    put(s, n);
}

#endif
