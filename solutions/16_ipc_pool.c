/* 16 A pool across processes
 *
 * Question: A process creates a pool, and another process will use its memory. What must the first
 *   process send to the second, and what may the second do with the pool?
 * Task (fix): four places, marked YOUR WORK, rest on beliefs that are wrong. Repair them. The
 *   second takes about twelve lines: send the message that receive_with_descriptor in processes.h
 *   reads. It replaces the message that is sent now, and no other message is added.
 * Calls: sendmsg(int socket, const struct msghdr *message, int flags)
 *        cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
 *                             size_t count), which give_access below makes
 *        cudaMallocAsync(void **data, size_t bytes, cudaStream_t stream)
 * Run:   make 16          Check: make check-16          Page: docs/16_ipc_pool
 */
#define _GNU_SOURCE
#include "kernels.h"
#include "processes.h"
#include "workbook.h"

/* What the exporter sends. */
struct parcel {
    int descriptor;                        /* the number that the exporter has for the pool */
    struct cudaMemPoolPtrExportData place; /* where the data is: bytes, and no handle */
    size_t count;
};

/* YOUR WORK, 1 of 4. A pool on GPU 0 that another process can import. */
static cudaMemPool_t create_pool(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    cudaMemPool_t pool;
    cudaError_t created = cudaMemPoolCreate(&pool, &props);
    if (created != cudaSuccess)
        skip("no pool can be made for file descriptors here (cudaMemPoolCreate)", created);
    return pool;
}

/* YOUR WORK, 2 of 4. Sends the parcel, and with it the open file behind parcel->descriptor, to the
 * socket `other`. Then this process closes its descriptor. */
static void send_parcel(const struct parcel *parcel)
{
    union control_message control = {.head = {.cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS,
                                              .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct iovec part = {(void *)parcel, sizeof *parcel};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &parcel->descriptor, sizeof(int));
    if (sendmsg(other, &message, MSG_NOSIGNAL) != (ssize_t)sizeof *parcel) {
        perror("sendmsg");
        exit(1);
    }
    close(parcel->descriptor); /* the open file is on its way, and stays open */
}

/* The GPU that adds in the importer: GPU 1 where it reaches the memory of GPU 0, else GPU 0. */
static int adding_gpu(void)
{
    int gpus, reachable = 0;
    CHECK(cudaGetDeviceCount(&gpus));
    if (gpus > 1)
        CHECK(cudaDeviceCanAccessPeer(&reachable, 1, 0));
    return reachable;
}

/* Gives a GPU access to a pool of GPU 0, as in lesson 14. GPU 0 has it without a call. */
static void give_access(cudaMemPool_t pool, int gpu)
{
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, gpu},
                                       cudaMemAccessFlagsProtReadWrite};
    if (gpu != 0)
        CHECK(cudaMemPoolSetAccess(pool, &access, 1));
}

static int exporter(int argc, char **argv)
{
    struct parcel parcel = {.count = mib_argument(argc, argv, 40) * MiB / sizeof(int)};
    cudaMemPool_t pool = create_pool();
    cudaStream_t stream;
    int *data;
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocFromPoolAsync((void **)&data, parcel.count * sizeof(int), pool, stream));
    CHECK(launch_fill(data, 7, parcel.count, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolExportToShareableHandle(&parcel.descriptor, pool, BY_DESCRIPTOR, 0));
    CHECK(cudaMemPoolExportPointer(&parcel.place, data));
    send_parcel(&parcel);

    receive_done(); /* the importer has freed its import */
    int value = last_of(data, parcel.count, stream);
    printf("exporter  the data is                          %d\n", value);
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("exporter  reserved                             %zu MiB", reserved_mib(pool));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    printf(", after cudaMemPoolTrimTo %zu MiB\n", reserved_mib(pool));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return value == 8 ? join() : 1;
}

/* Makes a call and prints what it returns. */
#define TRY(call, ...) printf("importer  %-36s %s\n", #call, cudaGetErrorName(call(__VA_ARGS__)))

static int importer(void)
{
    struct parcel parcel;
    cudaMemPool_t pool;
    cudaStream_t stream, adding;
    int *data, *own, *another, number;
    uint64_t figure = 0;
    int descriptor = receive_with_descriptor(&parcel, sizeof parcel);
    printf("importer  received                             %s\n",
           descriptor < 0 ? "a number, no descriptor" : "a descriptor");
    if (descriptor < 0)
        descriptor = parcel.descriptor;
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)descriptor, BY_DESCRIPTOR,
                                               0));
    close(descriptor); /* the imported pool no longer needs it */
    CHECK(cudaMemPoolImportPointer((void **)&data, pool, &parcel.place));
    CHECK(cudaStreamCreate(&stream));
    printf("importer  the data is                          %d",
           last_of(data, parcel.count, stream));

    int gpu = adding_gpu();
    /* YOUR WORK, 3 of 4. GPU `gpu` will use the data. */
    give_access(pool, gpu);
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaStreamCreate(&adding));
    CHECK(launch_add(data, 1, parcel.count, adding));
    CHECK(cudaStreamSynchronize(adding));
    CHECK(cudaSetDevice(0));
    printf(", then %d\n~ importer  the add ran on                     GPU %d\n",
           last_of(data, parcel.count, stream), gpu);

    /* YOUR WORK, 4 of 4. A copy that the importer keeps when it has freed the data. */
    CHECK(cudaMallocAsync((void **)&own, parcel.count * sizeof(int), stream));
    CHECK(cudaMemcpyAsync(own, data, parcel.count * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    TRY(cudaMallocFromPoolAsync, (void **)&another, MiB, pool, stream);
    TRY(cudaDeviceSetMemPool, 0, pool);
    TRY(cudaMemPoolExportToShareableHandle, &number, pool, BY_DESCRIPTOR, 0);
    TRY(cudaMemPoolTrimTo, pool, 0);
    TRY(cudaMemPoolGetAttribute, pool, cudaMemPoolAttrUsedMemCurrent, &figure);
    TRY(cudaMemPoolSetAttribute, pool, cudaMemPoolAttrReleaseThreshold, &figure);
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("importer  its own copy is                      %d\n",
           last_of(own, parcel.count, stream));
    CHECK(cudaFreeAsync(own, stream));
    CHECK(cudaStreamDestroy(adding));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    send_done();
    return 0;
}

int main(int argc, char **argv) { return split() ? importer() : exporter(argc, argv); }
