/* A call of the program, passed down through the rooms as `struct call *`: its origin and its
 * journal line. Each node of a launched graph has a call of its own. */
#ifndef SIM_BASE_ORIGIN_H
#define SIM_BASE_ORIGIN_H

#include "base/journal.h"
#include "base/types.h"

/* The slot of the host's own actions. No vector clock contains it. */
#define HOST_SLOT UINT32_MAX

/* Where an action comes from: a call of the program, its source line, and its epoch. */
struct origin {
    const char *call;
    /* The site (os_call_site) of the call. */
    void *site;
    /* The stream's journal number: 0 for the legacy stream, -1 for a per-thread one, -2 for
     * none. */
    int stream;
    uint32_t slot;
    uint64_t seq;
    /* The stream's device. */
    int16_t device;
    /* A blocking copy that may return before its bytes have arrived (probe-uploads.txt,
     * measured). */
    bool returns_early : 1;
    /* In a node: a capture has made it; and it is in a child graph or in the body of a conditional
     * node. */
    bool is_captured : 1, is_nested : 1;
    /* The number and the site of the graph launch that ran this node, or 0 if it is not a node. */
    uint32_t launch;
    void *launch_site;
    /* In a node: the newest allocation that its pointers can refer to. */
    uint32_t newest_allocation;
    /* The journal's number of the call or, for a node, of its launch; 0 if there was no call. */
    uint32_t number;
};

struct call {
    /* The name, site, and launch are set. The rest is filled in when the stream is known. */
    struct origin origin;
    /* Stream 0 means the calling thread's own default stream, not the legacy stream. */
    bool per_thread;
    /* cudaGetLastError does not return the error of this call. */
    bool forgets_error;
    /* The summary counts the call if it fails. */
    bool is_counted;
    /* The program passed an event that cudaDeviceReset has ended. */
    bool has_lost_event;
    /* The call is a <<<...>>>, whose result the program does not see. */
    bool is_launch;
    /* What the host had acquired when the call began (host_acquired.version). */
    uint64_t acquired;
    /* What the rooms below return for the journal besides the error. 0 stands for nothing. */
    struct {
        /* The graph that a capture adds to, and the new node. */
        int graph;
        uint32_t node;
        /* The number of the graph launch. */
        uint32_t launch;
    } made;
    /* Closed if there is no journal, and in the call of a node. */
    struct journal_line line;
};

#endif
