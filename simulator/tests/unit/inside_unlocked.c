/* Calls a function of one room without the lock or, with a second argument, with it:
 * inside_unlocked ROOM. Linked with the simulated device's own parts. In a sanitizer build a call
 * without the lock ends the process (simulator/os/needs_lock.h). */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "base/handle.h"
#include "check/checker.h"
#include "graph/graph_memory.h"
#include "ipc/ipc_pool.h"
#include "mem/pool.h"
#include "os/os.h"
#include "os/process.h"
#include "run/commands.h"
#include "sched/stream.h"

static void os(void) { os_process(); }
static void base(void) { handle_state(HANDLE_POOL, NULL); }
static void sched(void) { stream_first(); }
static void check_room(void) { checker_newest_allocation(); }
static void mem(void) { pool_first(); }
static void run(void) { command_blocking_copy_wait(NULL, NULL); }
static void graph(void) { graph_memory_figures(0); }
static void ipc(void) { ipc_pool_count_open(); }

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } rooms[] = {{"os", os},   {"base", base}, {"sched", sched}, {"check", check_room},
                 {"mem", mem}, {"run", run},   {"graph", graph}, {"ipc", ipc}};
    if (cudaFree(0)) /* the first call of the process reads the settings */
        return 2;
    for (size_t i = 0; argc > 1 && i < sizeof rooms / sizeof *rooms; i++) {
        if (strcmp(argv[1], rooms[i].name))
            continue;
        if (argc > 2)
            lock_acquire();
        rooms[i].call();
        if (argc > 2)
            lock_release();
        puts("returned");
        return 0;
    }
    fprintf(stderr, "inside_unlocked: expected os, base, sched, check, mem, run, graph or ipc\n");
    return 2;
}
