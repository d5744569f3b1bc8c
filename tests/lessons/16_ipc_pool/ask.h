/* Calls lesson 16's functions, each beside a process of the check's own that does the rest as it
 * should be. "pool": create_pool, and an export. "send COUNT": send_parcel, to an importer with
 * other open files. "import VALUE": importer, for data that is full of VALUE. "export VALUE":
 * exporter, whose importer adds VALUE; with 0 that one ends without its last message. */

#define AF_UNIX    1
#define SOL_SOCKET 1

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
    CHECK(cudaStreamCreate(&stream));
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

static int asked_receive(void)
{
    struct parcel parcel;
    int ends[2];
    for (int i = 0; i < 4; i++) /* each takes two numbers */
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
            return 1;
    int descriptor = receive_with_descriptor(&parcel, sizeof parcel);
    printf("\na descriptor came = %d\n", descriptor >= 0);
    printf("\ncount = %zu\n", parcel.count);
    cudaMemPool_t pool = descriptor < 0 ? NULL : asked_import(descriptor);
    if (pool)
        CHECK(cudaMemPoolDestroy(pool));
    send_done();
    return 0;
}

static int asked_send(size_t count)
{
    struct parcel parcel;
    cudaMemPool_t pool = asked_pool();
    int *data = asked_parcel(&parcel, pool, count, 1);
    send_parcel(&parcel);
    printf("\nclosed here = %d\n", close(parcel.descriptor) != 0);
    receive_done();
    CHECK(cudaFreeAsync(data, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaMemPoolDestroy(pool));
    return join();
}

/* By the control message that the lesson asks for. */
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
    int *data = asked_parcel(&parcel, pool, 1 << 18, value), last = 0;
    asked_send_right(&parcel);
    receive_done();
    CHECK(cudaMemcpy(&last, data + parcel.count - 1, sizeof last, cudaMemcpyDeviceToHost));
    printf("\nthe data = %d\n", last);
    CHECK(cudaFreeAsync(data, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaMemPoolDestroy(pool));
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
        printf("\nexport = %s\n", cudaGetErrorName(exported));
        if (exported == cudaSuccess)
            close(number);
        return 0;
    }
    if (split()) {
        if (*argv[1] == 's')
            return asked_receive();
        return *argv[1] == 'i' ? importer() : asked_importer(value);
    }
    if (*argv[1] == 's')
        return asked_send((size_t)value);
    if (*argv[1] == 'i')
        return asked_export(value);
    exporter(1, argv); /* it returns 1 where the data is not 8 */
    return 0;
}
