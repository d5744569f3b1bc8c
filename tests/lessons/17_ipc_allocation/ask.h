/* Runs lesson 17's exporter with an importer of the check's own, which adds the number that it is
 * given and keeps to the lesson's messages: behind the event of its work it sends nothing, so an
 * exporter that waits for a further message is told that there will be none.
 *
 * With the argument "stop" it runs the lesson's two processes, and the exporter ends where it would
 * send its last message. */

#define cudaEventInterprocess 0x04

static int asked_stops;

ssize_t send(int socket, const void *data, size_t bytes, int flags);

ssize_t asked_send(int socket, const void *data, size_t bytes, int flags)
{
    if (asked_stops && second != 0 && bytes == 1)
        exit(0);
    return send(socket, data, bytes, flags);
}

static int asked_importer(int value)
{
    struct cudaMemPoolPtrExportData place;
    cudaIpcEventHandle_t handle;
    cudaMemPool_t pool;
    cudaStream_t stream;
    cudaEvent_t ready, finished;
    int *data, descriptor;
    size_t count;
    char byte;
    descriptor = receive_with_descriptor(&byte, sizeof byte);
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)descriptor,
                                               cudaMemHandleTypePosixFileDescriptor, 0));
    close(descriptor);
    receive_bytes(&place, sizeof place);
    receive_bytes(&count, sizeof count);
    receive_bytes(&handle, sizeof handle);
    CHECK(cudaIpcOpenEventHandle(&ready, handle));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&finished, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaMemPoolImportPointer((void **)&data, pool, &place));
    CHECK(cudaStreamWaitEvent(stream, ready, 0));
    CHECK(launch_add(data, value, count, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaEventRecord(finished, stream));
    CHECK(cudaIpcGetEventHandle(&handle, finished));
    send_bytes(&handle, sizeof handle);
    shutdown(other, SHUT_WR);
    receive_done();
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}

int main(int argc, char **argv)
{
    int value = argc > 1 ? atoi(argv[1]) : 1;
    asked_stops = argc > 1 && strcmp(argv[1], "stop") == 0;
    if (asked_stops)
        return asked_lesson(1, argv);
    if (split())
        return asked_importer(value);
    exporter(1, argv); /* it returns 1 where the data is not 8 */
    return 0;
}
