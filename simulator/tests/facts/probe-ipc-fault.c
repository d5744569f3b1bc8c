/* Records what an importer has of an interprocess event when the exporter's device has failed in
 * front of the record, and the exporter lives on: ipc_fault [CASE]. */
#include "pairs.h"

static cudaEvent_t e;
static cudaIpcEventHandle_t eh;

/* The kernel behind the gate writes to an address that is none. The record is queued behind it, and
 * the importer has seen the event, before the gate opens. */
static void export_and_fault(void)
{
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventInterprocess);
    cudaIpcGetEventHandle(&eh, e);
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped);
    hold(s);
    launch_fill((int *)(uintptr_t)4096, 1, 16, s);
    cudaEventRecord(e, s);
    send_bytes(&eh, sizeof eh);
    await_turn();
    open_gate();
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventQuery(e));
    pass_turn();
    await_end();
}

static void open_event(void)
{
    receive_bytes(&eh, sizeof eh);
    RECORD(cudaIpcOpenEventHandle(&e, eh));
    RECORD(cudaEventQuery(e));
    take_turns();
    RECORD(cudaEventQuery(e));
}

IMPORTER(stream_waits, export_and_fault)
{
    open_event();
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD_SYNC(cudaStreamQuery(s), s);
    RECORD(cudaGetLastError());
}

IMPORTER(host_waits, export_and_fault)
{
    open_event();
    RECORD(cudaEventSynchronize(e));
    RECORD(cudaGetLastError());
}

int main(int argc, char **argv) { return run_pairs(argc, argv); }
