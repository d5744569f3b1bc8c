/* 13 A pool across processes
 *
 * Shows  a pool crosses to another process as a file descriptor, in a message with SCM_RIGHTS: the
 *        number alone means nothing there. What arrives is a pool through which blocks are
 *        imported, and no more.
 * Yours  fix: send_parcel sends the descriptor's number. Make it send the descriptor, too.
 * Run    make 13          check   make check-13          page   docs/13_ipc_pool
 */
#define _GNU_SOURCE
#include "kernels.h"
#include "processes.h"
#include "workbook.h"

/* What the importer is told, in one message. */
struct parcel {
    int descriptor; /* the number that the exporter has for it */
    /* Where the block lies: no handle, it may travel as bytes. */
    struct cudaMemPoolPtrExportData place;
    size_t count;
};

/* YOUR WORK. Sends the parcel to the other process. */
static void send_parcel(const struct parcel *parcel)
{
    union control_message control = {.head = {.cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS,
                                              .cmsg_len = CMSG_LEN(sizeof(int))}};
    memcpy(CMSG_DATA(&control.head), &parcel->descriptor, sizeof(int));
    tell_with_control(parcel, sizeof *parcel, &control);
}

static int exporter(int argc, char **argv)
{
    struct parcel parcel = {.count = mib_argument(argc, argv, 40) * MiB / sizeof(int)};
    cudaMemPool_t pool = pool_to_share();
    cudaStream_t stream;
    int *block;
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    CHECK(cudaMemPoolExportToShareableHandle(&parcel.descriptor, pool, BY_DESCRIPTOR, 0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocFromPoolAsync((void **)&block, parcel.count * sizeof(int), pool, stream));
    CHECK(launch_fill(block, 7, parcel.count, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolExportPointer(&parcel.place, block));
    send_parcel(&parcel);
    close(parcel.descriptor); /* what is on its way stays open */

    hear_done(); /* the importer has freed the block */
    int value = last_of(block, parcel.count, stream);
    printf("exporter  the block holds                      %d\n", value);
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("exporter  reserved                             %zu MiB", reserved_mib(pool));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    printf(", after cudaMemPoolTrimTo %zu MiB\n", reserved_mib(pool));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return value == 8 ? join() : 1;
}

/* Makes a call and prints what it answers. */
#define TRY(call, ...) printf("importer  %-36s %s\n", #call, cudaGetErrorName(call(__VA_ARGS__)))

static int importer(void)
{
    struct parcel parcel;
    cudaMemPool_t pool, again;
    cudaStream_t stream;
    int *block, *another;
    uint64_t figure = 0;
    int came = hear_with_descriptor(&parcel, sizeof parcel),
        descriptor = came < 0 ? parcel.descriptor : came;
    printf("importer  came with the message                %s\n",
           came < 0 ? "nothing but a number" : "a descriptor");
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)descriptor, BY_DESCRIPTOR,
                                               0));
    close(descriptor); /* the pool is here and needs it no more */
    printf("importer  GPU 0, without being let in          %s\n",
           pool_get_access(pool, 0) == cudaMemAccessFlagsProtReadWrite ? "may read and write"
                                                                       : "may not");

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemPoolImportPointer((void **)&block, pool, &parcel.place));
    printf("importer  the block holds                      %d",
           last_of(block, parcel.count, stream));
    CHECK(launch_add(block, 1, parcel.count, stream));
    printf(", now %d\n", last_of(block, parcel.count, stream));

    cudaError_t closed = cudaMemPoolImportFromShareableHandle(&again, (void *)(uintptr_t)descriptor,
                                                              BY_DESCRIPTOR, 0);
    printf("importer  import by a closed descriptor        %s\n", cudaGetErrorName(closed));
    TRY(cudaMallocFromPoolAsync, (void **)&another, MiB, pool, stream);
    TRY(cudaDeviceSetMemPool, 0, pool);
    TRY(cudaMemPoolExportToShareableHandle, &descriptor, pool, BY_DESCRIPTOR, 0);
    TRY(cudaMemPoolTrimTo, pool, 0);
    TRY(cudaMemPoolGetAttribute, pool, cudaMemPoolAttrUsedMemCurrent, &figure);
    TRY(cudaMemPoolSetAttribute, pool, cudaMemPoolAttrReleaseThreshold, &figure);
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    tell_done();
    return 0;
}

int main(int argc, char **argv) { return split() ? importer() : exporter(argc, argv); }
