/* Calls lesson 16's functions, each beside a process of the check's own that does the rest as it
 * should be. "pool": create_pool, and an export. "send COUNT": send_parcel, to a socket of this
 * process, which then counts what came: no program can wait for what was never sent. "import
 * VALUE": importer, for more data than the lesson has, full of VALUE. "export VALUE": exporter,
 * whose importer adds VALUE; with 0 that one ends without its last message. */
#include <sys/stat.h>

#define AF_UNIX    1
#define errno      (*__errno_location())
#define SOL_SOCKET 1

int close(int descriptor);

/* The number of the file behind a descriptor; 0: it is closed. */
static ino_t asked_file(int descriptor)
{
    struct stat about;
    return fstat(descriptor, &about) == 0 ? about.st_ino : 0;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props);

static int asked_types; /* the handle types of the pool that was created last */

/* What the student's file calls. */
cudaError_t asked_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    asked_types = (int)props->handleTypes;
    return cudaMemPoolCreate(pool, props);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle,
                                                 enum cudaMemAllocationHandleType type,
                                                 unsigned flags);

static int asked_imported; /* the descriptor by which a pool was imported last, and its file */
static ino_t asked_came;

cudaError_t asked_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle,
                                                       enum cudaMemAllocationHandleType type,
                                                       unsigned flags)
{
    asked_imported = (int)(uintptr_t)handle;
    asked_came = asked_file(asked_imported);
    return cudaMemPoolImportFromShareableHandle(pool, handle, type, flags);
}

static cudaMemPool_t asked_pool(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

/* A parcel for `count` ints that are all `value`, as the exporter makes it. */
static int *asked_parcel(struct parcel *parcel, cudaMemPool_t pool, size_t count, int value)
{
    cudaStream_t stream;
    int *data;
    parcel->count = count;
    CHECK(cudaMemPoolExportToShareableHandle(&parcel->descriptor, pool,
                                             cudaMemHandleTypePosixFileDescriptor, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocFromPoolAsync((void **)&data, count * sizeof(int), pool, stream));
    CHECK(launch_fill(data, value, count, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolExportPointer(&parcel->place, data));
    return data;
}

static cudaMemPool_t asked_import(int descriptor)
{
    cudaMemPool_t pool = NULL;
    cudaError_t imported = cudaMemPoolImportFromShareableHandle(
        &pool, (void *)(uintptr_t)descriptor, cudaMemHandleTypePosixFileDescriptor, 0);
    printf("\nimport = %s\n", cudaGetErrorName(imported));
    close(descriptor);
    return imported == cudaSuccess ? pool : NULL;
}

/* What came through the socket: messages, bytes and descriptors. Imports by the first of these. */
static void asked_arrived(int socket)
{
    union {
        struct cmsghdr head;
        char room[256];
    } control;
    struct parcel parcels[8];
    size_t bytes = 0;
    int messages = 0, descriptors = 0, first = -1, next;
    for (;;) {
        struct iovec part = {parcels, sizeof parcels};
        struct msghdr message;
        memset(&message, 0, sizeof message);
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        ssize_t came = recvmsg(socket, &message, 0x40); /* MSG_DONTWAIT */
        if (came <= 0)
            break;
        if (bytes == 0 && (size_t)came >= sizeof *parcels)
            printf("\ncount = %zu\n", parcels[0].count);
        bytes += (size_t)came;
        messages++;
        if (message.msg_controllen < sizeof control.head || control.head.cmsg_type != 1)
            continue; /* SCM_RIGHTS */
        size_t room = control.head.cmsg_len - sizeof control.head;
        for (size_t i = 0; i < room / sizeof next; i++, descriptors++) {
            memcpy(&next, (char *)(&control.head + 1) + i * sizeof next, sizeof next);
            if (first < 0)
                first = next;
            else
                close(next);
        }
    }
    printf("\nmessages = %d\n", messages);
    printf("\nbytes more than the parcel = %ld\n", (long)bytes - (long)sizeof(struct parcel));
    printf("\ndescriptors = %d\n", descriptors);
    cudaMemPool_t pool = first < 0 ? NULL : asked_import(first);
    if (pool)
        CHECK(cudaMemPoolDestroy(pool));
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags);

static const int *asked_open; /* the descriptor that is to be sent */

/* What the student's file calls: says what is sent, and why a message is refused. */
ssize_t asked_sendmsg(int socket, const struct msghdr *message, int flags)
{
    const struct cmsghdr *head = message->msg_control;
    int number;
    if (asked_open && head && message->msg_controllen >= sizeof *head + sizeof number) {
        memcpy(&number, head + 1, sizeof number);
        printf("\ncontrol = cmsg_level %d, cmsg_type %d, cmsg_len %zu, and the int %d; the "
               "parcel's descriptor is %d\n",
               head->cmsg_level, head->cmsg_type, (size_t)head->cmsg_len, number, *asked_open);
    }
    int is_open = asked_open && asked_file(*asked_open) != 0;
    ssize_t sent = sendmsg(socket, message, flags);
    if (sent >= 0 && asked_open)
        printf("\nnot sent = %zu\n", sizeof(struct parcel) - (size_t)sent);
    if (sent < 0 && asked_open) {
        int reason = errno;
        printf("\nsendmsg = %d\n\nopen = %d\n", reason, is_open);
        errno = reason;
    }
    return sent;
}

static int asked_failed; /* how many calls of close have failed */

int asked_close(int descriptor)
{
    int failed = close(descriptor);
    asked_failed += failed != 0;
    return failed;
}

static int asked_send(size_t count)
{
    struct parcel parcel;
    cudaMemPool_t pool = asked_pool();
    int *data = asked_parcel(&parcel, pool, count, 1), ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    other = ends[0];
    asked_open = &parcel.descriptor;
    errno = 0; /* what send_parcel may print is of its own calls */
    ino_t file = asked_file(parcel.descriptor);
    send_parcel(&parcel);
    printf("\nleft open = %d\n", asked_file(parcel.descriptor) == file);
    printf("\nclosed in vain = %d\n", asked_failed);
    close(parcel.descriptor);
    asked_arrived(ends[1]);
    close(ends[1]);
    CHECK(cudaFreeAsync(data, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}

/* Sends the parcel with its descriptor in a control message, as the lesson asks. */
static void asked_send_right(const struct parcel *parcel)
{
    union control_message control;
    struct iovec sent = {(void *)parcel, sizeof *parcel};
    struct msghdr message;
    memset(&control, 0, sizeof control);
    memset(&message, 0, sizeof message);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = sizeof(struct cmsghdr) + sizeof(int);
    memcpy(&control.head + 1, &parcel->descriptor, sizeof(int));
    message.msg_iov = &sent;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    if (sendmsg(other, &message, 0) != (ssize_t)sizeof *parcel)
        exit(1);
    close(parcel->descriptor);
}

static int asked_export(int value)
{
    struct parcel parcel;
    cudaMemPool_t pool = asked_pool();
    int *data = asked_parcel(&parcel, pool, 11 * MiB, value), last = 0;
    asked_send_right(&parcel);
    shutdown(other, 1); /* SHUT_WR: a read of more ends at once */
    receive_done();
    CHECK(cudaMemcpy(&last, data + parcel.count - 1, sizeof last, cudaMemcpyDeviceToHost));
    printf("\nthe data = %d\n", last);
    CHECK(cudaFreeAsync(data, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaMemPoolDestroy(pool));
    printf("\nbytes after the last message = %zd\n", recv(other, &parcel, sizeof parcel, 0));
    return join();
}

static int asked_importer(int value)
{
    struct parcel parcel;
    int *data, descriptor = receive_with_descriptor(&parcel, sizeof parcel);
    cudaMemPool_t pool = asked_import(descriptor);
    CHECK(cudaMemPoolImportPointer((void **)&data, pool, &parcel.place));
    CHECK(launch_add(data, value, parcel.count, 0));
    CHECK(cudaFreeAsync(data, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaMemPoolDestroy(pool));
    if (value != 0)
        send_done();
    return 0;
}

int main(int argc, char **argv)
{
    int value = argc > 2 ? atoi(argv[2]) : 0, number;
    if (*argv[1] == 'p') {
        cudaMemPool_t pool = create_pool();
        cudaError_t exported = cudaMemPoolExportToShareableHandle(
            &number, pool, cudaMemHandleTypePosixFileDescriptor, 0);
        printf("\nhandleTypes = %d\n\nexport = %s\n", asked_types, cudaGetErrorName(exported));
        if (exported == cudaSuccess)
            close(number);
        return 0;
    }
    if (*argv[1] == 's')
        return asked_send((size_t)value);
    if (split()) {
        if (*argv[1] == 'e')
            return asked_importer(value);
        int status = importer();
        printf("\nleft open = %d\n", asked_came != 0 && asked_file(asked_imported) == asked_came);
        return status;
    }
    if (*argv[1] == 'i')
        return asked_export(value);
    exporter(1, argv); /* its status does not matter: it expects 8, whatever VALUE is */
    return 0;
}
