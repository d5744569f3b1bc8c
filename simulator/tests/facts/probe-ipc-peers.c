/* Records, with two GPUs, who may use an imported pool: does the access that its exporter
 * granted come along? */
#define CALL_COLUMNS 96
#include "pairs.h"

static cudaStream_t s1; /* of GPU 1 */

static void note_access(cudaMemPool_t pool)
{
    NOTE("access here: GPU 0 %d, GPU 1 %d", pool_access(pool, 0), pool_access(pool, 1));
}

static cudaError_t set_access(cudaMemPool_t pool, int device, enum cudaMemAccessFlags flags)
{
    return give_access(pool, location_of(DEVICE, device), flags);
}

/* A pool of GPU 0 that GPU 1 may use, and an allocation of it. */
static void export_and_wait(void)
{
    p = shared_pool(0);
    NOTE("the exporter grants GPU 1 access");
    RECORD(set_access(p, 1, cudaMemAccessFlagsProtReadWrite));
    share(p, 4 * MiB);
    launch_fill(a, 7, MiB, s);
    send_shared();
    await_turn();
    note_access(p);
    RECORD_SYNC(cudaFreeAsync(a, s), s);
}

/* Returns memory of GPU 1's own; GPU 1 is current then. */
static void *import_and_go_to_gpu_1(void)
{
    void *memory;
    import_shared();
    cudaSetDevice(1);
    cudaStreamCreate(&s1);
    cudaMallocAsync(&memory, 4 * MiB, s1);
    cudaStreamSynchronize(s1);
    return memory;
}

/* May GPU 1 use imported memory before and after the importer grants it access, and can that be
 * taken back? */
IMPORTER(granted_by_the_importer, export_and_wait)
{
    void *b = import_and_go_to_gpu_1();
    note_access(im);
    RECORD(cudaMemsetAsync(q, 0, 4, s1));
    RECORD_SYNC(cudaMemcpyPeerAsync(b, 1, q, 0, 4, s1), s1);
    RECORD(set_access(im, 1, cudaMemAccessFlagsProtReadWrite));
    note_access(im);
    RECORD_SYNC(launch_add(q, 1, MiB, s1), s1);
    cudaSetDevice(0);
    NOTE("value %d", first_value(q));
    RECORD(set_access(im, 1, cudaMemAccessFlagsProtNone));
    note_access(im);
    RECORD_SYNC(cudaFreeAsync(q, s), s);
    pass_turn();
}

/* May a kernel of GPU 1 use it when only the exporter has granted access? */
IMPORTER(granted_by_the_exporter_only, export_and_wait)
{
    import_and_go_to_gpu_1();
    RECORD_SYNC(launch_add(q, 1, MiB, s1), s1);
    pass_turn();
}

int main(int argc, char **argv) { return run_pairs(argc, argv); }
