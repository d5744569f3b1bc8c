/* One call of the program, passed down through the layers as `struct call *`: who made it, its line
 * of the journal. A node of a launched graph has one of its own. */
#ifndef SIM_BASE_ORIGIN_H
#define SIM_BASE_ORIGIN_H

#include "base/journal.h"
#include "base/types.h"

/* The slot of what the host does itself, which no vector clock has. */
#define HOST_SLOT UINT32_MAX

/* Who did something: a call of the program, where it stands, and its epoch in a stream. */
struct origin {
    const char *call;
    /* The return address in the program. */
    void *site;
    /* The stream's number in the journal; 0: legacy, -1: per-thread, -2: none. */
    int stream;
    uint32_t slot;
    uint64_t seq;
    /* The stream's device. */
    int16_t device;
    /* A blocking copy, which may return before its bytes have arrived (measured:
     * probe-uploads.txt). */
    bool returns_early;
    /* The number of the graph launch that did it, and where that launch stands; 0: no launch. */
    uint32_t launch;
    void *launch_site;
    /* A node's: the newest allocation that its pointers can be meant for. */
    uint32_t newest_allocation;
    /* The call's number in the journal; a node's: its launch's. 0: no call has done it. */
    uint32_t number;
};

struct call {
    /* Name, site and launch; the rest is filled in where a stream is known. */
    struct origin origin;
    /* What stream 0 means: the calling thread's own default stream, not the legacy one. */
    bool per_thread;
    /* Its error is not remembered for cudaGetLastError. */
    bool forgets_error;
    /* What the host had acquired when it began (host_acquired.version). */
    uint64_t acquired;
    /* What the layers below return for the journal beside the error; 0: nothing. */
    struct {
        /* The graph that a capture adds to, and the node in it. */
        int graph;
        uint32_t node;
        /* The launch of a graph. */
        uint32_t launch;
    } made;
    /* Closed when there is no journal, and in a node's call. */
    struct journal_line line;
};

#endif
