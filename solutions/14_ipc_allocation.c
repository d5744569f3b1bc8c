/* 14 An allocation across processes
 *
 * Shows  a block crosses to another process as 64 bytes, and so does an event. A message says that
 *        something was put into a stream, not that it is done: one process's stream waits for the
 *        other's by an event of both. The importer frees first, and an event behind its free lets
 *        the exporter's free come after it.
 * Yours  fix: the program is wrong in three places, each of which trusts a message. A GPU prints
 *        the right numbers all the same; the simulated device does not accept it. Repair it with
 *        the two events that are there.
 * Run    make 14          check   make check-14          page   docs/14_ipc_allocation
 */
#define _GNU_SOURCE
#include "kernels.h"
#include "processes.h"
#include "workbook.h"

static void tell_event(cudaEvent_t event)
{
    cudaIpcEventHandle_t handle;
    CHECK(cudaIpcGetEventHandle(&handle, event));
    tell(&handle, sizeof handle);
}

static cudaEvent_t hear_event(void)
{
    cudaIpcEventHandle_t handle;
    cudaEvent_t event;
    hear(&handle, sizeof handle);
    CHECK(cudaIpcOpenEventHandle(&event, handle));
    return event;
}

static int exporter(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 8) * MiB, count = bytes / sizeof(int);
    struct cudaMemPoolPtrExportData place;
    cudaMemPool_t pool = pool_to_share();
    cudaStream_t stream;
    cudaEvent_t ready;
    int *block, value = 0;
    tell_pool(pool);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaMallocFromPoolAsync((void **)&block, bytes, pool, stream));
    CHECK(launch_fill(block, 7, count, stream));
    CHECK(cudaEventRecord(ready, stream));
    CHECK(cudaMemPoolExportPointer(&place, block));
    tell(&place, sizeof place);
    tell(&count, sizeof count);
    /* Recorded before it is told: who hears of it can wait for it. */
    tell_event(ready);

    cudaEvent_t finished = hear_event();
    CHECK(cudaStreamWaitEvent(stream, finished, 0));
    CHECK(cudaMemcpyAsync(&value, block + count - 1, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("exporter  the block holds %d\n", value);
    printf("exporter  has freed it: used %zu MiB\n", used_mib(pool));
    tell_done(); /* now nobody needs the two events any more */
    int status = join();
    CHECK(cudaEventDestroy(finished));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return status != 0 ? status : value != 8;
}

static int importer(void)
{
    struct cudaMemPoolPtrExportData place;
    cudaMemPool_t pool = hear_pool();
    cudaStream_t stream;
    cudaEvent_t finished;
    int *block;
    size_t count;
    hear(&place, sizeof place);
    hear(&count, sizeof count);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemPoolImportPointer((void **)&block, pool, &place));

    CHECK(cudaEventCreateWithFlags(&finished, cudaEventInterprocess | cudaEventDisableTiming));
    cudaEvent_t ready = hear_event();
    CHECK(cudaStreamWaitEvent(stream, ready, 0));
    CHECK(launch_add(block, 1, count, stream));
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaEventRecord(finished, stream));
    printf("importer  has put its add and its free into its stream\n");
    tell_event(finished);

    hear_done(); /* the exporter has waited for the event */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaEventDestroy(finished));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}

int main(int argc, char **argv) { return split() ? importer() : exporter(argc, argv); }
