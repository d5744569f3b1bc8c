/* Durations in nanoseconds. Source: simulator/tests/facts/probe-times.txt, medians of an H200 with
 * driver 580.159.04, printed by probe-times.c next to it. "Fitted" durations were chosen so that
 * sums of calls match the table in simulator/tests/facts/one-gpu.txt. */
#ifndef SIM_SCHED_COST_H
#define SIM_SCHED_COST_H

#include "base/types.h"

/* The cost of calls to the host. */
enum {
    /* Attributes, cudaGetDevice, cudaGetLastError: 33-93. */
    COST_SMALL = 50,
    /* For one allocation and one free together: 617-769. */
    COST_ALLOC_ASYNC = 370,
    COST_FREE_ASYNC = 390,
    COST_POOL_CREATE = 18977,
    COST_POOL_DESTROY = 4781,
    COST_MALLOC = 18108,
    COST_FREE = 15990,
    /* Fitted: 262 us for 1 MiB, 21.5 ms for 64 MiB. */
    COST_MALLOC_HOST = 8000,
    /* Fitted: 99 us for 1 MiB, 5.5 ms for 64 MiB. */
    COST_FREE_HOST = 10000,
    COST_STREAM_CREATE = 1773,
    COST_STREAM_DESTROY = 1221,
    COST_EVENT_CREATE = 207,
    COST_EVENT_DESTROY = 148,
    COST_EVENT_RECORD = 220,
    COST_WAIT_EVENT = 212,
    COST_SYNCHRONIZE = 332,
    /* Added if the stream ends with an allocation or a free: 14.1-14.4 us a pair (one-gpu.txt). */
    COST_SYNC_FREE = 13000,
    COST_QUERY = 187,
    COST_LAUNCH = 3363,
    COST_MEMSET = 778,
    COST_COPY = 1283,
    COST_COPY_ON_DEVICE = 3811,
    COST_COPY_BLOCKING = 5259,
    COST_HOST_FUNCTION = 1336,
    COST_MEM_INFO = 4530,
    /* The costs of graphs are assumed. */
    COST_GRAPH_INSTANTIATE = 10000,
    COST_GRAPH_LAUNCH = 4000,
};

/* The cost of adding segments to a pool: a fixed part, and one for each segment. 52.6 us for one
 * segment, 285 us for ten. */
#define COST_GROW         27000u
#define COST_GROW_SEGMENT 26000u
/* The cost of releasing a segment by cudaMemPoolTrimTo: 42.6 us for one, 483 us for ten. */
#define COST_RELEASE_SEGMENT 48000u
/* The cost of releasing a segment at a synchronization (fitted): 139 us a pair for one segment,
 * 269 us for two, 3549 us for 32. */
#define COST_SYNC_RELEASE 80000u
/* The costs of adding a granule of 2 MiB by cudaMalloc and of releasing it by cudaFree (fitted: 82
 * us a pair for 1 KiB, 250 us for 64 MiB). */
#define COST_GRANULE     23000u
#define COST_GRANULE_MIB 1000u

/* The time from a launch until it begins on an idle device (launch and synchronize take 8.8 us,
 * minus the host's 3.4 and the kernel). */
#define LATENCY 3000u
/* From the end of the work to the return of a synchronization that waited for it (fitted). */
#define LATENCY_WAKE_UP 2000u

/* Work: a fixed part, then nanoseconds for each GiB. */
#define DURATION_FILL       1600u
#define DURATION_FILL_GIB   286000u
#define DURATION_ADD_GIB    737000u
#define DURATION_MEMSET     770u
#define DURATION_MEMSET_GIB 233000u
/* Device to device: 258 us for 512 MiB. */
#define DURATION_D2D     1820u
#define DURATION_D2D_GIB 513000u
/* Host to device, pinned: 4.85 ms for 256 MiB; 2.2 us for 4 B, 7.3 for 4 KiB, 28 for 1 MiB (fitted;
 * the size up to which a copy is small is assumed). */
#define DURATION_H2D_SMALL 2200u
#define H2D_SMALL_MAX      1024u
#define DURATION_H2D       9000u
#define DURATION_H2D_GIB   19370000u
/* Pageable: 0.91 ms for 8 MiB, 8.75 ms for 64 MiB (lesson 18), 6.6 GB/s for 1 GiB. The first
 * PAGEABLE_FAST MiB are faster, as many as make the sums match (fitted). */
#define DURATION_H2D_PAGEABLE_GIB      143000000u
#define DURATION_H2D_PAGEABLE_FAST_GIB 115000000u
#define PAGEABLE_FAST                  8u
/* Device to host, pinned: 4.86 ms for 256 MiB; pageable: 11.8 GB/s. */
#define DURATION_D2H              7100u
#define DURATION_D2H_GIB          19420000u
#define DURATION_D2H_PAGEABLE_GIB 91000000u
/* Between the host and managed memory on the device (probe-engines.txt): 334 us for 16 MiB. */
#define DURATION_MANAGED_GIB 20600000u
/* Between devices (probe-peer-engines.txt): 184 us for 64 MiB; through the host, if neither reaches
 * the other's memory, 1790 us. */
#define DURATION_PEER       6000u
#define DURATION_PEER_GIB   2800000u
#define DURATION_STAGED     9000u
#define DURATION_STAGED_GIB 28400000u
/* Two records: 1.3 us. */
#define DURATION_EVENT         650u
#define DURATION_HOST_FUNCTION 46500u
/* How much later than possible a host function may begin if no call waits for it (assumed): the
 * time of sixty launches, or a thousand queries. */
#define FUNCTION_LATENESS 200000u

#endif
