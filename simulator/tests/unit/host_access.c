/* Loads and stores of the host in memory that host and device share: host_access CASE. The cases of
 * the first part are correct programs; those of the second are incorrect in one place, which the
 * checker reports (locations.bats has the words). */
#include <pthread.h>

#include "expect.h"
#include "kernels.h"

#define COUNT ((size_t)4096) /* ints of a block: four pages */

static cudaStream_t s, t;
static cudaMemPool_t pool;
static int *a;
static volatile int sink;

static void take(cudaMemPool_t from, int wait)
{
    OK(cudaMallocFromPoolAsync((void **)&a, COUNT * sizeof *a, from, s));
    if (wait)
        OK(cudaStreamSynchronize(s));
}

static void give(void)
{
    OK(cudaFreeAsync(a, s));
    OK(cudaStreamSynchronize(s));
}

static cudaMemPool_t pool_of(enum cudaMemAllocationType type, enum cudaMemLocationType location)
{
    struct cudaMemPoolProps p;
    struct cudaMemAccessDesc grant = {{cudaMemLocationTypeDevice, 0},
                                      cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t made;
    memset(&p, 0, sizeof p);
    p.allocType = type;
    p.location.type = location;
    OK(cudaMemPoolCreate(&made, &p));
    OK(cudaMemPoolSetAccess(made, &grant, 1));
    return made;
}

/* ---- correct ---- */

CASE(waits)
{
    cudaEvent_t event;
    take(pool, 1);
    a[0] = a[COUNT - 1] = 1;
    OK(launch_add(a, 1, COUNT, s));
    OK(cudaStreamSynchronize(s));
    SAME(2, a[0]);
    OK(cudaEventCreate(&event));
    OK(launch_add(a, 1, COUNT, s));
    OK(cudaEventRecord(event, s));
    OK(cudaEventSynchronize(event));
    SAME(3, a[COUNT - 1]);
    OK(launch_add(a, 1, COUNT, s));
    OK(cudaDeviceSynchronize());
    a[0]++;
    SAME(5, a[0]);
    OK(launch_add(a, 1, COUNT, s));
    while (cudaStreamQuery(s) == cudaErrorNotReady) {}
    SAME(6, a[0]);
    OK(cudaEventDestroy(event));
    give();
}

/* Reading while the device reads, or one half while the device writes the other. */
CASE(beside)
{
    int *m;
    OK(cudaMalloc((void **)&m, COUNT * sizeof *m));
    take(pool, 1);
    a[0] = 4;
    OK(cudaMemcpyAsync(m, a, COUNT * sizeof *m, cudaMemcpyDefault, s));
    SAME(4, a[0]);
    OK(cudaStreamSynchronize(s));
    OK(launch_fill(a, 9, COUNT / 2, s));
    a[COUNT / 2] = 7;
    SAME(7, a[COUNT / 2]);
    OK(cudaStreamSynchronize(s));
    SAME(9, a[0]);
    OK(cudaMemcpy(a, m, COUNT * sizeof *m, cudaMemcpyDefault)); /* waits */
    SAME(4, a[0]);
    give();
    OK(cudaFree(m));
}

static void in_a_function(void *unused)
{
    (void)unused;
    SAME(5, a[3]);
    a[3] = 6;
}

CASE(host_function)
{
    take(pool, 1);
    OK(launch_fill(a, 5, COUNT, s));
    OK(cudaLaunchHostFunc(s, in_a_function, NULL));
    OK(launch_add(a, 1, COUNT, s));
    OK(cudaStreamSynchronize(s));
    SAME(7, a[3]);
    give();
}

static void *wait_for_s(void *unused)
{
    OK(cudaStreamSynchronize(s));
    return unused;
}

CASE(other_thread)
{
    pthread_t thread;
    take(pool, 1);
    OK(launch_fill(a, 5, COUNT, s));
    pthread_create(&thread, NULL, wait_for_s, NULL);
    pthread_join(thread, NULL);
    SAME(5, a[3]);
    give();
}

/* Blocks that reuse freed memory, with ends in the middle of a page. */
CASE(again)
{
    int *b;
    for (size_t bytes = 512; bytes < 40000; bytes += 4608) {
        OK(cudaMallocFromPoolAsync((void **)&a, bytes, pool, s));
        OK(cudaMallocFromPoolAsync((void **)&b, bytes + 512, pool, s));
        OK(cudaStreamSynchronize(s));
        memset(a, 1, bytes);
        memset(b, 2, bytes + 512);
        OK(cudaFreeAsync(a, s));
        b[0] = 3;
        b[bytes / sizeof *b] = 3;
        OK(cudaFreeAsync(b, s));
    }
    OK(cudaStreamSynchronize(s));
}

CASE(managed)
{
    cudaMemPool_t made = pool_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice);
    take(made, 1);
    a[1] = 1;
    OK(launch_add(a, 1, COUNT, s));
    OK(cudaStreamSynchronize(s));
    SAME(2, a[1]);
    give();
    OK(cudaMemPoolDestroy(made));
    OK(cudaMallocManaged((void **)&a, COUNT * sizeof *a, cudaMemAttachGlobal));
    a[1] = 1; /* the bytes are there when the call returns */
    OK(launch_add(a, 1, COUNT, s));
    OK(cudaStreamSynchronize(s));
    SAME(2, a[1]);
    OK(cudaFree(a));
}

/* A call that stores its answer where the device may still be writing. This is not seen, and does
 * not hang. */
CASE(answer_into_it)
{
    take(pool, 1);
    OK(launch_fill(a, 5, COUNT, s));
    OK(cudaGetDevice(a));
    OK(cudaStreamSynchronize(s));
    give();
}

/* ---- incorrect ---- */

CASE(before_allocation)
{
    take(pool, 0);
    a[0] = 1;
    give();
}
CASE(while_written)
{
    take(pool, 1);
    OK(launch_fill(a, 5, COUNT, s));
    sink = a[COUNT - 1];
    give();
}
static void in_a_function_of_another(void *unused)
{
    (void)unused;
    sink = a[0];
}
CASE(host_function_elsewhere)
{
    take(pool, 1);
    OK(launch_fill(a, 5, COUNT, s));
    OK(cudaLaunchHostFunc(t, in_a_function_of_another, NULL));
    OK(cudaStreamSynchronize(t));
    give();
}
CASE(other_stream_waited)
{
    take(pool, 1);
    OK(launch_fill(a, 5, COUNT, s));
    OK(cudaStreamSynchronize(t));
    sink = a[0];
    give();
}
CASE(while_read)
{
    int *m;
    OK(cudaMalloc((void **)&m, COUNT * sizeof *m));
    take(pool, 1);
    OK(cudaMemcpyAsync(m, a, COUNT * sizeof *m, cudaMemcpyDefault, s));
    a[0] = 1;
    give();
    OK(cudaFree(m));
}
CASE(after_free)
{
    take(pool, 1);
    OK(cudaFreeAsync(a, s));
    a[0] = 1;
    OK(cudaStreamSynchronize(s));
}
CASE(while_managed_is_written)
{
    OK(cudaMallocManaged((void **)&a, COUNT * sizeof *a, cudaMemAttachGlobal));
    OK(launch_fill(a, 5, COUNT, s));
    sink = a[0];
    OK(cudaFree(a));
}

int main(int argc, char **argv)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    pool = pool_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHost);
    for (const struct named_case *one = named_cases; one; one = one->next)
        if (argc > 1 && !strcmp(argv[1], one->name)) {
            one->run();
            OK(cudaMemPoolDestroy(pool));
            return wrong;
        }
    return 2;
}
