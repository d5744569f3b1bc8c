/* Two processes that share a block: what a pool keeps of its exported allocations, one that dies,
 * host memory: ipc_cases NAME.
 * The exporter's exit status is its own unless the importer's is not 0; the checker's is 3. */
#include "ipc_pair.h"

#include <pthread.h>

static int *block;
static const size_t count = MiB / sizeof(int);

static void *allocate(cudaMemPool_t pool)
{
    OK(cudaMallocFromPoolAsync((void **)&block, MiB, pool, s));
    OK(launch_fill(block, 7, count, s));
    return block;
}

/* ---- imports ---- */

/* The exporter's second allocation is freed before it is imported. */
CASE(import_freed)
{
    cudaMemPool_t pool;
    struct cudaMemPoolPtrExportData data;
    cudaEvent_t done;
    void *second;
    if (!importer) {
        pool = pool_to_share();
        send_block(pool, allocate(pool));
        OK(cudaMallocFromPoolAsync(&second, MiB, pool, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolExportPointer(&data, second));
        OK(cudaFreeAsync(second, s));
        send_bytes(&data, sizeof data);
        done = receive_event();
        OK(cudaStreamWaitEvent(s, done, 0));
        OK(cudaFreeAsync(block, s));
        OK(cudaStreamSynchronize(s));
        go();
        return;
    }
    block = receive_block(&pool);
    receive_bytes(&data, sizeof data);
    OK(cudaMemPoolImportPointer(&second, pool, &data)); /* measured: even of a freed block */
    OK(cudaFreeAsync(second, s));
    OK(cudaFreeAsync(block, s));
    done = shared_event();
    OK(cudaEventRecord(done, s));
    send_event(done);
    wait_for_go();
    OK(cudaStreamSynchronize(s));
}

/* ---- what a pool keeps of its exported allocations ---- */

enum { KEPT = 1024, BYTES = 512 };

/* As many allocations as the pool has entries for. A freed one makes room for another, but not
 * while a process has it imported, which is reported. What was done to the first does not count for
 * the other. */
CASE(entries)
{
    cudaMemPool_t pool;
    struct cudaMemPoolPtrExportData data;
    static void *all[KEPT + 1];
    cudaStream_t other;
    if (importer) {
        all[0] = receive_block(&pool);
        receive_bytes(&data, sizeof data);
        go();
        wait_for_go();
        OK(cudaFreeAsync(all[0], s));
        OK(cudaStreamSynchronize(s));
        go();
        wait_for_go();
        /* Another allocation has its entry. */
        IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(&all[1], pool, &data));
        receive_bytes(&data, sizeof data);
        OK(cudaMemPoolImportPointer(&all[1], pool, &data));
        OK(cudaMemsetAsync(all[1], 2, BYTES, s));
        OK(cudaFreeAsync(all[1], s));
        OK(cudaStreamSynchronize(s));
        go();
        return;
    }
    pool = pool_to_share();
    for (int i = 0; i <= KEPT; i++)
        OK(cudaMallocFromPoolAsync(&all[i], BYTES, pool, s));
    OK(cudaStreamSynchronize(s));
    send_block(pool, all[0]);
    OK(cudaMemPoolExportPointer(&data, all[0]));
    send_bytes(&data, sizeof data);
    for (int i = 1; i < KEPT; i++)
        OK(cudaMemPoolExportPointer(&data, all[i]));
    wait_for_go();
    IS(cudaErrorMemoryAllocation, cudaMemPoolExportPointer(&data, all[KEPT]));
    OK(cudaStreamCreate(&other));
    OK(cudaMemsetAsync(all[0], 1, BYTES, other));
    OK(cudaFreeAsync(all[0], other));
    IS(cudaErrorMemoryAllocation, cudaMemPoolExportPointer(&data, all[KEPT]));
    go();
    wait_for_go();
    OK(cudaMemPoolExportPointer(&data, all[KEPT]));
    go();
    send_bytes(&data, sizeof data);
    wait_for_go();
    for (int i = 1; i <= KEPT; i++)
        OK(cudaFreeAsync(all[i], s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

/* Writes `writes` bytes of the block, each with a call of its own. */
static void write_bytes(char *bytes, int writes)
{
    for (int i = 0; i < writes; i++)
        OK(cudaMemsetAsync(bytes + i, 1, 1, s));
}

/* The list of accesses that no process has waited for has room for 20,000. Accesses that were
 * waited for are removed when it is full. `late`: the host waits only at the end, and until then
 * accesses that come while the list is full are not compared. */
static void accesses(int importer, int late)
{
    cudaMemPool_t pool;
    if (importer) {
        char *imported = receive_block(&pool);
        if (late)
            OK(cudaMemsetAsync(imported, 2, 1, s));
        OK(cudaFreeAsync(imported, s));
        OK(cudaStreamSynchronize(s));
        go();
        return;
    }
    struct cudaMemPoolPtrExportData data;
    void *other, *third;
    pool = pool_to_share();
    OK(cudaMallocFromPoolAsync(&other, MiB, pool, s));
    OK(cudaMallocFromPoolAsync(&third, MiB, pool, s));
    allocate(pool);
    int descriptor;
    OK(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor,
                                          0));
    close(descriptor);
    OK(cudaMemPoolExportPointer(&data, other));
    OK(cudaMemPoolExportPointer(&data, third));
    write_bytes(other, 18000);
    OK(cudaStreamSynchronize(s));
    write_bytes(other, 1);
    write_bytes(third, 12000);
    if (late) {
        write_bytes(other, 9000);
        OK(cudaStreamSynchronize(s));
        write_bytes(third, 1100);
        OK(cudaMemsetAsync(block, 1, 1, s));
    } else {
        OK(cudaStreamSynchronize(s));
    }
    send_block(pool, block);
    wait_for_go();
    OK(cudaFreeAsync(block, s));
    OK(cudaFreeAsync(other, s));
    OK(cudaFreeAsync(third, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

CASE(many_accesses) { accesses(importer, 0); }
CASE(too_many_accesses) { accesses(importer, 1); }

/* The exporter frees what the importer has, and exports another allocation of the same memory,
 * which replaces the first one in the importer, too. */
CASE(taken_place)
{
    cudaMemPool_t pool;
    struct cudaMemPoolPtrExportData data;
    static void *all[KEPT];
    void *second;
    if (importer) {
        block = receive_block(&pool);
        go();
        receive_bytes(&data, sizeof data);
        OK(cudaMemPoolImportPointer(&second, pool, &data));
        if (second != block)
            _exit(6);
        OK(cudaMemsetAsync(second, 1, MiB / 2, s));
        OK(cudaFreeAsync(second, s));
        OK(cudaStreamSynchronize(s));
        go();
        wait_for_go();
        return;
    }
    pool = pool_to_share();
    allocate(pool);
    OK(cudaStreamSynchronize(s));
    send_block(pool, block);
    wait_for_go();
    OK(cudaFreeAsync(block, s));
    OK(cudaMallocFromPoolAsync(&second, MiB / 2, pool, s));
    if (second != block)
        _exit(7);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolExportPointer(&data, second));
    send_bytes(&data, sizeof data);
    wait_for_go();
    /* The first one is no longer imported anywhere, so there is room for all but one. */
    for (int i = 0; i < KEPT - 1; i++) {
        OK(cudaMallocFromPoolAsync(&all[i], BYTES, pool, s));
        OK(cudaMemPoolExportPointer(&data, all[i]));
    }
    go();
    for (int i = 0; i < KEPT - 1; i++)
        OK(cudaFreeAsync(all[i], s));
    OK(cudaFreeAsync(second, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

/* ---- a side dies ---- */

/* The importer waits for an event that can no longer come. `synchronize`: its host waits, not a
 * stream. */
static void exporter_dies(int importer, int synchronize)
{
    cudaMemPool_t pool;
    if (!importer) {
        volatile int *gate;
        pool = pool_to_share();
        OK(cudaMallocHost((void **)&gate, sizeof *gate));
        *gate = 0;
        OK(launch_hold(gate, s));
        cudaEvent_t ready = shared_event();
        OK(cudaEventRecord(ready, s));
        send_block(pool, allocate(pool));
        send_event(ready);
        wait_for_go();
        kill(getpid(), SIGKILL);
    }
    block = receive_block(&pool);
    cudaEvent_t ready = receive_event();
    IS(cudaErrorNotReady, cudaEventQuery(ready));
    if (!synchronize)
        OK(cudaStreamWaitEvent(s, ready, 0));
    if (!synchronize)
        IS(cudaErrorNotReady, cudaStreamQuery(s));
    go();
    IS(cudaErrorExternalDevice,
       synchronize ? cudaEventSynchronize(ready) : cudaStreamSynchronize(s));
    IS(cudaErrorExternalDevice, cudaStreamSynchronize(s));
    puts("the wait ended");
    _exit(0);
}

CASE(exporter_dies_stream) { exporter_dies(importer, 0); }
CASE(exporter_dies_host) { exporter_dies(importer, 1); }

/* The exporter's device fails before its record, and the exporter lives on, waiting for the
 * importer. */
CASE(exporter_fails)
{
    if (importer) {
        cudaEvent_t ready = receive_event();
        wait_for_go();
        OK(cudaStreamWaitEvent(s, ready, 0));
        IS(cudaErrorExternalDevice, cudaStreamSynchronize(s));
        puts("the wait ended");
        go();
        _exit(0);
    }
    cudaMemPool_t pool = pool_to_share();
    uint64_t none = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &none));
    cudaEvent_t ready = shared_event();
    allocate(pool);
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    /* The fill's address has no memory. */
    OK(cudaFree(block));
    IS(cudaErrorIllegalAddress, cudaStreamSynchronize(s));
    go();
    wait_for_go();
    exit(child_status());
}

/* The importer dies before it says that it is done, or while it has the block. The exporter frees,
 * and nothing is reported. */
static void importer_dies(int importer, int recorded)
{
    cudaMemPool_t pool;
    if (!importer) {
        pool = pool_to_share();
        allocate(pool);
        OK(cudaStreamSynchronize(s));
        send_block(pool, block);
        cudaEvent_t done = recorded ? receive_event() : NULL;
        if (done)
            OK(cudaStreamWaitEvent(s, done, 0));
        go();
        int status = child_status();
        if (status != 128 + SIGKILL)
            exit(7);
        if (recorded) {
            IS(cudaErrorExternalDevice, cudaStreamSynchronize(s));
            puts("the wait ended");
            _exit(0);
        }
        OK(cudaFreeAsync(block, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolDestroy(pool));
        puts("freed");
        exit(0);
    }
    block = receive_block(&pool);
    OK(launch_add(block, 1, count, s));
    if (recorded) {
        volatile int *gate;
        OK(cudaMallocHost((void **)&gate, sizeof *gate));
        *gate = 0;
        OK(launch_hold(gate, s));
        cudaEvent_t done = shared_event();
        OK(cudaEventRecord(done, s));
        send_event(done);
    }
    wait_for_go();
    kill(getpid(), SIGKILL);
}

CASE(importer_dies_holding) { importer_dies(importer, 0); }
CASE(importer_dies_recorded) { importer_dies(importer, 1); }

/* ---- the exporter's first thread ends before the others ---- */

static volatile int *held;
static pthread_t first_thread;

static void *goes_on(void *unused)
{
    (void)unused;
    pthread_join(first_thread, NULL);
    go();
    /* The importer checks several times whether this process is alive. */
    usleep(50000);
    *held = 1;
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeHost((void *)held));
    exit(child_status());
}

CASE(exporter_goes_on)
{
    if (importer) {
        cudaEvent_t ready = receive_event();
        go();
        wait_for_go();
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(cudaStreamSynchronize(s));
        return;
    }
    pthread_t other;
    cudaEvent_t ready = shared_event();
    OK(cudaMallocHost((void **)&held, sizeof *held));
    *held = 0;
    OK(launch_hold(held, s));
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    wait_for_go();
    first_thread = pthread_self();
    if (pthread_create(&other, NULL, goes_on, NULL))
        _exit(5);
    pthread_exit(NULL);
}

/* ---- host memory ---- */

static cudaMemPool_t shared_host_pool(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {.type = cudaMemLocationTypeHostNuma, .id = 0}};
    cudaMemPool_t pool;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

/* Each host reads what the other has written. */
CASE(host_pool)
{
    cudaMemPool_t pool;
    if (importer) {
        block = receive_block(&pool);
        if (block[0] != 7)
            _exit(6);
        block[count - 1] = 8;
    } else {
        pool = shared_host_pool();
        OK(cudaMallocFromPoolAsync((void **)&block, MiB, pool, s));
        OK(cudaStreamSynchronize(s));
        block[0] = 7;
        send_block(pool, block);
        wait_for_go();
        if (block[count - 1] != 8)
            _exit(7);
    }
    OK(cudaFreeAsync(block, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    if (importer)
        go();
}

int main(int argc, char **argv) { return run_pair(argc, argv, NULL); }
