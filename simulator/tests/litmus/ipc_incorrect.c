/* Incorrect ways in which two processes order their work on one allocation: ipc_incorrect NAME.
 * Each must be reported, in the process whose call comes second. */
#include "ipc_allocation.h"

/* The importer's event is recorded before its free, so the exporter's free is not ordered after
 * that. */
CASE(recorded_before_the_free)
{
    cudaEvent_t done;
    if (importer) {
        import();
        done = shared_event();
        wait_for_go();
        OK(launch_add(data, 1, count, s));
        OK(cudaEventRecord(done, s));
        OK(cudaFreeAsync(data, s));
        send_event(done);
        wait_for_go();
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolDestroy(pool));
        return;
    }
    share();
    OK(cudaStreamSynchronize(s));
    go();
    done = receive_event();
    OK(cudaStreamWaitEvent(s, done, 0));
    OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    go();
}

/* The exporter frees without a wait for the importer's event, while the importer's write may still
 * run. */
CASE(freed_without_a_wait)
{
    cudaEvent_t ready, done;
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
        OK(cudaMemPoolDestroy(pool));
        return;
    }
    share();
    ready = shared_event();
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    done = receive_event();
    OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    go();
}

/* The event is recorded before the write. */
CASE(recorded_too_early)
{
    cudaEvent_t ready;
    if (importer) {
        import();
        ready = receive_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(launch_add(data, 1, count, s));
        go();
        importer_ends();
        return;
    }
    share();
    ready = shared_event();
    OK(cudaStreamSynchronize(s));
    OK(cudaEventRecord(ready, s));
    OK(launch_fill(data, 9, count, s));
    send_event(ready);
    wait_for_go();
    exporter_ends();
}

/* The importer waits before the exporter has recorded, when there is nothing to wait for yet. */
CASE(waited_too_early)
{
    cudaEvent_t ready;
    if (importer) {
        import();
        ready = receive_event();
        OK(cudaStreamWaitEvent(s, ready, 0));
        go();
        wait_for_go();
        OK(launch_add(data, 1, count, s));
        OK(cudaStreamSynchronize(s));
        importer_ends();
        return;
    }
    share();
    ready = shared_event();
    send_event(ready);
    wait_for_go();
    OK(cudaEventRecord(ready, s));
    go();
    exporter_ends();
}

/* The importer sends a message after its write, without waiting for it; the exporter reads. */
CASE(read_back_unordered)
{
    if (importer) {
        import();
        wait_for_go();
        OK(launch_add(data, 1, count, s));
        go();
        wait_for_go();
        importer_ends();
        return;
    }
    share();
    OK(cudaStreamSynchronize(s));
    go();
    wait_for_go();
    OK(launch_add(data, 1, count, s));
    OK(cudaStreamSynchronize(s));
    go();
    exporter_ends();
}

/* The importer ends without freeing. */
CASE(never_freed)
{
    if (importer) {
        import();
        wait_for_go();
        expect_elements(7);
        return;
    }
    share();
    OK(cudaStreamSynchronize(s));
    go();
    int status = child_status();
    OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    exit(status);
}

int main(int argc, char **argv) { return run_pair(argc, argv, NULL); }
