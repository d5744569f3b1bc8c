/* Breaks something on which the simulated device relies: inside_broken NAME. Linked with its own
 * parts. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>

#include "../cases.h"

#include "base/handle.h"
#include "check/checker.h"
#include "graph/graph_memory.h"
#include "ipc/ipc_pool.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "os/os.h"
#include "os/process.h"
#include "run/commands.h"
#include "sched/stream.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define CLOSE(from, bytes) __asan_poison_memory_region(from, bytes)
#else
#define CLOSE(from, bytes) (void)0
#endif

/* ---- a law of its memory: with SIM_CHECK_LAWS=1 the next call ends the process ---- */

static struct pool *pool;

static void break_law(void (*break_it)(void))
{
    const size_t bytes = (size_t)40 << 20;
    void *p, *q, *plain;
    if (cudaMallocAsync(&p, bytes, NULL) || cudaMallocAsync(&q, bytes, NULL)
        || cudaMalloc(&plain, bytes))
        os_exit(2);
    lock_acquire();
    pool = pool_default(0);
    break_it();
    lock_release();
    cudaGetLastError();
    puts("returned");
    os_exit(0);
}

#define LAW(title, breaks)                                      \
    static void break_##title(void) { breaks; }                 \
    static void law_##title(void) { break_law(break_##title); } \
    LIST_CASE(title, law_##title)

LAW(segments, pool->heap.mapped_count++)
LAW(watermark, pool->used_high = pool->used - 1)
LAW(capped, pool->policy.max_segments = 1)
LAW(ranges, pool->heap.first->next->previous = NULL)
LAW(plain_heap, memory_heap(0)->mapped_count--)
LAW(account, device_take(0, 1))
LAW(nothing, (void)0)

/* ---- a room's function is called without the lock or, with a second argument, with it: in a
 * sanitizer build that ends the process (simulator/os/needs_lock.h) ---- */

static int with_lock;

static void call_unlocked(void (*call)(void))
{
    if (cudaFree(0)) /* the first call of the process reads the settings */
        os_exit(2);
    if (with_lock)
        lock_acquire();
    call();
    if (with_lock)
        lock_release();
    puts("returned");
}

#define ROOM(title, call)                                           \
    static void call_##title(void) { call; }                        \
    static void room_##title(void) { call_unlocked(call_##title); } \
    LIST_CASE(title, room_##title)

ROOM(os, os_process())
ROOM(base, handle_state(HANDLE_POOL, NULL))
ROOM(sched, stream_first())
ROOM(check, checker_newest_allocation())
ROOM(mem, pool_first())
ROOM(run, command_blocking_copy_wait(NULL, NULL))
ROOM(graph, graph_segments_figures(0))
ROOM(ipc, ipc_pool_count_open())

/* ---- a frame pointer may be any number: here it points to memory that the address sanitizer has
 * closed ---- */

CASE(frame)
{
    /* What looks like a frame: the caller's frame and the return address. */
    static _Alignas(16) void *frames[64];
    frames[0] = &frames[32];
    frames[1] = (void *)(uintptr_t)0x1000;
    CLOSE(&frames[32], 16 * sizeof *frames);
    lock_acquire();
    void *site = os_call_site((void *)(uintptr_t)0x2000, frames);
    lock_release();
    puts(site ? "a site" : "none");
}

int main(int argc, char **argv)
{
    with_lock = argc > 2;
    return run_case(argc, argv);
}
