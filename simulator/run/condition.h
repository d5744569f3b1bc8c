/* The condition of a conditional node: a number that kernels set by its handle. */
#ifndef SIM_RUN_CONDITION_H
#define SIM_RUN_CONDITION_H

#include "base/handle.h"

struct condition {
    /* The conditions of a graph. */
    struct condition *next;
    void *handle;
    int device;
    /* Graphs, nodes, and executable graphs that know it. The last one that ends frees it. */
    unsigned holders;
    /* A conditional node has it. */
    bool in_node;
    /* Each launch begins with this value. */
    bool has_default;
    uint32_t default_value;
    /* The value, if this launch has one already. */
    bool has_value;
    uint32_t value;
};

#endif
