/* Two processes that share memory of a pool or of cudaMalloc: ipc_cases NAME. The exporter's exit
 * status is its own unless the importer's is not 0; the checker's is 3. */
#include "ipc_pair.h"

#include <cuda.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

static int *block;
static const size_t count = MiB / sizeof(int);

static void *allocate(cudaMemPool_t pool)
{
    OK(cudaMallocFromPoolAsync((void **)&block, MiB, pool, s));
    OK(launch_fill(block, 7, count, s));
    return block;
}

/* ---- what a pool keeps of its exported allocations ---- */

enum { KEPT = 1024, BYTES = 512 };

/* As many allocations as the pool has entries for. A freed one makes room for another, but not
 * while a process has it imported, which is reported. What was done to the first does not count for
 * the other. */
CASE(entries)
{
    cudaMemPool_t pool;
    struct cudaMemPoolPtrExportData data;
    static void *all[KEPT + 1];
    cudaStream_t other;
    if (importer) {
        all[0] = receive_block(&pool);
        receive_bytes(&data, sizeof data);
        take_turns();
        free_block(all[0]);
        take_turns();
        /* Another allocation has its entry. */
        IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(&all[1], pool, &data));
        receive_bytes(&data, sizeof data);
        OK(cudaMemPoolImportPointer(&all[1], pool, &data));
        OK(cudaMemsetAsync(all[1], 2, BYTES, s));
        free_block(all[1]);
        pass_turn();
        return;
    }
    pool = pool_to_share();
    for (int i = 0; i <= KEPT; i++)
        OK(cudaMallocFromPoolAsync(&all[i], BYTES, pool, s));
    OK(cudaStreamSynchronize(s));
    send_block(pool, all[0]);
    OK(cudaMemPoolExportPointer(&data, all[0]));
    send_bytes(&data, sizeof data);
    for (int i = 1; i < KEPT; i++)
        OK(cudaMemPoolExportPointer(&data, all[i]));
    await_turn();
    IS(cudaErrorMemoryAllocation, cudaMemPoolExportPointer(&data, all[KEPT]));
    OK(cudaStreamCreate(&other));
    OK(cudaMemsetAsync(all[0], 1, BYTES, other));
    OK(cudaFreeAsync(all[0], other));
    IS(cudaErrorMemoryAllocation, cudaMemPoolExportPointer(&data, all[KEPT]));
    take_turns();
    OK(cudaMemPoolExportPointer(&data, all[KEPT]));
    pass_turn();
    send_bytes(&data, sizeof data);
    await_turn();
    for (int i = 1; i <= KEPT; i++)
        OK(cudaFreeAsync(all[i], s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

/* Writes `writes` bytes of the block, each with a call of its own. */
static void write_bytes(char *bytes, int writes)
{
    for (int i = 0; i < writes; i++)
        OK(cudaMemsetAsync(bytes + i, 1, 1, s));
}

/* The list of accesses that no process has waited for has room for 20,000. Accesses that were
 * waited for are removed when it is full. `late`: the host waits only at the end, and until then
 * accesses that come while the list is full are not compared. */
static void accesses(int importer, int late)
{
    cudaMemPool_t pool;
    if (importer) {
        char *imported = receive_block(&pool);
        if (late)
            OK(cudaMemsetAsync(imported, 2, 1, s));
        free_block(imported);
        pass_turn();
        return;
    }
    struct cudaMemPoolPtrExportData data;
    void *other, *third;
    pool = pool_to_share();
    OK(cudaMallocFromPoolAsync(&other, MiB, pool, s));
    OK(cudaMallocFromPoolAsync(&third, MiB, pool, s));
    allocate(pool);
    int descriptor;
    OK(cudaMemPoolExportToShareableHandle(&descriptor, pool, POSIX, 0));
    close(descriptor);
    OK(cudaMemPoolExportPointer(&data, other));
    OK(cudaMemPoolExportPointer(&data, third));
    write_bytes(other, 18000);
    OK(cudaStreamSynchronize(s));
    write_bytes(other, 1);
    write_bytes(third, 12000);
    if (late) {
        write_bytes(other, 9000);
        OK(cudaStreamSynchronize(s));
        write_bytes(third, 1100);
        OK(cudaMemsetAsync(block, 1, 1, s));
    } else {
        OK(cudaStreamSynchronize(s));
    }
    send_block(pool, block);
    await_turn();
    OK(cudaFreeAsync(block, s));
    OK(cudaFreeAsync(other, s));
    free_block(third);
    OK(cudaMemPoolDestroy(pool));
}

CASE(many_accesses) { accesses(importer, 0); }
CASE(too_many_accesses) { accesses(importer, 1); }

/* The exporter frees what the importer has, and exports another allocation of the same memory,
 * which replaces the first one in the importer, too. */
CASE(taken_place)
{
    cudaMemPool_t pool;
    struct cudaMemPoolPtrExportData data;
    static void *all[KEPT];
    void *second;
    if (importer) {
        block = receive_block(&pool);
        pass_turn();
        receive_bytes(&data, sizeof data);
        OK(cudaMemPoolImportPointer(&second, pool, &data));
        if (second != block)
            _exit(6);
        OK(cudaMemsetAsync(second, 1, MiB / 2, s));
        free_block(second);
        take_turns();
        return;
    }
    pool = pool_to_share();
    allocate(pool);
    OK(cudaStreamSynchronize(s));
    send_block(pool, block);
    await_turn();
    OK(cudaFreeAsync(block, s));
    OK(cudaMallocFromPoolAsync(&second, MiB / 2, pool, s));
    if (second != block)
        _exit(7);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolExportPointer(&data, second));
    send_bytes(&data, sizeof data);
    await_turn();
    /* The first one is no longer imported anywhere, so there is room for all but one. */
    for (int i = 0; i < KEPT - 1; i++) {
        OK(cudaMallocFromPoolAsync(&all[i], BYTES, pool, s));
        OK(cudaMemPoolExportPointer(&data, all[i]));
    }
    pass_turn();
    for (int i = 0; i < KEPT - 1; i++)
        OK(cudaFreeAsync(all[i], s));
    free_block(second);
    OK(cudaMemPoolDestroy(pool));
}

/* ---- a side dies ---- */

/* The importer waits for an event that can no longer come. `synchronize`: its host waits, not a
 * stream. */
static void exporter_dies(int importer, int synchronize)
{
    cudaMemPool_t pool;
    if (!importer) {
        pool = pool_to_share();
        OK(launch_hold(gate_create(), s));
        cudaEvent_t ready = shared_event();
        OK(cudaEventRecord(ready, s));
        send_block(pool, allocate(pool));
        send_event(ready);
        await_turn();
        kill(getpid(), SIGKILL);
    }
    block = receive_block(&pool);
    cudaEvent_t ready = receive_event();
    IS(cudaErrorNotReady, cudaEventQuery(ready));
    if (!synchronize)
        OK(cudaStreamWaitEvent(s, ready, 0));
    if (!synchronize)
        IS(cudaErrorNotReady, cudaStreamQuery(s));
    pass_turn();
    IS(cudaErrorExternalDevice,
       synchronize ? cudaEventSynchronize(ready) : cudaStreamSynchronize(s));
    IS(cudaErrorExternalDevice, cudaStreamSynchronize(s));
    puts("the wait ended");
    _exit(wrong);
}

CASE(exporter_dies_stream) { exporter_dies(importer, 0); }
CASE(exporter_dies_host) { exporter_dies(importer, 1); }

/* The exporter's device fails before its record, and the exporter lives on, waiting for the
 * importer. */
CASE(exporter_fails)
{
    if (importer) {
        cudaEvent_t ready = receive_event();
        await_turn();
        OK(cudaStreamWaitEvent(s, ready, 0));
        IS(cudaErrorExternalDevice, cudaStreamSynchronize(s));
        puts("the wait ended");
        pass_turn();
        _exit(wrong);
    }
    cudaMemPool_t pool = pool_to_share();
    uint64_t none = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &none));
    cudaEvent_t ready = shared_event();
    allocate(pool);
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    /* The fill's address has no memory. */
    OK(cudaFree(block));
    IS(cudaErrorIllegalAddress, cudaStreamSynchronize(s));
    take_turns();
    exit(wrong | child_status());
}

/* ---- the exporter's first thread ends before the others ---- */

static volatile int *held;
static pthread_t first_thread;

static void *goes_on(void *unused)
{
    (void)unused;
    pthread_join(first_thread, NULL);
    pass_turn();
    /* The importer checks several times whether this process is alive. */
    usleep(50000);
    *held = 1;
    OK(cudaStreamSynchronize(s));
    gate_destroy(held);
    exit(child_status());
}

CASE(exporter_goes_on)
{
    if (importer) {
        cudaEvent_t ready = receive_event();
        take_turns();
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(cudaStreamSynchronize(s));
        return;
    }
    pthread_t other;
    cudaEvent_t ready = shared_event();
    held = gate_create();
    OK(launch_hold(held, s));
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    await_turn();
    first_thread = pthread_self();
    if (pthread_create(&other, NULL, goes_on, NULL))
        _exit(5);
    pthread_exit(NULL);
}

/* ---- order by events and host functions ---- */

static void expect_last(int value)
{
    int last;
    OK(cudaMemcpyAsync(&last, block + count - 1, sizeof last, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(value, last);
}

/* A host function before the exporter's free waits for the importer's message, and the free is
 * queued at once. */
static void await_other(void *unused)
{
    (void)unused;
    await_turn();
}

CASE(free_behind_host_function)
{
    cudaMemPool_t pool;
    if (importer) {
        block = receive_block(&pool);
        OK(cudaStreamWaitEvent(s, receive_event(), 0));
        await_turn(); /* the free is queued */
        expect_last(7);
        free_block(block);
        take_turns();
        return;
    }
    pool = pool_to_share();
    send_block(pool, allocate(pool));
    cudaEvent_t ready = shared_event();
    OK(cudaEventRecord(ready, s));
    send_event(ready);
    OK(cudaLaunchHostFunc(s, await_other, NULL));
    OK(cudaFreeAsync(block, s));
    pass_turn();
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    pass_turn();
}

/* One event in each direction, recorded again in each round; each side adds 1. No one waits before
 * the end, so many records of one event may be pending. The importer has imported the block twice,
 * at one address, and frees it once. */
CASE(rounds)
{
    enum { ROUNDS = 300 };
    cudaMemPool_t pool;
    struct cudaMemPoolPtrExportData data;
    cudaEvent_t mine = shared_event(), other;
    void *again;
    if (importer) {
        block = receive_block(&pool);
        receive_bytes(&data, sizeof data);
        OK(cudaMemPoolImportPointer(&again, pool, &data));
        SAME(1, again == block);
        other = receive_event();
        send_event(mine);
    } else {
        pool = pool_to_share();
        send_block(pool, allocate(pool));
        OK(cudaMemPoolExportPointer(&data, block));
        send_bytes(&data, sizeof data);
        send_event(mine);
        other = receive_event();
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (importer)
            await_turn();
        if (importer || i)
            OK(cudaStreamWaitEvent(s, other, 0));
        OK(launch_add(block, 1, count, s));
        OK(cudaEventRecord(mine, s));
        pass_turn();
        if (!importer)
            await_turn();
    }
    if (importer) {
        free_block(block);
        take_turns();
    } else {
        OK(cudaStreamWaitEvent(s, other, 0));
        expect_last(7 + 2 * ROUNDS);
        await_turn();
        free_block(block);
        pass_turn();
    }
    OK(cudaMemPoolDestroy(pool));
}

/* The exporter records an event in the newest of 1,100 streams with work that no one has waited
 * for, or in the one before. The importer waits for it, and reads. */
static void record_in_newest(int importer, int in_newest)
{
    enum { STREAMS = 1100 };
    static cudaStream_t many[STREAMS];
    static int *other, last;
    cudaMemPool_t pool;
    if (importer) {
        block = receive_block(&pool);
        OK(cudaStreamWaitEvent(s, receive_event(), 0));
        OK(cudaMemcpyAsync(&last, block, sizeof last, cudaMemcpyDeviceToHost, s));
        free_block(block);
        pass_turn();
        return;
    }
    OK(cudaMalloc((void **)&other, STREAMS * sizeof *other));
    for (int i = 0; i < STREAMS; i++) {
        OK(cudaStreamCreateWithFlags(&many[i], cudaStreamNonBlocking));
        OK(launch_fill(other + i, 1, 1, many[i]));
    }
    pool = pool_to_share();
    send_block(pool, allocate(pool));
    OK(cudaStreamSynchronize(s));
    OK(launch_fill(block, 7, count, many[STREAMS - 1]));
    cudaEvent_t ready = shared_event();
    OK(cudaEventRecord(ready, many[STREAMS - 2 + in_newest]));
    send_event(ready);
    await_turn();
    OK(cudaDeviceSynchronize());
    free_block(block);
    OK(cudaFree(other));
}

CASE(many_streams) { record_in_newest(importer, 1); }
CASE(many_streams_unordered) { record_in_newest(importer, 0); }

/* ---- host memory ---- */

/* Each host reads what the other has written. */
CASE(host_pool)
{
    cudaMemPool_t pool;
    if (importer) {
        block = receive_block(&pool);
        if (block[0] != 7)
            _exit(6);
        block[count - 1] = 8;
    } else {
        pool = pool_in(cudaMemLocationTypeHostNuma, POSIX);
        OK(cudaMallocFromPoolAsync((void **)&block, MiB, pool, s));
        OK(cudaStreamSynchronize(s));
        block[0] = 7;
        send_block(pool, block);
        await_turn();
        if (block[count - 1] != 8)
            _exit(7);
    }
    free_block(block);
    OK(cudaMemPoolDestroy(pool));
    if (importer)
        pass_turn();
}

/* ---- what one-gpu.c, ipc.c and probe-ipc.c of simulator/tests/facts did not ask a GPU ---- */

/* Files that have the name of a shared pool's file, and not its contents. */
static void foreign_files(void)
{
    cudaMemPool_t none;
    int file = memfd_create("simulated-device", 0);
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)file, POSIX, 0));
    if (ftruncate(file, 64 << 20))
        _exit(5);
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)file, POSIX, 0));
    close(file);
}

static void ask_rules(void)
{
    cudaMemPool_t p = pool_to_share(), im;
    struct cudaMemPoolPtrExportData x;
    int fd, value = 0;
    void *q, *again;
    OK(cudaMemPoolExportToShareableHandle(&fd, p, POSIX, 0));
    OK(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd, POSIX, 0));
    OK(cudaMallocFromPoolAsync(&q, 4096, p, s));
    /* Whoever gets the descriptor cannot make the file shorter. */
    SAME(1, ftruncate(fd, 0) == -1 && errno == EPERM);
    OK(cudaMemPoolExportPointer(&x, q));
    OK(cudaMemPoolImportPointer(&again, im, &x));
    /* Work that was queued before the free is done after the pool's end. */
    OK(launch_fill(again, 3, 1024, s));
    OK(cudaFreeAsync(again, s));
    OK(cudaMemPoolDestroy(im));
    OK(cudaMemcpyAsync(&value, q, sizeof value, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(3, value);
    foreign_files();
    free_block(q);
    OK(cudaMemPoolDestroy(p));
    close(fd);
}

/* Except those of a simulator thread that briefly looks at what the program's threads do: it may
 * close one between the two calls here. */
static int open_descriptors(void)
{
    int count = -1; /* the folder's own */
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *one; (one = readdir(folder));) {
        char to[256] = "";
        if (readlinkat(dirfd(folder), one->d_name, to, sizeof to - 1) <= 0)
            continue;
        const char *last = strrchr(to, '/');
        count += !last || strncmp(to, "/proc/", 6)
              || (strcmp(last, "/stat") && strcmp(last, "/syscall"));
    }
    closedir(folder);
    return count;
}

/* All that is asked leaves no descriptor open. */
CASE(rules)
{
    if (importer)
        return;
    void *plain;
    OK(cudaMalloc(&plain, 64));
    /* A thread that has left work keeps one, and a process that has shared something keeps its
     * clock. */
    OK(cudaMemsetAsync(plain, 0, 64, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool_in(cudaMemLocationTypeDevice, POSIX)));
    int before = open_descriptors();
    ask_rules();
    printf("%d more\n", open_descriptors() - before);
    OK(cudaFree(plain));
}

/* The file may have 80 MiB: two segments fit, but not a third. */
CASE(pool_limited)
{
    if (importer)
        return;
    struct rlimit limit = {80 * MiB, 80 * MiB};
    setrlimit(RLIMIT_FSIZE, &limit);
    void *a, *b, *c;
    cudaMemPool_t p = pool_in(cudaMemLocationTypeDevice, POSIX),
                  plain = pool_in(cudaMemLocationTypeDevice, cudaMemHandleTypeNone);
    OK(cudaMallocFromPoolAsync(&a, 64 * MiB, p, s));
    IS(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&b, MiB, p, s));
    /* Without a file there is no limit. */
    OK(cudaMallocFromPoolAsync(&c, 200 * MiB, plain, s));
    OK(cudaMemsetAsync(a, 1, 64 * MiB, s));
    OK(cudaFreeAsync(a, s));
    OK(cudaMallocFromPoolAsync(&b, MiB, p, s));
    OK(cudaFreeAsync(b, s));
    free_block(c);
}

/* ---- memory of cudaMalloc ---- */

#define OPEN(address, handle) \
    cudaIpcOpenMemHandle((void **)(address), handle, cudaIpcMemLazyEnablePeerAccess)

static int *data;

static void send_memory(const void *memory)
{
    cudaIpcMemHandle_t handle;
    OK(cudaIpcGetMemHandle(&handle, (void *)memory));
    send_bytes(&handle, sizeof handle);
}

/* Exports a new MiB with the value 7. */
static void share_memory(void)
{
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaMemset(data, 7, MiB));
    OK(cudaDeviceSynchronize());
    send_memory(data);
}

static cudaIpcMemHandle_t receive_handle(void)
{
    cudaIpcMemHandle_t handle;
    receive_bytes(&handle, sizeof handle);
    return handle;
}

static void *open_memory(void)
{
    void *memory;
    OK(OPEN(&memory, receive_handle()));
    return memory;
}

/* Ends the process with status 6 unless all `bytes` are of this value. */
static void expect_bytes(const void *memory, int value, size_t bytes)
{
    char *h = malloc(bytes);
    if (!h)
        _exit(5);
    OK(cudaMemcpyAsync(h, memory, bytes, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    if (h[0] != value || memcmp(h, h + 1, bytes - 1)) {
        fprintf(stderr, "the memory does not have the value %d everywhere\n", value);
        _exit(6);
    }
    free(h);
}

/* The importer's last call, and the exporter's. */
static void close_memory(void)
{
    OK(cudaStreamSynchronize(s));
    OK(cudaIpcCloseMemHandle(data));
    pass_turn();
}

static void free_memory(void)
{
    await_turn();
    OK(cudaFree(data));
}

/* ---- order ---- */

/* Both write in turn, and each waits for the other by an event; "unordered" lacks the importer's
 * wait. */
static void write_in_turn(int importer, int waits)
{
    cudaEvent_t ready, done;
    if (importer) {
        data = open_memory();
        ready = receive_event();
        done = shared_event();
        if (waits)
            OK(cudaStreamWaitEvent(s, ready, 0));
        OK(launch_add(data, 0x01010101, count, s));
        OK(cudaEventRecord(done, s));
        send_event(done);
        await_turn();
        close_memory();
    } else {
        OK(cudaMalloc((void **)&data, MiB));
        ready = shared_event();
        OK(launch_fill(data, 0x07070707, count, s));
        OK(cudaEventRecord(ready, s));
        send_memory(data);
        send_event(ready);
        done = receive_event();
        OK(cudaStreamWaitEvent(s, done, 0));
        if (waits)
            expect_bytes(data, 8, MiB);
        pass_turn();
        free_memory();
    }
}

CASE(by_event) { write_in_turn(importer, 1); }
CASE(unordered) { write_in_turn(importer, 0); }

/* A kernel whose accesses are known only when it has run: it adds to one int. */
static const char *const ptx =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry add_one(.param .u64 to, .param .u32 value)\n{ .reg .u64 %d<3>; .reg .u32 "
    "%r<4>;\n"
    "ld.param.u64 %d1, [to]; cvta.to.global.u64 %d2, %d1; ld.param.u32 %r1, [value];\n"
    "ld.global.u32 %r2, [%d2]; add.u32 %r3, %r2, %r1; st.global.u32 [%d2], %r3; ret; }\n";

static void launch_one(int *to, int value)
{
    static CUfunction kernel;
    CUmodule module;
    void *arguments[] = {&to, &value};
    if (!kernel) {
        OK((cudaError_t)cuModuleLoadData(&module, ptx));
        OK((cudaError_t)cuModuleGetFunction(&kernel, module, "add_one"));
    }
    OK((cudaError_t)cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL));
}

/* The exporter's kernel is behind a gate, and thus found only when the importer has queued its
 * copy. 'w' the importer's stream waits for the exporter's event, 'n' it does not, 'b' it waits,
 * but has also written before, and the exporter has not waited for that. */
static void found_late(int importer, char how)
{
    volatile int *gate = gate_create();
    cudaEvent_t ready;
    if (importer) {
        data = open_memory();
        if (how == 'b')
            OK(launch_fill(data, 8, 1, s));
        pass_turn();
        ready = receive_event();
        if (how != 'n')
            OK(cudaStreamWaitEvent(s, ready, 0));
        OK(cudaMemcpyAsync((int *)gate, data, sizeof *gate, cudaMemcpyDeviceToHost, s));
        pass_turn();
        await_turn(); /* the kernel has run */
        OK(cudaStreamSynchronize(s));
        if (how == 'w' && *gate != 0x07070709)
            _exit(6);
        close_memory();
    } else {
        share_memory();
        await_turn();
        ready = shared_event();
        OK(launch_hold(gate, s));
        launch_one(data, 2);
        OK(cudaEventRecord(ready, s));
        send_event(ready);
        await_turn();
        *gate = 1;
        OK(cudaStreamSynchronize(s));
        pass_turn();
        free_memory();
    }
    gate_destroy(gate);
}

CASE(late_by_event) { found_late(importer, 'w'); }
CASE(late_unordered) { found_late(importer, 'n'); }
CASE(late_unordered_before) { found_late(importer, 'b'); }

/* The exporter's kernel runs only when the importer has written, waited for its write, and closed
 * the memory: that was all made after the kernel. Before the kernel, the importer has written, too,
 * and waited, and told the exporter. */
CASE(late_acquired)
{
    if (importer) {
        data = open_memory();
        OK(launch_fill(data, 8, 1, s));
        OK(cudaStreamSynchronize(s));
        pass_turn();
        await_turn(); /* the kernel is queued */
        OK(launch_fill(data, 9, 1, s));
        OK(cudaStreamSynchronize(s));
        close_memory();
        pass_turn();
        return;
    }
    share_memory();
    await_turn();
    launch_one(data, 2);
    take_turns();
    OK(cudaMemsetAsync(data + 1, 7, 4, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(data));
}

/* ---- frees ---- */

/* The exporter frees what the importer has open. The importer's copy may still run then
 * (`is_in_use`), or it uses the memory afterwards. */
static void free_held(int importer, int is_in_use)
{
    void *h;
    if (importer) {
        OK(cudaMallocHost(&h, MiB));
        data = open_memory();
        if (is_in_use)
            OK(cudaMemcpyAsync(h, data, MiB, cudaMemcpyDeviceToHost, s));
        take_turns();
        if (!is_in_use)
            OK(cudaMemsetAsync(data, 1, MiB, s));
        close_memory();
        OK(cudaFreeHost(h));
        return;
    }
    share_memory();
    free_memory();
    take_turns();
}

CASE(free_first) { free_held(importer, 0); }
CASE(free_unordered) { free_held(importer, 1); }

/* The memory is the importer's again when the exporter has freed it and made another of it: the old
 * handle is reported, and the new one is another. When the neighbor is freed, too, the old handle
 * is refused, even if the exporter allocates there again. */
CASE(open_freed)
{
    void *second, *neighbor;
    if (importer) {
        cudaIpcMemHandle_t first = receive_handle(), next = receive_handle();
        if (!memcmp(&first, &next, sizeof first))
            _exit(6);
        OK(OPEN(&data, next));
        expect_bytes(data, 9, MiB / 2);
        OK(cudaIpcCloseMemHandle(data));
        OK(OPEN(&data, first));
        close_memory();
        await_turn();
        IS(cudaErrorInvalidValue, OPEN(&data, first));
        pass_turn();
        return;
    }
    OK(cudaMalloc(&neighbor, MiB));
    share_memory();
    OK(cudaFree(data));
    OK(cudaMalloc(&second, MiB / 2));
    if (second != (void *)data)
        _exit(7);
    OK(cudaMemset(second, 9, MiB / 2));
    OK(cudaDeviceSynchronize());
    send_memory(second);
    await_turn();
    OK(cudaFree(second));
    OK(cudaFree(neighbor));
    OK(cudaMalloc(&second, 2 * MiB));
    if (second != neighbor)
        _exit(7);
    take_turns();
    OK(cudaFree(second));
}

/* The exporter's last calls, when the importer has ended. */
static void end_behind_importer(void)
{
    int status = child_status();
    OK(cudaFree(data));
    OK(cudaStreamDestroy(s));
    exit(status);
}

/* The importer closes before its work is over, or never. */
CASE(close_in_use)
{
    if (importer) {
        data = open_memory();
        OK(cudaMemsetAsync(data, 8, MiB, s));
        OK(cudaIpcCloseMemHandle(data));
        pass_turn();
        return;
    }
    share_memory();
    await_turn();
    expect_bytes(data, 8, MiB);
    OK(cudaFree(data));
}

CASE(never_closed)
{
    if (importer) {
        data = open_memory();
        return;
    }
    share_memory();
    end_behind_importer();
}

/* ---- the exporter ends ---- */

/* The child exports and ends. What the parent has open stays, and with it all of that device; then
 * the handles open nothing more. */
CASE(exporter_ended)
{
    void *memory;
    if (importer) {
        OK(cudaMalloc((void **)&data, MiB));
        OK(cudaMalloc(&memory, 3 * MiB));
        OK(cudaMemset(data, 7, MiB));
        OK(cudaDeviceSynchronize());
        send_memory(data);
        send_memory(memory);
        await_turn();
        _exit(0);
    }
    cudaIpcMemHandle_t first = receive_handle(), second = receive_handle();
    OK(OPEN(&data, first));
    pass_turn();
    if (child_status())
        _exit(7);
    expect_bytes(data, 7, MiB);
    OK(OPEN(&memory, second));
    OK(cudaIpcCloseMemHandle(memory));
    OK(cudaIpcCloseMemHandle(data));
    IS(cudaErrorInvalidResourceHandle, OPEN(&memory, second));
    puts("the handles open nothing more");
    OK(cudaStreamDestroy(s));
    exit(wrong);
}

/* ---- what the memory contains ---- */

/* Memory of all sizes keeps its contents when it is exported, and so does what lies beside it. What
 * either process then writes, the other sees. */
CASE(contents)
{
    enum { SIZES = 4 };
    const size_t sizes[SIZES] = {512, MiB, 9 * MiB, 64 * 1024};
    char *memory[SIZES], *beside[SIZES];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SIZES; i++) {
            if (importer) {
                memory[i] = open_memory();
                expect_bytes(memory[i], 1 + i, sizes[i]);
                OK(cudaMemset(memory[i], 11 + i, sizes[i]));
                OK(cudaDeviceSynchronize());
                take_turns();
                expect_bytes(memory[i], 21 + i, sizes[i]);
                OK(cudaIpcCloseMemHandle(memory[i]));
                pass_turn();
                continue;
            }
            OK(cudaMalloc((void **)&memory[i], sizes[i]));
            OK(cudaMalloc((void **)&beside[i], sizes[i]));
            OK(cudaMemset(memory[i], 1 + i, sizes[i]));
            OK(cudaMemset(beside[i], 21 + i, sizes[i]));
            OK(cudaDeviceSynchronize());
            send_memory(memory[i]);
            await_turn();
            expect_bytes(memory[i], 11 + i, sizes[i]);
            expect_bytes(beside[i], 21 + i, sizes[i]);
            OK(cudaMemcpy(memory[i], beside[i], sizes[i], cudaMemcpyDeviceToDevice));
            OK(cudaDeviceSynchronize());
            take_turns();
        }
        /* The second round uses the same memory again. */
        for (int i = 0; i < SIZES && !importer; i++) {
            OK(cudaFree(memory[i]));
            OK(cudaFree(beside[i]));
        }
    }
}

/* An exported allocation may be written unseen, so a read of it is not reported; a read of one
 * beside it is. */
CASE(unwritten)
{
    void *other;
    cudaIpcMemHandle_t handle;
    static char h[MiB];
    if (importer)
        return;
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaIpcGetMemHandle(&handle, data));
    OK(cudaMalloc(&other, MiB));
    OK(cudaMemcpy(h, data, MiB, cudaMemcpyDeviceToHost));
    launch_one(data, 1);
    OK(cudaMemset(other, 1, MiB));
    OK(cudaMemcpy(h, other, MiB, cudaMemcpyDeviceToHost));
    OK(cudaFree(other));
    OK(cudaMalloc(&other, MiB));
    OK(cudaMemcpy(data, other, MiB, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(h, data, MiB, cudaMemcpyDeviceToHost));
    OK(cudaFree(other));
    OK(cudaFree(data));
}

/* ---- devices ---- */

CASE(out_of_reach)
{
    if (importer) {
        IS(cudaErrorMapBufferObjectFailed, OPEN(&data, receive_handle()));
        OK(cudaSetDevice(1));
        return;
    }
    OK(cudaSetDevice(1));
    share_memory();
    end_behind_importer();
}

/* ---- how much there is room for ---- */

/* Opened once more than the simulated device counts. */
CASE(many_opens)
{
    if (importer) {
        cudaIpcMemHandle_t handle = receive_handle();
        for (int i = 0; i < 65535; i++)
            OK(OPEN(&data, handle));
        IS(cudaErrorMapBufferObjectFailed, OPEN(&data, handle));
        for (int i = 0; i < 65535; i++)
            OK(cudaIpcCloseMemHandle(data));
        IS(cudaErrorInvalidValue, cudaIpcCloseMemHandle(data));
        pass_turn();
        return;
    }
    share_memory();
    free_memory();
}

/* No file may grow. */
CASE(limited)
{
    cudaIpcMemHandle_t handle;
    struct rlimit small = {MiB, MiB};
    if (importer)
        return;
    OK(cudaMalloc((void **)&data, MiB));
    if (setrlimit(RLIMIT_FSIZE, &small))
        _exit(5);
    IS(cudaErrorMemoryAllocation, cudaIpcGetMemHandle(&handle, data));
    OK(cudaMemset(data, 1, MiB));
    OK(cudaFree(data));
}

int main(int argc, char **argv) { return run_pair(argc, argv); }
