/* Violates an invariant of the simulated device's memory, and makes a call: inside_laws LAW. Linked
 * with the simulated device's own parts. With SIM_CHECK_LAWS=1 the call ends the process. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mem/device.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "os/os.h"

static struct pool *pool;

static void segments(void) { pool->heap.mapped_count++; }
static void watermark(void) { pool->used_high = pool->used - 1; }
static void capped(void) { pool->policy.max_segments = 1; }
static void ranges(void) { pool->heap.first->next->previous = NULL; }
static void plain_heap(void) { memory_heap(0)->mapped_count--; }
static void account(void) { device_take(0, 1); }
static void nothing(void) {}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*break_it)(void);
    } laws[] = {{"segments", segments}, {"watermark", watermark}, {"capped", capped},
                {"ranges", ranges},     {"account", account},     {"plain_heap", plain_heap},
                {"nothing", nothing}};
    const size_t bytes = (size_t)40 << 20;
    void *p, *q, *plain;
    if (cudaMallocAsync(&p, bytes, NULL) || cudaMallocAsync(&q, bytes, NULL)
        || cudaMalloc(&plain, bytes))
        return 2;
    for (size_t i = 0; argc > 1 && i < sizeof laws / sizeof *laws; i++) {
        if (strcmp(argv[1], laws[i].name))
            continue;
        lock_acquire();
        pool = pool_default(0);
        laws[i].break_it();
        lock_release();
        cudaGetLastError();
        puts("returned");
        os_exit(0);
    }
    fprintf(stderr, "inside_laws: expected the name of a law\n");
    return 2;
}
