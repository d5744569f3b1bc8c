/* Records, with two GPUs, what else an importing process may do: free by cudaFree, ask for
 * attributes, import a pool of a GPU that it does not see. */
#define CALL_COLUMNS 96
#include "pairs.h"

static void send_sevens(void)
{
    share(shared_pool(UINT64_MAX), 4 * MiB);
    launch_fill(a, 7, MiB, s);
    send_shared();
}

static void record_import(void)
{
    receive_shared();
    RECORD(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
}

static void note_pool(const char *when)
{
    NOTE("%s: used %llu reserved %llu", when, bytes_used(p), bytes_reserved(p));
}

#define POOL_AFTER(call, when) ((void)(call), note_pool(when))

static void export_until_turn(void)
{
    send_sevens();
    POOL_AFTER(await_turn(), "the importer has freed");
    NOTE("value %d", first_value(a));
    RECORD(cudaFree(a));
    POOL_AFTER(RECORD(cudaDeviceSynchronize()), "freed here as well");
    POOL_AFTER(RECORD(cudaMemPoolTrimTo(p, 0)), "trimmed");
}

/* May both processes free by cudaFree, the importer first? */
IMPORTER(freed_by_cuda_free, export_until_turn)
{
    record_import();
    NOTE("value %d", first_value(q));
    RECORD(cudaFree(q));
    RECORD(cudaDeviceSynchronize());
    RECORD(cudaMemset(q, 0, 4));
    RECORD(cudaFree(q));
    pass_turn();
}

/* Does cudaFree of imported memory wait for work that is pending in the importer? */
IMPORTER(freed_by_cuda_free_behind_work, export_until_turn)
{
    record_import();
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped);
    open_gate();
    launch_hold(gate, s);
    cudaStreamSynchronize(s);
    RECORD_WAIT(launch_hold(gate, s), cudaFree(q), "cudaFree(q)");
    pass_turn();
}

/* May both processes free by cudaFree, the exporter first? */
static void export_and_free(void)
{
    send_sevens();
    await_turn();
    RECORD(cudaFree(a));
    POOL_AFTER(RECORD(cudaDeviceSynchronize()), "freed here first");
    POOL_AFTER(take_turns(), "freed there");
}

IMPORTER(freed_by_cuda_free_exporter_first, export_and_free)
{
    record_import();
    take_turns();
    NOTE("value %d", first_value(q));
    RECORD(cudaFree(q));
    RECORD(cudaDeviceSynchronize());
    pass_turn();
}

static void export_until_end(void)
{
    send_sevens();
    await_turn();
}

IMPORTER(attributes, export_until_end)
{
    record_import();
    for (int i = 1; i <= 16; i++) {
        uint64_t value = 77;
        cudaError_t error = cudaMemPoolGetAttribute(im, (enum cudaMemPoolAttr)i, &value);
        NOTE("attribute %d: %s %llu", i, cudaGetErrorName(error), (unsigned long long)value);
    }
    cudaGetLastError();
    RECORD_SYNC(cudaFreeAsync(q, s), s);
    pass_turn();
}

/* The process is started anew by exec, with the variable in its environment: nothing of CUDA is
 * there before. run_pair has made a stream, which ends with the process that was. */
static char *self;

static void see_only(const char *gpus)
{
    char number[16];
    snprintf(number, sizeof number, "%d", channel);
    setenv("CUDA_VISIBLE_DEVICES", gpus, 1);
    setenv("PROBE_SOCKET", number, 1);
    execl("/proc/self/exe", self, (char *)NULL);
    _exit(127);
}

IMPORTER(importer_sees_gpu_1_only, export_until_end) { see_only("1"); }
IMPORTER(importer_sees_gpu_1_first, export_until_end) { see_only("1,0"); }
IMPORTER(importer_sees_none, export_until_end) { see_only("-1"); }

/* What does the import of a pool return, and its use, where its GPU is not to be seen, is another
 * number, or there is none? */
static void import_elsewhere(void)
{
    int count = -1;
    struct cudaPointerAttributes attributes = {.device = 0};
    RECORD(cudaGetDeviceCount(&count));
    NOTE("%d", count);
    receive_shared();
    RECORD(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    if (!im)
        return;
    for (int device = 0; device < count; device++) {
        struct cudaMemLocation where = {DEVICE, device};
        enum cudaMemAccessFlags flags = (enum cudaMemAccessFlags)77;
        RECORD(cudaMemPoolGetAccess(&flags, im, &where));
        NOTE("access of %d: %d", device, (int)flags);
    }
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    if (!q)
        return;
    RECORD(cudaPointerGetAttributes(&attributes, q));
    NOTE("type %d device %d", (int)attributes.type, attributes.device);
    cudaStreamCreate(&s);
    RECORD(cudaMemsetAsync(q, 1, 4, s));
    RECORD(cudaMemcpy(&count, q, sizeof count, cudaMemcpyDeviceToHost));
    struct cudaMemAccessDesc desc = {{DEVICE, 0}, cudaMemAccessFlagsProtReadWrite};
    RECORD(cudaMemPoolSetAccess(im, &desc, 1));
    RECORD(cudaMemsetAsync(q, 1, 4, s));
    RECORD_SYNC(launch_add(q, 1, 16, s), s);
    RECORD_SYNC(cudaFreeAsync(q, s), s);
}

static int in_part(void)
{
    channel = atoi(getenv("PROBE_SOCKET"));
    shows_last_error = 0;
    alarm(12);
    import_elsewhere();
    puts("end");
    pass_turn();
    return 0;
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (getenv("PROBE_SOCKET"))
        return in_part();
    return run_pairs(argc, argv);
}
