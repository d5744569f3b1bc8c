/* The importer closes what it got before it has imported the pool. Caught by: "until the import is done" */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

/* YOUR WORK. Sends `descriptor` through the socket `other`. */
static void send_descriptor(int descriptor)
{
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof descriptor)]; } control = {0};
    struct iovec data = {&descriptor, sizeof descriptor};      /* at least one byte must travel: here, the number */
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1,
                             .msg_control = &control, .msg_controllen = sizeof control};
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    if (sendmsg(other, &message, MSG_NOSIGNAL) < 0) {
        perror("sendmsg");
        exit(1);
    }
}

/* The descriptor that came with the message, under this process's own number; else the number in the message. */
static int receive_descriptor(void)
{
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
    int descriptor = -1;
    struct iovec data = {&descriptor, sizeof descriptor};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1,
                             .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(other, &message, 0) <= 0)
        lost();
    struct cmsghdr *came = CMSG_FIRSTHDR(&message);
    printf("importer  came with the message                %s\n", came ? "a descriptor" : "nothing but a number");
    if (came)
        memcpy(&descriptor, CMSG_DATA(came), sizeof descriptor);
    return descriptor;
}

static int exporter(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 40) * MiB, count = bytes / sizeof(int);
    struct cudaMemPoolPtrExportData place;
    cudaMemPool_t pool = pool_to_share();
    cudaStream_t stream;
    int *block, descriptor;
    char done;
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool, BY_DESCRIPTOR, 0));
    send_descriptor(descriptor);
    close(descriptor);                  /* what is on its way stays open */

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocFromPoolAsync((void **)&block, bytes, pool, stream));
    CHECK(launch_fill(block, 7, count, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolExportPointer(&place, block));
    tell(&place, sizeof place);         /* where the block lies is no handle: it may travel as bytes */
    tell(&count, sizeof count);

    hear(&done, sizeof done);           /* the importer has freed the block */
    int value = last_of(block, count, stream);
    printf("exporter  the block holds                      %d\n", value);
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    size_t before = reserved_mib(pool);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    printf("exporter  reserved                             %zu MiB, after cudaMemPoolTrimTo %zu MiB\n", before,
           reserved_mib(pool));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    int status = join();
    return status != 0 ? status : value != 8;
}

static void answer(const char *call, cudaError_t error)
{
    printf("importer  %-36s %s\n", call, cudaGetErrorName(error));
    cudaGetLastError();
}

static int importer(void)
{
    struct cudaMemPoolPtrExportData place;
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    enum cudaMemAccessFlags access;
    cudaMemPool_t pool, again;
    cudaStream_t stream;
    uint64_t figure = 0;
    int descriptor = receive_descriptor(), *block, *another;
    size_t count;
    close(descriptor);                  /* it is here; the number is enough */
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)descriptor, BY_DESCRIPTOR, 0));
    CHECK(cudaMemPoolGetAccess(&access, pool, &here));
    printf("importer  GPU 0, without being let in          %s\n",
           access == cudaMemAccessFlagsProtReadWrite ? "may read and write" : "may not");

    hear(&place, sizeof place);
    hear(&count, sizeof count);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemPoolImportPointer((void **)&block, pool, &place));
    printf("importer  the block holds                      %d", last_of(block, count, stream));
    CHECK(launch_add(block, 1, count, stream));
    printf(", now %d\n", last_of(block, count, stream));

    answer("import by a closed descriptor",
           cudaMemPoolImportFromShareableHandle(&again, (void *)(uintptr_t)descriptor, BY_DESCRIPTOR, 0));
    answer("cudaMallocFromPoolAsync", cudaMallocFromPoolAsync((void **)&another, MiB, pool, stream));
    answer("cudaDeviceSetMemPool", cudaDeviceSetMemPool(0, pool));
    answer("cudaMemPoolExportToShareableHandle",
           cudaMemPoolExportToShareableHandle(&descriptor, pool, BY_DESCRIPTOR, 0));
    answer("cudaMemPoolTrimTo", cudaMemPoolTrimTo(pool, 0));
    answer("cudaMemPoolGetAttribute", cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &figure));
    answer("cudaMemPoolSetAttribute", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &figure));
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    tell("f", 1);
    return 0;
}

int main(int argc, char **argv)
{
    return split() ? importer() : exporter(argc, argv);
}
