/* Ways in which two or more processes order their work, or lack one wait: ipc_pairs NAME is
 * correct, and ipc_pairs NAME without lacks the wait that the case's heading names. */
#include "ipc_allocation.h"

#include <stdbool.h>

static bool without;

static cudaStream_t new_stream(void)
{
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

/* ---- what another process's host has waited for ---- */

/* The exporter fills again, in another stream, what its first fill wrote. Only the importer's host
 * knows that the first fill is over, and only an event is shared. Without: the importer's host does
 * not wait for the event. */
CASE(host_elsewhere)
{
    cudaEvent_t done;
    if (importer) {
        done = receive_event();
        if (!without)
            OK(cudaEventSynchronize(done));
        go();
        wait_for_go();
    } else {
        cudaStream_t t = new_stream();
        OK(cudaMallocAsync((void **)&data, MiB, s));
        done = shared_event();
        OK(launch_fill(data, 7, count, s));
        OK(cudaEventRecord(done, s));
        send_event(done);
        wait_for_go();
        OK(launch_fill(data, 8, count, t));
        OK(cudaFreeAsync(data, t));
        OK(cudaDeviceSynchronize());
        go();
    }
    OK(cudaEventDestroy(done));
}

/* A pipeline: the importer's stream waits for the exporter's event and adds; the exporter reads the
 * sum in its copy stream. Without: the importer's host does not wait for its stream before the
 * message. */
CASE(pipeline)
{
    cudaEvent_t ready;
    if (importer) {
        import();
        ready = receive_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(launch_add(data, 1, count, s));
        OK(cudaFreeAsync(data, s));
        if (!without)
            OK(cudaStreamSynchronize(s));
        go();
        wait_for_go();
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolDestroy(pool));
    } else {
        static int h[MiB / sizeof(int)];
        cudaStream_t compute = s, copy = new_stream();
        share();
        ready = shared_event();
        OK(cudaEventRecord(ready, compute));
        send_event(ready);
        wait_for_go();
        OK(cudaMemcpyAsync(h, data, MiB, cudaMemcpyDeviceToHost, copy));
        OK(cudaStreamSynchronize(copy));
        if (h[5] != 8 && !without)
            _exit(6);
        OK(cudaFreeAsync(data, copy));
        OK(cudaDeviceSynchronize());
        OK(cudaMemPoolDestroy(pool));
        go();
    }
    OK(cudaEventDestroy(ready));
}

/* The exporter fills and records. A second process's host waits for the event and sends a message
 * to a third process, which uses the memory. Without: the second's host does not wait. `third`:
 * this process is it; `exporter`: the socket to the exporter, which the second and the third use in
 * turn. */
static int third, exporter;

CASE(second_to_third)
{
    cudaEvent_t ready;
    if (!importer) {
        pool = shared_pool();
        OK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, s));
        OK(launch_fill(data, 7, count, s));
        ready = shared_event();
        OK(cudaEventRecord(ready, s));
        send_event(ready);
        send_block(pool, data);
        exporter_ends();
    } else if (third) {
        wait_for_go();
        channel = exporter;
        import();
        OK(launch_add(data, 1, count, s));
        importer_ends();
        return;
    } else {
        int to_third = channel;
        channel = exporter;
        ready = receive_event();
        channel = to_third;
        if (!without)
            OK(cudaEventSynchronize(ready));
        go();
        int status = child_status();
        if (status)
            _exit(status);
    }
    OK(cudaEventDestroy(ready));
}

/* The importer splits once more. */
static void split_third(const char *name)
{
    if (!importer || strcmp(name, "second_to_third"))
        return;
    exporter = channel;
    third = split();
}

/* ---- an access that outlives its import or pool ---- */

/* The importer fills, frees, and imports the allocation again before it adds in another stream.
 * Without: that stream does not wait for the first. */
CASE(imported_again)
{
    struct cudaMemPoolPtrExportData pointer;
    if (!importer) {
        share();
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolExportPointer(&pointer, data));
        send_bytes(&pointer, sizeof pointer);
        exporter_ends();
        return;
    }
    cudaStream_t t = new_stream();
    import();
    receive_bytes(&pointer, sizeof pointer);
    OK(launch_fill(data, 1, count, s));
    OK(cudaFreeAsync(data, s));
    OK(cudaMemPoolImportPointer((void **)&data, pool, &pointer));
    if (!without)
        OK(cudaStreamSynchronize(s));
    OK(launch_add(data, 1, count, t));
    OK(cudaStreamSynchronize(t));
    importer_ends();
}

/* The importer has destroyed its pool when the exporter reads what it wrote. Without: it has not
 * waited for its stream, whose work is over by chance. */
CASE(pool_destroyed)
{
    if (!importer) {
        share();
        OK(cudaStreamSynchronize(s));
        go();
        wait_for_go();
        expect_elements(8);
        go();
        exporter_ends();
        return;
    }
    import();
    wait_for_go();
    OK(launch_add(data, 1, count, s));
    OK(cudaFreeAsync(data, s));
    if (!without)
        OK(cudaStreamSynchronize(s));
    usleep(20000);
    OK(cudaMemPoolDestroy(pool));
    go();
    wait_for_go();
    OK(cudaStreamSynchronize(s));
    go();
    wait_for_go();
}

/* ---- many accesses, streams, or processes ---- */

/* The exporter fills 100 parts, each in a stream of its own, and the importer writes the first
 * again. Without: its stream does not wait for the first of them. */
CASE(many_parts)
{
    enum { PARTS = 100 };
    const size_t part = count / PARTS;
    cudaEvent_t ready;
    if (importer) {
        import();
        ready = receive_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(launch_fill(data, 9, part, s));
        go();
        wait_for_go();
        importer_ends();
    } else {
        cudaStream_t many[PARTS];
        share();
        OK(cudaStreamSynchronize(s));
        ready = shared_event();
        for (size_t i = 0; i < PARTS; i++) {
            many[i] = new_stream();
            OK(launch_fill(data + i * part, 1, part, many[i]));
        }
        OK(cudaEventRecord(ready, many[without]));
        send_event(ready);
        wait_for_go();
        OK(cudaDeviceSynchronize());
        go();
        exporter_ends();
    }
    OK(cudaEventDestroy(ready));
}

/* The exporter fills, and reads a hundred times; the importer reads too. Without: it does not wait
 * for the fill. */
CASE(read_often)
{
    cudaEvent_t ready;
    if (importer) {
        static int h[MiB / sizeof(int)];
        import();
        ready = receive_event();
        if (!without)
            OK(cudaStreamWaitEvent(s, ready, 0));
        OK(cudaMemcpyAsync(h, data, MiB, cudaMemcpyDeviceToHost, s));
        go();
        importer_ends();
    } else {
        void *copy;
        share();
        ready = shared_event();
        OK(cudaEventRecord(ready, s));
        OK(cudaMallocAsync(&copy, MiB, s));
        for (int i = 0; i < 100; i++)
            OK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDeviceToDevice, s));
        OK(cudaFreeAsync(copy, s));
        send_event(ready);
        wait_for_go();
        exporter_ends();
    }
    OK(cudaEventDestroy(ready));
}

/* The exporter records an event in the newest of 1,100 streams with work that no one has waited
 * for. Without: in the one before. */
CASE(many_streams)
{
    enum { STREAMS = 1100 };
    cudaEvent_t ready;
    if (importer) {
        import();
        ready = receive_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(launch_add(data, 1, count, s));
        importer_ends();
    } else {
        static cudaStream_t many[STREAMS];
        static int *other;
        OK(cudaMalloc((void **)&other, STREAMS * sizeof *other));
        for (int i = 0; i < STREAMS; i++) {
            many[i] = new_stream();
            OK(launch_fill(other + i, 1, 1, many[i]));
        }
        share();
        OK(cudaStreamSynchronize(s));
        OK(launch_fill(data, 7, count, many[STREAMS - 1]));
        ready = shared_event();
        OK(cudaEventRecord(ready, many[STREAMS - 1 - without]));
        send_event(ready);
        exporter_ends();
        OK(cudaDeviceSynchronize());
        OK(cudaFree(other));
    }
    OK(cudaEventDestroy(ready));
}

/* Twenty more importers, each the exporter's child. Without: the last of them frees only after the
 * exporter. `more`: the exporter's sockets to them; `number`: which of them this is, or -1. */
enum { MORE = 20 };
static int more[MORE], number = -1;

static void import_in_turn(void)
{
    import();
    go();
    wait_for_go();
    bool late = without && number == MORE - 1;
    if (!late)
        OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    go();
    wait_for_go();
    if (late)
        OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    exit(0);
}

static void each_sends_and_waits(void (*send)(void))
{
    for (int i = 0; i < MORE; i++) {
        channel = more[i];
        send();
        wait_for_go();
    }
}

static void send_data(void) { send_block(pool, data); }

CASE(many_importers)
{
    int first = channel;
    if (number >= 0)
        import_in_turn();
    if (importer) {
        import();
        importer_ends();
        return;
    }
    share();
    OK(cudaStreamSynchronize(s));
    wait_for_go();
    each_sends_and_waits(send_data);
    each_sends_and_waits(go);
    OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < MORE; i++) {
        channel = more[i];
        go();
    }
    channel = first;
    go();
    OK(cudaMemPoolDestroy(pool));
}

/* Starts the twenty. */
static void split_more(const char *name)
{
    split_third(name);
    if (importer || strcmp(name, "many_importers"))
        return;
    for (int i = 0; i < MORE; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
            _exit(5);
        more[i] = ends[0];
        bool is_parent = fork();
        close(ends[is_parent]);
        if (is_parent)
            continue;
        number = i;
        channel = ends[1];
        for (int k = 0; k < i; k++)
            close(more[k]);
        return;
    }
}

int main(int argc, char **argv)
{
    without = argc > 2 && !strcmp(argv[2], "without");
    return run_pair(argc, argv, split_more);
}
