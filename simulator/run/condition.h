/* The condition of a conditional node: a number that kernels set by its handle. */
#ifndef SIM_RUN_CONDITION_H
#define SIM_RUN_CONDITION_H

#include "check/shadow.h"

struct condition {
    /* The conditions of a graph. */
    struct condition *next;
    void *handle;
    int device;
    /* The number of graphs, nodes, and executable graphs that refer to it. The last of them to end
     * frees it. */
    unsigned holders;
    /* A conditional node uses this condition. */
    bool in_node;
    /* The value at the beginning of each launch, if `has_default`. */
    bool has_default;
    uint32_t default_value;
    /* Whether this launch has a value yet, and the value. */
    bool has_value;
    uint32_t value;
    /* For the checker it is memory, which kernels write, and conditional nodes read. */
    uint32_t id;
    struct shadow shadow;
    /* The number of the last launch that has set it. */
    uint64_t set_by;
};

static inline struct shadow_ref condition_shadow(struct condition *c)
{
    return (struct shadow_ref){&c->shadow, c->id, c->handle, sizeof c->value};
}

#endif
