/* The condition of a conditional node: a number that kernels set by its handle. */
#ifndef SIM_RUN_CONDITION_H
#define SIM_RUN_CONDITION_H

#include "base/handle.h"

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
};

#endif
