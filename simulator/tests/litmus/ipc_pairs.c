/* Ways in which two or more processes order their work on one allocation. ipc_pairs NAME is
 * correct; ipc_pairs NAME without lacks what the heading of its case names after "Without", and
 * must be reported in the process whose call comes second. What ordinary events, waits and messages
 * order is also in the programs of random.c. */
#include "../unit/ipc_pair.h"

#include <stdbool.h>

static bool without;
static const size_t count = MiB / sizeof(int);
static int *data;
static cudaMemPool_t pool;

/* Returns the exporter's allocation, filled with 7 by work that no one has waited for. */
static void share(void)
{
    pool = pool_to_share();
    OK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, s));
    OK(launch_fill(data, 7, count, s));
    send_block(pool, data);
}

static void import(void) { data = receive_block(&pool); }

/* The importer's last calls, after which the exporter may free; and the exporter's last calls,
 * after a message from the importer. */
static void importer_ends(void)
{
    free_block(data);
    take_turns();
    OK(cudaMemPoolDestroy(pool));
}

static void exporter_ends(void)
{
    wait_for_go();
    free_block(data);
    OK(cudaMemPoolDestroy(pool));
    go();
}

static void expect_elements(int value)
{
    static int h[MiB / sizeof(int)];
    OK(cudaMemcpyAsync(h, data, MiB, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (size_t i = 0; i < count; i++)
        if (h[i] != value)
            _exit(6);
}

/* Returns an event that comes after the stream's work so far, for the other process, which makes
 * its stream wait for it. */
static cudaEvent_t send_record(void)
{
    cudaEvent_t event = shared_event();
    OK(cudaEventRecord(event, s));
    send_event(event);
    return event;
}

static void await_record(void) { OK(cudaStreamWaitEvent(s, receive_event(), 0)); }

/* A case in two parts: what the importer does between its import and its last calls, and what the
 * exporter does between its fill and its own. */
#define IMPORTS(name) static void name##_imports(void)
#define EXPORTS(name)                 \
    static void name##_exports(void); \
    CASE(name)                        \
    {                                 \
        if (importer) {               \
            import();                 \
            name##_imports();         \
            importer_ends();          \
        } else {                      \
            share();                  \
            name##_exports();         \
            exporter_ends();          \
        }                             \
    }                                 \
    static void name##_exports(void)

static void send_pointer(void)
{
    struct cudaMemPoolPtrExportData pointer;
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolExportPointer(&pointer, data));
    send_bytes(&pointer, sizeof pointer);
}

static cudaStream_t new_stream(void)
{
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

/* ---- host functions, and cases that lack nothing ---- */

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
IMPORTS(sent_by_host_function)
{
    wait_for_go();
    expect_elements(7);
}

EXPORTS(sent_by_host_function) { OK(cudaLaunchHostFunc(s, send_go, NULL)); }

/* The exporter's free is queued at once, after a host function that waits for the importer's
 * message. */
CASE(free_behind_host_function)
{
    if (importer) {
        import();
        await_record();
        wait_for_go(); /* the free is queued */
        expect_elements(7);
        importer_ends();
        return;
    }
    share();
    send_record();
    OK(cudaLaunchHostFunc(s, await_go, NULL));
    OK(cudaFreeAsync(data, s));
    go();
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    go();
}

/* The exporter's second write is queued at once, after a host function that waits for a message of
 * the importer. */
IMPORTS(write_behind_host_function)
{
    await_record();
    wait_for_go(); /* the write is queued */
    expect_elements(7);
    go();
}

EXPORTS(write_behind_host_function)
{
    send_record();
    OK(cudaLaunchHostFunc(s, await_go, NULL));
    OK(launch_fill(data, 8, count, s));
    go();
    OK(cudaStreamSynchronize(s));
    expect_elements(8);
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
}

/* Imported twice, freed once; both imports have one address. */
IMPORTS(imported_twice)
{
    struct cudaMemPoolPtrExportData pointer;
    void *again;
    receive_bytes(&pointer, sizeof pointer);
    OK(cudaMemPoolImportPointer(&again, pool, &pointer));
    if (again != data)
        _exit(6);
    expect_elements(7);
}

EXPORTS(imported_twice) { send_pointer(); }

/* ---- records, waits, messages, and frees ---- */

/* The importer adds what the exporter filled. Without: the exporter records before it fills. */
IMPORTS(recorded_after_the_write)
{
    await_record();
    OK(launch_add(data, 1, count, s));
}

EXPORTS(recorded_after_the_write)
{
    cudaEvent_t ready = shared_event();
    if (without)
        OK(cudaEventRecord(ready, s));
    OK(launch_fill(data, 9, count, s));
    if (!without)
        OK(cudaEventRecord(ready, s));
    send_event(ready);
}

/* The same. Without: the importer waits before the exporter has recorded, when there is nothing to
 * wait for yet. */
IMPORTS(waited_after_the_record)
{
    cudaEvent_t ready = receive_event();
    if (without)
        OK(cudaStreamWaitEvent(s, ready, 0));
    take_turns();
    if (!without)
        OK(cudaStreamWaitEvent(s, ready, 0));
    OK(launch_add(data, 1, count, s));
}

EXPORTS(waited_after_the_record)
{
    cudaEvent_t ready = shared_event();
    send_event(ready);
    wait_for_go();
    OK(cudaEventRecord(ready, s));
    go();
}

/* The importer's event comes after its free, and the exporter waits for it before its own. */
static void free_in_turn(bool records_last, bool waits)
{
    if (importer) {
        import();
        cudaEvent_t done = shared_event();
        await_record();
        OK(launch_add(data, 1, count, s));
        if (!records_last)
            OK(cudaEventRecord(done, s));
        OK(cudaFreeAsync(data, s));
        if (records_last)
            OK(cudaEventRecord(done, s));
        send_event(done);
        wait_for_go();
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolDestroy(pool));
        return;
    }
    share();
    send_record();
    cudaEvent_t done = receive_event();
    if (waits)
        OK(cudaStreamWaitEvent(s, done, 0));
    free_block(data);
    OK(cudaMemPoolDestroy(pool));
    go();
}

/* Without: the event is recorded before the importer's free. */
CASE(recorded_after_the_free) { free_in_turn(!without, true); }
/* Without: the exporter does not wait for the event. */
CASE(freed_after_a_wait) { free_in_turn(true, !without); }

/* Without: the importer ends without freeing. */
CASE(freed_at_the_end)
{
    if (importer) {
        import();
        wait_for_go();
        expect_elements(7);
        if (!without)
            OK(cudaFreeAsync(data, s));
        OK(cudaStreamSynchronize(s));
        return;
    }
    share();
    OK(cudaStreamSynchronize(s));
    go();
    int status = child_status();
    free_block(data);
    exit(status);
}

/* ---- what another process's host has waited for ---- */

/* The exporter fills again, in another stream, what its first fill wrote. Only the importer's host
 * knows that the first fill is over, and only an event is shared. Without: the importer's host does
 * not wait for the event. */
CASE(host_elsewhere)
{
    if (importer) {
        cudaEvent_t done = receive_event();
        if (!without)
            OK(cudaEventSynchronize(done));
        take_turns();
    } else {
        cudaStream_t t = new_stream();
        OK(cudaMallocAsync((void **)&data, MiB, s));
        OK(launch_fill(data, 7, count, s));
        send_record();
        wait_for_go();
        OK(launch_fill(data, 8, count, t));
        OK(cudaFreeAsync(data, t));
        OK(cudaDeviceSynchronize());
        go();
    }
}

/* ---- an access that outlives its import or pool ---- */

/* The importer fills, frees, and imports the allocation again before it adds in another stream.
 * Without: that stream does not wait for the first. */
IMPORTS(imported_again)
{
    struct cudaMemPoolPtrExportData pointer;
    cudaStream_t t = new_stream();
    receive_bytes(&pointer, sizeof pointer);
    OK(launch_fill(data, 1, count, s));
    OK(cudaFreeAsync(data, s));
    OK(cudaMemPoolImportPointer((void **)&data, pool, &pointer));
    if (!without)
        OK(cudaStreamSynchronize(s));
    OK(launch_add(data, 1, count, t));
    OK(cudaStreamSynchronize(t));
}

EXPORTS(imported_again) { send_pointer(); }

/* The importer has destroyed its pool when the exporter reads what it wrote. Without: it has not
 * waited for its stream, whose work is over by chance. */
CASE(pool_destroyed)
{
    if (!importer) {
        share();
        OK(cudaStreamSynchronize(s));
        take_turns();
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
    take_turns();
    OK(cudaStreamSynchronize(s));
    take_turns();
}

/* ---- many accesses, streams, or processes ---- */

/* The exporter fills 100 parts, each in a stream of its own, and the importer writes the first
 * again. Without: its stream does not wait for the first of them. */
enum { PARTS = 100 };
static const size_t part = MiB / sizeof(int) / PARTS;

IMPORTS(many_parts)
{
    await_record();
    OK(launch_fill(data, 9, part, s));
    take_turns();
}

EXPORTS(many_parts)
{
    cudaStream_t many[PARTS];
    OK(cudaStreamSynchronize(s));
    cudaEvent_t ready = shared_event();
    for (size_t i = 0; i < PARTS; i++) {
        many[i] = new_stream();
        OK(launch_fill(data + i * part, 1, part, many[i]));
    }
    OK(cudaEventRecord(ready, many[without]));
    send_event(ready);
    wait_for_go();
    OK(cudaDeviceSynchronize());
    go();
}

/* The exporter fills, and reads a hundred times; the importer reads too. Without: it does not wait
 * for the fill. */
IMPORTS(read_often)
{
    static int h[MiB / sizeof(int)];
    cudaEvent_t ready = receive_event();
    if (!without)
        OK(cudaStreamWaitEvent(s, ready, 0));
    OK(cudaMemcpyAsync(h, data, MiB, cudaMemcpyDeviceToHost, s));
    go();
}

EXPORTS(read_often)
{
    void *copy;
    cudaEvent_t ready = shared_event();
    OK(cudaEventRecord(ready, s));
    OK(cudaMallocAsync(&copy, MiB, s));
    for (int i = 0; i < 100; i++)
        OK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(copy, s));
    send_event(ready);
    wait_for_go();
}

/* The exporter records an event in the newest of 1,100 streams with work that no one has waited
 * for. Without: in the one before. */
CASE(many_streams)
{
    enum { STREAMS = 1100 };
    if (importer) {
        import();
        await_record();
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
        cudaEvent_t ready = shared_event();
        OK(cudaEventRecord(ready, many[STREAMS - 1 - without]));
        send_event(ready);
        exporter_ends();
        OK(cudaDeviceSynchronize());
        OK(cudaFree(other));
    }
}

/* Twenty more importers, each the exporter's child. Without: the last of them frees only after the
 * exporter. `more`: the exporter's sockets to them; `number`: which of them this is, or -1. */
enum { MORE = 20 };
static int more[MORE], number = -1;

static void import_in_turn(void)
{
    import();
    take_turns();
    bool late = without && number == MORE - 1;
    if (!late)
        OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    take_turns();
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
    free_block(data);
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
