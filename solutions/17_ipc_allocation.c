/* 17 An allocation across processes
 *
 * Question: Two processes use one allocation. When a message from the other process has arrived, is
 *   the work that it announces done? Which process frees first, and what makes sure of it?
 * Task (fix): three places, marked YOUR WORK, trust a message. A GPU usually prints the correct
 *   number; the simulated device reports what is missing. Use the two events that are there. No
 *   host waits for the device before it must, and the messages stay as they are.
 * Calls: cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
 *        cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream)
 * Run:   make 17          Check: make check-17          Page: docs/17_ipc_allocation
 */
#define _GNU_SOURCE
#include "kernels.h"
#include "processes.h"
#include "workbook.h"

/* A pool that another process can import, as in lesson 16. */
static cudaMemPool_t pool_to_share(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = BY_DESCRIPTOR,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    cudaMemPool_t pool;
    cudaError_t created = cudaMemPoolCreate(&pool, &props);
    if (created != cudaSuccess)
        skip("no pool can be made for file descriptors here (cudaMemPoolCreate)", created);
    return pool;
}

/* Sends one byte and, with it, the pool's descriptor, as in lesson 16. */
static void send_pool(cudaMemPool_t pool)
{
    int descriptor;
    union control_message control = {.head = {.cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS,
                                              .cmsg_len = CMSG_LEN(sizeof descriptor)}};
    struct iovec part = {"p", 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool, BY_DESCRIPTOR, 0));
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    if (sendmsg(other, &message, MSG_NOSIGNAL) != 1)
        lost();
    close(descriptor);
}

static cudaMemPool_t receive_pool(void)
{
    char byte;
    cudaMemPool_t pool;
    int descriptor = receive_with_descriptor(&byte, sizeof byte);
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)descriptor, BY_DESCRIPTOR,
                                               0));
    close(descriptor);
    return pool;
}

/* Sends the 64 bytes by which another process can open the event. */
static void send_event(cudaEvent_t event)
{
    cudaIpcEventHandle_t handle;
    CHECK(cudaIpcGetEventHandle(&handle, event));
    send_bytes(&handle, sizeof handle);
}

/* Waits for the 64 bytes of an event and opens it. */
static cudaEvent_t receive_event(void)
{
    cudaIpcEventHandle_t handle;
    cudaEvent_t event;
    receive_bytes(&handle, sizeof handle);
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
    int *data, value = 0;
    send_pool(pool);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaMallocFromPoolAsync((void **)&data, bytes, pool, stream));
    CHECK(launch_fill(data, 7, count, stream));
    CHECK(cudaEventRecord(ready, stream));
    CHECK(cudaMemPoolExportPointer(&place, data));
    send_bytes(&place, sizeof place);
    send_bytes(&count, sizeof count);
    send_event(ready); /* recorded before it is sent */

    cudaEvent_t finished = receive_event();
    /* YOUR WORK, 3 of 3. */
    CHECK(cudaStreamWaitEvent(stream, finished, 0));
    CHECK(cudaMemcpyAsync(&value, data + count - 1, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("exporter  the data is %d\n", value);
    printf("exporter  used after its free: %zu MiB\n", used_mib(pool));
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
    struct cudaMemPoolPtrExportData place;
    cudaMemPool_t pool = receive_pool();
    cudaStream_t stream;
    cudaEvent_t finished;
    int *data;
    size_t count;
    receive_bytes(&place, sizeof place);
    receive_bytes(&count, sizeof count);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&finished, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaMemPoolImportPointer((void **)&data, pool, &place));

    cudaEvent_t ready = receive_event();
    /* YOUR WORK, 1 of 3. */
    CHECK(cudaStreamWaitEvent(stream, ready, 0));
    CHECK(launch_add(data, 1, count, stream));
    /* YOUR WORK, 2 of 3. */
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaEventRecord(finished, stream));
    printf("importer  has put its add and its free into its stream\n");
    send_event(finished);

    receive_done(); /* the exporter's stream has passed its wait for `finished` */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaEventDestroy(finished));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}

int main(int argc, char **argv) { return split() ? importer() : exporter(argc, argv); }
