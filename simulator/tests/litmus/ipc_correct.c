/* Correct ways in which two or three processes order their work on one allocation: ipc_correct
 * NAME. Nothing may be reported. */
#include "ipc_allocation.h"

static void send_go(void *unused)
{
    (void)unused;
    go();
}
static void await_go(void *unused)
{
    (void)unused;
    wait_for_go();
}

/* A host function after the write sends the message that the allocation is ready. */
CASE(sent_by_host_function)
{
    if (importer) {
        import();
        wait_for_go();
        expect_elements(7);
        importer_ends();
        return;
    }
    share();
    OK(cudaLaunchHostFunc(s, send_go, NULL));
    exporter_ends();
    OK(cudaStreamSynchronize(s));
}

/* The exporter's free is queued at once, after a host function that waits for the importer's
 * message. */
CASE(free_behind_host_function)
{
    if (importer) {
        import();
        cudaEvent_t ready = receive_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        wait_for_go(); /* the free is queued */
        expect_elements(7);
        importer_ends();
        OK(cudaEventDestroy(ready));
        return;
    }
    share();
    cudaEvent_t ready = shared_event();
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    OK(cudaLaunchHostFunc(s, await_go, NULL));
    OK(cudaFreeAsync(data, s));
    go();
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaEventDestroy(ready));
    go();
}

/* The exporter's second write is queued at once, after a host function that waits for a message of
 * the importer. */
CASE(write_behind_host_function)
{
    cudaEvent_t ready;
    if (importer) {
        import();
        ready = receive_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        wait_for_go(); /* the write is queued */
        expect_elements(7);
        go();
        importer_ends();
        OK(cudaEventDestroy(ready));
        return;
    }
    share();
    ready = shared_event();
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    OK(cudaLaunchHostFunc(s, await_go, NULL));
    OK(launch_fill(data, 8, count, s));
    go();
    OK(cudaStreamSynchronize(s));
    expect_elements(8);
    exporter_ends();
    OK(cudaEventDestroy(ready));
}

/* One event in each direction, recorded again in each round; each side adds 1. No one waits before
 * the end, so many records of one event may be pending. */
CASE(rounds)
{
    enum { ROUNDS = 300 };
    cudaEvent_t there, back;
    if (importer) {
        import();
        there = receive_event();
        back = shared_event();
        send_event(back);
    } else {
        share();
        there = shared_event();
        send_event(there);
        back = receive_event();
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (importer)
            wait_for_go();
        if (importer || i)
            OK(cudaStreamWaitEvent(s, importer ? there : back, 0));
        OK(launch_add(data, 1, count, s));
        OK(cudaEventRecord(importer ? back : there, s));
        go();
        if (!importer)
            wait_for_go();
    }
    if (importer) {
        importer_ends();
    } else {
        OK(cudaStreamWaitEvent(s, back, 0));
        expect_elements(7 + 2 * ROUNDS);
        exporter_ends();
    }
    OK(cudaEventDestroy(there));
    OK(cudaEventDestroy(back));
}

/* One event, which either side records. */
CASE(one_event)
{
    cudaEvent_t event;
    if (importer) {
        import();
        event = receive_event();
        wait_for_go();
        OK(cudaStreamWaitEvent(s, event, 0));
        OK(launch_add(data, 1, count, s));
        OK(cudaEventRecord(event, s));
        go();
        importer_ends();
    } else {
        share();
        event = shared_event();
        send_event(event);
        OK(cudaEventRecord(event, s));
        go();
        wait_for_go();
        OK(cudaStreamWaitEvent(s, event, 0));
        OK(launch_add(data, 1, count, s));
        expect_elements(9);
        exporter_ends();
    }
    OK(cudaEventDestroy(event));
}

/* The wait is in one stream, and the free in another that waits for it. `how`: 's' by an event of
 * its own, 'h' the host waits for the importer's event, 'q' it queries that event. */
static void free_elsewhere(int importer, char how)
{
    cudaEvent_t ready, done, own;
    if (importer) {
        import();
        ready = receive_event();
        done = shared_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(launch_add(data, 1, count, s));
        OK(cudaFreeAsync(data, s));
        OK(cudaEventRecord(done, s));
        send_event(done);
        wait_for_go();
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolDestroy(pool));
    } else {
        cudaStream_t t;
        OK(cudaStreamCreate(&t));
        OK(cudaEventCreate(&own));
        share();
        ready = shared_event();
        OK(cudaEventRecord(ready, s));
        send_event(ready);
        done = receive_event();
        if (how == 's') {
            OK(cudaStreamWaitEvent(t, done, 0));
            OK(cudaEventRecord(own, t));
            OK(cudaStreamWaitEvent(s, own, 0));
        } else if (how == 'h') {
            OK(cudaEventSynchronize(done));
        } else {
            while (cudaEventQuery(done) == cudaErrorNotReady)
                usleep(1000);
        }
        OK(cudaFreeAsync(data, how == 's' ? s : t));
        OK(cudaDeviceSynchronize());
        OK(cudaMemPoolDestroy(pool));
        OK(cudaEventDestroy(own));
        OK(cudaStreamDestroy(t));
        go();
    }
    OK(cudaEventDestroy(ready));
    OK(cudaEventDestroy(done));
}

CASE(free_by_own_event) { free_elsewhere(importer, 's'); }
CASE(free_after_host_wait) { free_elsewhere(importer, 'h'); }
CASE(free_after_query) { free_elsewhere(importer, 'q'); }

/* The importer frees with cudaFree, and the exporter acquires that through a message. */
CASE(import_freed_by_cudafree)
{
    if (!importer) {
        share();
        OK(cudaStreamSynchronize(s));
        go();
        exporter_ends();
        return;
    }
    import();
    wait_for_go();
    expect_elements(7);
    OK(cudaFree(data));
    go();
    wait_for_go();
    OK(cudaMemPoolDestroy(pool));
}

/* Imported twice, freed once; both imports have one address. */
CASE(imported_twice)
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
    void *again;
    import();
    receive_bytes(&pointer, sizeof pointer);
    OK(cudaMemPoolImportPointer(&again, pool, &pointer));
    if (again != data)
        _exit(6);
    expect_elements(7);
    importer_ends();
}

/* A third process waits only for the second's event, which comes after the first's: an edge across
 * two process boundaries. `third`: this process is it; `second`: the second's end of the socket to
 * it. */
static int third, second;

CASE(relay)
{
    struct cudaMemPoolPtrExportData pointer;
    cudaEvent_t ready, done;
    int descriptor;
    if (!importer) {
        share();
        ready = shared_event();
        OK(cudaEventRecord(ready, s));
        send_event(ready);
        OK(cudaMemPoolExportToShareableHandle(&descriptor, pool,
                                              cudaMemHandleTypePosixFileDescriptor, 0));
        OK(cudaMemPoolExportPointer(&pointer, data));
        send_descriptor(descriptor);
        close(descriptor);
        send_bytes(&pointer, sizeof pointer);
        done = receive_event(); /* the second's; the third has freed */
        OK(cudaStreamWaitEvent(s, done, 0));
        OK(cudaFreeAsync(data, s));
        OK(cudaStreamSynchronize(s));
        go();
        return;
    }
    if (third) {
        import();
        done = receive_event();
        OK(cudaStreamWaitEvent(s, done, 0));
        OK(launch_add(data, 1, count, s));
        OK(cudaFreeAsync(data, s));
        ready = shared_event();
        OK(cudaEventRecord(ready, s));
        send_event(ready);
        wait_for_go();
        OK(cudaStreamSynchronize(s));
        return;
    }
    int first = channel;
    import();
    ready = receive_event();
    OK(cudaStreamWaitEvent(s, ready, 0));
    OK(launch_add(data, 1, count, s));
    done = shared_event();
    OK(cudaEventRecord(done, s));
    descriptor = receive_descriptor();
    receive_bytes(&pointer, sizeof pointer);
    channel = second;
    send_descriptor(descriptor);
    send_bytes(&pointer, sizeof pointer);
    send_event(done);
    cudaEvent_t later = receive_event();
    OK(cudaStreamWaitEvent(s, later, 0));
    OK(launch_add(data, 1, count, s));
    expect_elements(10);
    OK(cudaFreeAsync(data, s));
    OK(cudaEventRecord(done, s));
    channel = first;
    send_event(done);
    wait_for_go();
    channel = second;
    go();
    OK(cudaStreamSynchronize(s));
    int status = child_status();
    if (status)
        _exit(status);
}

/* The relay's importer splits once more. */
static void split_relay(const char *name)
{
    if (!importer || strcmp(name, "relay"))
        return;
    int first = channel;
    third = split();
    second = channel;
    if (!third)
        channel = first;
}

int main(int argc, char **argv) { return run_pair(argc, argv, split_relay); }
