/* Two processes that share memory of cudaMalloc: ipc_memory NAME. The exporter's exit status is its
 * own unless the importer's is not 0; the checker's is 3. */
#include "ipc_pair.h"

#include <cuda.h>
#include <sys/resource.h>

#define OPEN(address, handle) \
    cudaIpcOpenMemHandle((void **)(address), handle, cudaIpcMemLazyEnablePeerAccess)

static int *data;
static const size_t count = MiB / sizeof(int);

static void send_memory(const void *memory)
{
    cudaIpcMemHandle_t handle;
    OK(cudaIpcGetMemHandle(&handle, (void *)memory));
    send_bytes(&handle, sizeof handle);
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
    go();
}

static void free_memory(void)
{
    wait_for_go();
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
        wait_for_go();
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
        go();
        free_memory();
    }
}

CASE(by_event) { write_in_turn(importer, 1); }
CASE(unordered) { write_in_turn(importer, 0); }

/* Each host waits before its message. */
CASE(by_message)
{
    if (importer) {
        data = open_memory();
        expect_bytes(data, 7, MiB);
        OK(cudaMemset(data, 8, MiB));
        OK(cudaDeviceSynchronize());
        close_memory();
        return;
    }
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaMemset(data, 7, MiB));
    OK(cudaDeviceSynchronize());
    send_memory(data);
    wait_for_go();
    expect_bytes(data, 8, MiB);
    OK(cudaFree(data));
}

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
    volatile int *gate;
    cudaEvent_t ready;
    OK(cudaMallocHost((void **)&gate, sizeof *gate));
    *gate = 0;
    if (importer) {
        data = open_memory();
        if (how == 'b')
            OK(launch_fill(data, 8, 1, s));
        go();
        ready = receive_event();
        if (how != 'n')
            OK(cudaStreamWaitEvent(s, ready, 0));
        OK(cudaMemcpyAsync((int *)gate, data, sizeof *gate, cudaMemcpyDeviceToHost, s));
        go();
        wait_for_go(); /* the kernel has run */
        OK(cudaStreamSynchronize(s));
        if (how == 'w' && *gate != 0x07070709)
            _exit(6);
        close_memory();
    } else {
        OK(cudaMalloc((void **)&data, MiB));
        OK(cudaMemset(data, 7, MiB));
        OK(cudaDeviceSynchronize());
        send_memory(data);
        wait_for_go();
        ready = shared_event();
        OK(launch_hold(gate, s));
        launch_one(data, 2);
        OK(cudaEventRecord(ready, s));
        send_event(ready);
        wait_for_go();
        *gate = 1;
        OK(cudaStreamSynchronize(s));
        go();
        free_memory();
    }
    OK(cudaFreeHost((void *)gate));
}

CASE(late_by_event) { found_late(importer, 'w'); }
CASE(late_unordered) { found_late(importer, 'n'); }
CASE(late_unordered_before) { found_late(importer, 'b'); }

/* ---- frees ---- */

/* The exporter frees what the importer has open, and the importer uses it. */
CASE(free_first)
{
    if (importer) {
        data = open_memory();
        go();
        wait_for_go();
        OK(cudaMemsetAsync(data, 1, MiB, s));
        close_memory();
        return;
    }
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaMemset(data, 7, MiB));
    send_memory(data);
    wait_for_go();
    OK(cudaFree(data));
    go();
    wait_for_go();
}

/* The exporter frees, while the importer's copy may still run. */
CASE(free_unordered)
{
    if (importer) {
        void *h;
        OK(cudaMallocHost(&h, MiB));
        data = open_memory();
        OK(cudaMemcpyAsync(h, data, MiB, cudaMemcpyDeviceToHost, s));
        go();
        wait_for_go();
        close_memory();
        OK(cudaFreeHost(h));
        return;
    }
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaMemset(data, 7, MiB));
    OK(cudaDeviceSynchronize());
    send_memory(data);
    wait_for_go();
    OK(cudaFree(data));
    go();
    wait_for_go();
}

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
        wait_for_go();
        IS(cudaErrorInvalidValue, OPEN(&data, first));
        go();
        return;
    }
    OK(cudaMalloc(&neighbor, MiB));
    OK(cudaMalloc((void **)&data, MiB));
    send_memory(data);
    OK(cudaFree(data));
    OK(cudaMalloc(&second, MiB / 2));
    if (second != (void *)data)
        _exit(7);
    OK(cudaMemset(second, 9, MiB / 2));
    OK(cudaDeviceSynchronize());
    send_memory(second);
    wait_for_go();
    OK(cudaFree(second));
    OK(cudaFree(neighbor));
    OK(cudaMalloc(&second, 2 * MiB));
    if (second != neighbor)
        _exit(7);
    go();
    wait_for_go();
    OK(cudaFree(second));
}

/* The importer closes before its work is over, or never. */
CASE(close_in_use)
{
    if (importer) {
        data = open_memory();
        OK(cudaMemsetAsync(data, 8, MiB, s));
        OK(cudaIpcCloseMemHandle(data));
        go();
        return;
    }
    OK(cudaMalloc((void **)&data, MiB));
    send_memory(data);
    wait_for_go();
    expect_bytes(data, 8, MiB);
    OK(cudaFree(data));
}

CASE(never_closed)
{
    if (importer) {
        data = open_memory();
        return;
    }
    OK(cudaMalloc((void **)&data, MiB));
    send_memory(data);
    int status = child_status();
    OK(cudaFree(data));
    OK(cudaStreamDestroy(s));
    exit(status);
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
        wait_for_go();
        _exit(0);
    }
    cudaIpcMemHandle_t first = receive_handle(), second = receive_handle();
    OK(OPEN(&data, first));
    go();
    if (child_status())
        _exit(7);
    expect_bytes(data, 7, MiB);
    OK(OPEN(&memory, second));
    OK(cudaIpcCloseMemHandle(memory));
    OK(cudaIpcCloseMemHandle(data));
    IS(cudaErrorInvalidResourceHandle, OPEN(&memory, second));
    puts("the handles open nothing more");
    OK(cudaStreamDestroy(s));
    exit(0);
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
                go();
                wait_for_go();
                expect_bytes(memory[i], 21 + i, sizes[i]);
                OK(cudaIpcCloseMemHandle(memory[i]));
                go();
                continue;
            }
            OK(cudaMalloc((void **)&memory[i], sizes[i]));
            OK(cudaMalloc((void **)&beside[i], sizes[i]));
            OK(cudaMemset(memory[i], 1 + i, sizes[i]));
            OK(cudaMemset(beside[i], 21 + i, sizes[i]));
            OK(cudaDeviceSynchronize());
            send_memory(memory[i]);
            wait_for_go();
            expect_bytes(memory[i], 11 + i, sizes[i]);
            expect_bytes(beside[i], 21 + i, sizes[i]);
            OK(cudaMemcpy(memory[i], beside[i], sizes[i], cudaMemcpyDeviceToDevice));
            OK(cudaDeviceSynchronize());
            go();
            wait_for_go();
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

/* The memory is device 1's. The importer opens it and the event while device 0 is current, and the
 * memory once more for device 1. */
static void on_two_devices(int importer, int is_ordered)
{
    struct cudaPointerAttributes about;
    cudaEvent_t ready;
    cudaStream_t other;
    if (importer) {
        cudaIpcMemHandle_t handle = receive_handle();
        void *again;
        OK(OPEN(&data, handle));
        ready = receive_event();
        OK(cudaPointerGetAttributes(&about, data));
        if (about.type != cudaMemoryTypeDevice || about.device != 0)
            _exit(6);
        OK(cudaStreamWaitEvent(s, ready, 0));
        OK(launch_add(data, 0x01010101, count, s));
        OK(cudaEventRecord(ready, s));
        if (is_ordered)
            OK(cudaStreamSynchronize(s));
        OK(cudaSetDevice(1));
        OK(OPEN(&again, handle));
        OK(cudaStreamCreate(&other));
        OK(launch_add(again, 0x01010101, count, other));
        OK(cudaStreamSynchronize(other));
        OK(cudaIpcCloseMemHandle(again));
        OK(cudaStreamDestroy(other));
        close_memory();
    } else {
        OK(cudaSetDevice(1));
        OK(cudaStreamCreate(&other));
        OK(cudaMalloc((void **)&data, MiB));
        OK(launch_fill(data, 0x07070707, count, other));
        ready = shared_event();
        OK(cudaEventRecord(ready, other));
        send_memory(data);
        send_event(ready);
        wait_for_go();
        OK(cudaMemcpyAsync(&about, data, 16, cudaMemcpyDeviceToHost, other));
        OK(cudaStreamSynchronize(other));
        if (is_ordered && *(char *)&about != 9)
            _exit(6);
        OK(cudaFree(data));
    }
}

CASE(two_devices) { on_two_devices(importer, 1); }
CASE(two_devices_unordered) { on_two_devices(importer, 0); }

CASE(out_of_reach)
{
    if (importer) {
        IS(cudaErrorMapBufferObjectFailed, OPEN(&data, receive_handle()));
        OK(cudaSetDevice(1));
        return;
    }
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&data, MiB));
    send_memory(data);
    int status = child_status();
    OK(cudaFree(data));
    OK(cudaStreamDestroy(s));
    exit(status);
}

/* ---- arguments, and how much there is room for ---- */

/* The driver's calls, and what is recorded of the runtime's only in one process. */
CASE(driver)
{
    CUipcMemHandle handle;
    CUdeviceptr p, again;
    if (importer) {
        receive_bytes(&handle, sizeof handle);
        OK((cudaError_t)cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        OK((cudaError_t)cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        if (p != again)
            _exit(6);
        expect_bytes((void *)p, 7, MiB);
        OK((cudaError_t)cuIpcCloseMemHandle(p));
        IS(cudaErrorInvalidValue, (cudaError_t)cuIpcCloseMemHandle(p + 512));
        IS(cudaErrorInvalidValue, (cudaError_t)cuMemFree(p));
        OK((cudaError_t)cuIpcCloseMemHandle(p));
        IS(cudaErrorInvalidValue, (cudaError_t)cuIpcCloseMemHandle(p));
        go();
        return;
    }
    OK((cudaError_t)cuMemAlloc(&p, MiB));
    OK(cudaMemset((void *)p, 7, MiB));
    OK(cudaDeviceSynchronize());
    OK((cudaError_t)cuIpcGetMemHandle(&handle, p));
    IS(cudaErrorDeviceUninitialized,
       (cudaError_t)cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    send_bytes(&handle, sizeof handle);
    wait_for_go();
    OK((cudaError_t)cuMemFree(p));
}

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
        go();
        return;
    }
    OK(cudaMalloc((void **)&data, MiB));
    send_memory(data);
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

int main(int argc, char **argv) { return run_pair(argc, argv, NULL); }
