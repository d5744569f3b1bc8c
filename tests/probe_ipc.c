/* Asks a real device what sharing between processes answers, beyond what tests/facts/ipc.txt has.
 *
 *   probe_ipc          every case (probe_pairs.h says how)
 *   probe_ipc CASE     one case
 *
 * Build: gcc, kernels.o, libcudart, as for probe.c. It runs on the simulated device, too. */
#define _GNU_SOURCE
#include "probe_ipc_alone.h"

/* ---- two processes: pools ---- */

static void export_pool(void)
{
    put_shared();
    cudaMallocFromPoolAsync(&b, 100 * MiB, p, s);
    cudaStreamSynchronize(s);
    cudaMemPoolExportPointer(&y, b);
    put(&y, sizeof y);
    hear();
    ASK(cudaMemPoolDestroy(p));
    tell();
    hear();
}

static void import_pool(void)
{
    struct cudaPointerAttributes about;
    void *again;
    get_shared();
    get(&y, sizeof y);
    SAY("access %d", access_of(im));
    ASK(set_access(im, cudaMemAccessFlagsProtReadWrite));
    ASK(set_access(im, cudaMemAccessFlagsProtRead));
    ASK(set_access(im, cudaMemAccessFlagsProtNone));
    SAY("access %d", access_of(im));
    ASK(cudaMemPoolImportPointer(&r, im, &y));
    SAY("the second block lies %lld MiB further; the first at a multiple of 32 MiB %d", ((long long)((char *)r - (char *)q)) / (long long)MiB, (uintptr_t)q % (32 * MiB) == 0);
    ASK(cudaPointerGetAttributes(&about, q));
    SAY("type %d device %d", (int)about.type, about.device);
    ASK(cudaMemsetAsync(q, 1, 4 * MiB, s));
    ASK(cudaMemsetAsync(q, 1, 4 * MiB + 1, s));
    ASK(cudaIpcGetMemHandle(&mh, q));
    ASK(cudaFreeAsync((char *)q + 512, s));
    ASK(cudaFreeAsync(q, s));
    ASK(cudaFreeAsync(q, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaMemsetAsync(q, 1, 4096, s));
    ASK(cudaMemPoolImportPointer(&again, im, &x));
    SAY("imported again after the free: the same address %d", again == q);
    ASK(cudaFree(again));
    ASK(cudaMemPoolImportPointer(&again, im, &x));
    ASK(cudaMemPoolDestroy(im));
    ASK(cudaMemsetAsync(again, 1, 4096, s));
    ASK(cudaFreeAsync(again, s));
    ASK(cudaStreamSynchronize(s));
    tell();
    hear();
    SAY("the exporter has destroyed its pool");
    ASK(cudaMemPoolImportPointer(&again, im, &x));
    ASK(cudaMemsetAsync(r, 1, 4096, s));
    ASK(cudaFreeAsync(again, s));
    ASK(cudaFreeAsync(r, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaMemPoolDestroy(im));
    tell();
}

/* ---- two processes: events ---- */

static void export_event(void)
{
    e = event();
    cudaIpcGetEventHandle(&eh, e);
    put(&eh, sizeof eh);
    hear();
    int *gate = hold();
    cudaEventRecord(e, s);
    tell();
    hear();
    *gate = 1;
    cudaStreamSynchronize(s);
    tell();
    hear();
    SAY("the importer has recorded it behind a hold");
    ASK(cudaEventQuery(e));
    ASK(cudaStreamWaitEvent(s, e, 0));
    ASK(cudaStreamQuery(s));
    tell();
    ASK(cudaEventSynchronize(e));
    ASK(cudaStreamSynchronize(s));
    hear();
    ASK(cudaEventDestroy(e));
    tell();
    hear();
}

static void import_event(void)
{
    cudaIpcEventHandle_t again;
    float ms;
    int *gate = hold();
    *gate = 1;
    cudaStreamSynchronize(s);
    get(&eh, sizeof eh);
    ASK(cudaIpcOpenEventHandle(&e, eh));
    ASK(cudaIpcOpenEventHandle(&f, eh));
    SAY("twice: the same event %d", e == f);
    ASK(cudaEventQuery(e));
    ASK(cudaStreamWaitEvent(s, e, 0));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaEventSynchronize(e));
    ASK(cudaIpcGetEventHandle(&again, e));
    ASK(cudaEventElapsedTime(&ms, e, f));
    tell();
    hear();
    SAY("the exporter has recorded it behind a hold");
    ASK(cudaEventQuery(e));
    ASK(cudaStreamWaitEvent(s, e, 0));
    ASK(cudaStreamQuery(s));
    tell();
    ASK(cudaStreamSynchronize(s));
    ASK(cudaEventQuery(e));
    hear();
    gate = hold();
    ASK(cudaEventRecord(e, s));
    ASK(cudaEventQuery(f));
    tell();
    hear();
    *gate = 1;
    ASK(cudaStreamSynchronize(s));
    tell();
    hear();
    SAY("the exporter has destroyed it");
    ASK(cudaEventQuery(e));
    ASK(cudaEventRecord(e, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaEventDestroy(e));
    ASK(cudaEventDestroy(f));
    ASK(cudaIpcOpenEventHandle(&f, eh));
    tell();
}

static void export_event_and_end(void) { e = event(); cudaIpcGetEventHandle(&eh, e); put(&eh, sizeof eh); }
static void import_event_of_ended(void) { get(&eh, sizeof eh); hear_the_end(); ASK(cudaIpcOpenEventHandle(&e, eh)); }

/* ---- two processes: one is killed ---- */

static void export_and_die(void)
{
    put_shared();
    e = event();
    cudaIpcGetEventHandle(&eh, e);
    put(&eh, sizeof eh);
    hold();
    cudaEventRecord(e, s);
    tell();
    hear();
    kill(getpid(), SIGKILL);
}

static void import_from_dead(void)
{
    int v = 0;
    get_shared();
    get(&eh, sizeof eh);
    hear();
    cudaIpcOpenEventHandle(&e, eh);
    tell();
    hear_the_end();
    ASK(cudaMemcpyAsync(&v, q, sizeof v, cudaMemcpyDeviceToHost, s));
    ASK(cudaStreamSynchronize(s));
    SAY("value %x", v);
    ASK(cudaMemPoolImportPointer(&r, im, &x));
    ASK(cudaFreeAsync(q, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaEventQuery(e));
    ASK(cudaStreamWaitEvent(s, e, 0));
    ASK(cudaStreamSynchronize(s));
}

static void export_to_dead(void)
{
    put_shared();
    get(&eh, sizeof eh);
    cudaIpcOpenEventHandle(&f, eh);
    tell();
    hear_the_end();
    ASK(cudaMemsetAsync(a, 1, 4 * MiB, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaFreeAsync(a, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaMemPoolTrimTo(p, 0));
    ASK(cudaEventQuery(f));
}

static void import_and_die(void)
{
    get_shared();
    e = event();
    cudaIpcGetEventHandle(&eh, e);
    hold();
    cudaEventRecord(e, s);
    put(&eh, sizeof eh);
    hear();
    kill(getpid(), SIGKILL);
}

/* ---- the cases ---- */

static const struct pair cases[] = {
    { "pool_export", pool_export, NULL }, { "pool_import", pool_import, NULL }, { "pool_import_destroyed", pool_import_destroyed, NULL },
    { "pool_exporter_destroyed", pool_exporter_destroyed, NULL }, { "pool_freed_block", pool_freed_block, NULL }, { "pool_other_types", pool_other_types, NULL },
    { "pool_empty_fabric", pool_empty_fabric, NULL }, { "pool_descriptor_as_fabric", pool_descriptor_as_fabric, NULL }, { "event_handles", event_handles, NULL }, { "event_handle_nowhere", event_handle_nowhere, NULL },
    { "pool", export_pool, import_pool }, { "event", export_event, import_event }, { "event_of_ended", export_event_and_end, import_event_of_ended },
    { "exporter_killed", export_and_die, import_from_dead }, { "importer_killed", export_to_dead, import_and_die },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if ((argc < 2 || !strcmp(argv[1], cases[i].name)) && run_pair(&cases[i])) return 1;
    return 0;
}
