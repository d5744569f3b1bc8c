/* An allocation for another process and back, in ten calls and as few messages as it takes: the
 * book's page docs/17_ipc_allocation.rst shows the two halves. */
#define _GNU_SOURCE
#include "kernels.h"
#include "processes.h"
#include "workbook.h"

enum { COUNT = 1 << 20 };
static const size_t bytes = COUNT * sizeof(int);

static void send_descriptor(int descriptor)
{
    union control_message control = {.head = {.cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS,
                                              .cmsg_len = CMSG_LEN(sizeof descriptor)}};
    struct iovec part = {"p", 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    if (sendmsg(other, &message, MSG_NOSIGNAL) != 1)
        lost();
    close(descriptor);
}

static int receive_descriptor(void)
{
    char byte;
    return receive_with_descriptor(&byte, sizeof byte);
}

static cudaEvent_t event_to_share(void)
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    return event;
}

static int exporter(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    enum cudaMemAllocationHandleType type = cudaMemHandleTypePosixFileDescriptor;
    struct {
        struct cudaMemPoolPtrExportData place;
        cudaIpcEventHandle_t event;
    } parcel;
    cudaIpcEventHandle_t theirs;
    cudaMemPool_t pool;
    cudaStream_t stream;
    cudaEvent_t ready = event_to_share(), finished;
    int *data, value = 0, descriptor;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocFromPoolAsync((void **)&data, bytes, pool, stream));
    CHECK(launch_fill(data, 7, COUNT, stream));

    /* [export */
    CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool, type, 0)); /* once for a pool */
    send_descriptor(descriptor); /* SCM_RIGHTS: the open file, not its number */
    CHECK(cudaMemPoolExportPointer(&parcel.place, data)); /* where it is in the pool */
    CHECK(cudaEventRecord(ready, stream));                /* after the last use here */
    CHECK(cudaIpcGetEventHandle(&parcel.event, ready));
    send_bytes(&parcel, sizeof parcel); /* the record comes before the message */
    /* ... the other process works ... */
    receive_bytes(&theirs, sizeof theirs);
    CHECK(cudaIpcOpenEventHandle(&finished, theirs));
    CHECK(cudaStreamWaitEvent(stream, finished, 0)); /* after the importer's free */
    /* export] */

    CHECK(cudaMemcpyAsync(&value, data, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("the data is %d\n", value);
    send_done(); /* the importer may destroy its event */
    int status = join();
    CHECK(cudaEventDestroy(finished));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return status != 0 ? status : value != 8;
}

static int importer(void)
{
    enum cudaMemAllocationHandleType type = cudaMemHandleTypePosixFileDescriptor;
    struct {
        struct cudaMemPoolPtrExportData place;
        cudaIpcEventHandle_t event;
    } parcel;
    cudaIpcEventHandle_t mine;
    cudaMemPool_t pool;
    cudaStream_t stream;
    cudaEvent_t finished = event_to_share(), ready;
    int *data;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    /* [import */
    int descriptor = receive_descriptor(); /* another number for the same open file */
    void *handle = (void *)(uintptr_t)descriptor;
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, handle, type, 0));
    close(descriptor); /* the pool stays */
    receive_bytes(&parcel, sizeof parcel);
    CHECK(cudaMemPoolImportPointer((void **)&data, pool, &parcel.place));
    CHECK(cudaIpcOpenEventHandle(&ready, parcel.event));
    CHECK(cudaStreamWaitEvent(stream, ready, 0)); /* before the first use here */
    CHECK(launch_add(data, 1, COUNT, stream));
    CHECK(cudaFreeAsync(data, stream));       /* the importer frees first, */
    CHECK(cudaEventRecord(finished, stream)); /* and records after its free */
    CHECK(cudaIpcGetEventHandle(&mine, finished));
    send_bytes(&mine, sizeof mine);
    /* import] */

    receive_done();
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaEventDestroy(finished));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}

int main(void) { return split() ? importer() : exporter(); }
