/* Records, with two GPUs, what copies between them wait for and what waits for them, and which
 * arguments cudaMemcpyPeer and cudaMemcpyPeerAsync take. */
#include "probe.h"

enum { BYTES = 4096, SEVENS = 0x07070707 };

/* ---- what waits for what? ---- */

enum { LEGACY, BLOCKING, NON_BLOCKING, KINDS };
static const char *const kinds[] = {"legacy", "blocking", "non-blocking"};
static cudaStream_t streams[2][KINDS]; /* the legacy stream is that of the current GPU */
static cudaStream_t reader;            /* a non-blocking stream of GPU 1 for nothing else */
static int *from, *to;                 /* memory of GPU 0, and of GPU 1 */
static int *scratch[2];                /* memory of each GPU that no copy uses */

enum copy { COPY, COPY_ASYNC, COPY_PEER, COPY_PEER_ASYNC };

/* The copy from GPU 0 to GPU 1; those that take a stream are given the legacy one. */
static cudaError_t copy(enum copy how)
{
    switch (how) {
    case COPY: return cudaMemcpy(to, from, BYTES, cudaMemcpyDefault);
    case COPY_ASYNC: return cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDefault, 0);
    case COPY_PEER: return cudaMemcpyPeer(to, 1, from, 0, BYTES);
    default: return cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, 0);
    }
}

static void synchronize_both(void)
{
    for (int device = 1; device >= 0; device--) {
        cudaSetDevice(device);
        cudaDeviceSynchronize();
    }
}

static void prepare(void)
{
    for (int device = 1; device >= 0; device--) {
        cudaSetDevice(device);
        cudaStreamCreate(&streams[device][BLOCKING]);
        cudaStreamCreateWithFlags(&streams[device][NON_BLOCKING], cudaStreamNonBlocking);
        cudaMalloc((void **)&scratch[device], BYTES);
        cudaMalloc((void **)(device ? &to : &from), BYTES);
        if (device)
            cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking);
        launch_hold(gate, streams[device][NON_BLOCKING]);
    }
    synchronize_both();
    copy(COPY);
    copy(COPY_PEER);
    synchronize_both();
}

/* Nothing is pending, the source has sevens and the target zeros, and the gate is closed. */
static void start_anew(void)
{
    synchronize_both();
    cudaMemset(from, 7, BYTES);
    cudaSetDevice(1);
    cudaMemset(to, 0, BYTES);
    *host = 0;
    synchronize_both();
    close_gate();
}

static void hold_in(int device, int kind)
{
    cudaSetDevice(device);
    launch_hold(gate, streams[device][kind]);
}

/* Makes the copy; did the call wait for the work behind the gate? */
static int copy_waits(enum copy how, int current)
{
    cudaSetDevice(current);
    observe();
    observed = copy(how);
    int waited = call_waited();
    end_observation();
    synchronize_both();
    return waited;
}

/* What a stream that nothing holds sees of the copy within 100 ms. */
static const char *state_of_copy(void)
{
    for (int look = 0; look < 40; look++) {
        cudaMemcpyAsync(host, to, sizeof *host, cudaMemcpyDeviceToHost, reader);
        if (!soon_over(reader))
            return "a stream that nothing holds waits as well";
        if (*host == SEVENS)
            return "the copy does not wait";
        usleep(2500);
    }
    return "the copy waits";
}

/* Work is pending in one stream of one GPU: do the call and the copy wait for it? */
static void behind(enum copy how, int current, int device, int kind)
{
    start_anew();
    hold_in(device, kind);
    int waited = copy_waits(how, current);
    const char *state = "the call waits";
    if (!waited) {
        start_anew();
        hold_in(device, kind);
        cudaSetDevice(current);
        copy(how);
        state = state_of_copy();
        open_gate();
    }
    synchronize_both();
    printf("behind work in GPU %d's %-12s stream: %s, %s\n", device, kinds[kind], state,
           cudaGetErrorName(observed));
}

/* The copy is pending behind work in the legacy stream of the current GPU: does what is put into
 * another stream wait for it? */
static void before(enum copy how, int current, int device, int kind)
{
    start_anew();
    hold_in(current, LEGACY);
    const char *state = "no answer, since the call waits";
    if (!copy_waits(how, current)) {
        start_anew();
        hold_in(current, LEGACY);
        copy(how);
        cudaSetDevice(device);
        cudaMemsetAsync(scratch[device], 0, BYTES, streams[device][kind]);
        state = soon_over(streams[device][kind]) ? "does not wait" : "waits";
        open_gate();
    }
    synchronize_both();
    printf("work after it in GPU %d's %-12s stream: %s\n", device, kinds[kind], state);
}

static void copy_and_others(enum copy how, int current)
{
    prepare();
    printf("GPU %d current\n", current);
    for (int device = 0; device < 2; device++)
        for (int kind = 0; kind < KINDS; kind++)
            behind(how, current, device, kind);
    for (int kind = 0; kind < KINDS; kind++)
        before(how, current, !current, kind);
    before(how, current, current, NON_BLOCKING);
}

CASE(memcpy_current_0) { copy_and_others(COPY, 0); }
CASE(memcpy_current_1) { copy_and_others(COPY, 1); }
CASE(memcpy_async_current_0) { copy_and_others(COPY_ASYNC, 0); }
CASE(memcpy_async_current_1) { copy_and_others(COPY_ASYNC, 1); }
CASE(memcpy_peer_current_0) { copy_and_others(COPY_PEER, 0); }
CASE(memcpy_peer_current_1) { copy_and_others(COPY_PEER, 1); }
CASE(memcpy_peer_async_current_0) { copy_and_others(COPY_PEER_ASYNC, 0); }
CASE(memcpy_peer_async_current_1) { copy_and_others(COPY_PEER_ASYNC, 1); }

/* The same with access between the two, which lets a copy go without a detour. */
static void with_access(enum copy how)
{
    for (int device = 1; device >= 0; device--) {
        cudaSetDevice(device);
        RECORD(cudaDeviceEnablePeerAccess(!device, 0));
    }
    copy_and_others(how, 0);
}

CASE(memcpy_with_access) { with_access(COPY); }
CASE(memcpy_async_with_access) { with_access(COPY_ASYNC); }
CASE(memcpy_peer_with_access) { with_access(COPY_PEER); }
CASE(memcpy_peer_async_with_access) { with_access(COPY_PEER_ASYNC); }

/* Does a copy in a stream of its own, of this GPU or of the other one, wait for any other? */
CASE_AFTER(prepare, copies_in_streams)
{
    for (int of = 0; of < 2; of++)
        for (int device = 0; device < 2; device++)
            for (int kind = 0; kind < KINDS; kind++) {
                start_anew();
                hold_in(device, kind);
                cudaSetDevice(of);
                cudaStream_t stream = streams[of][NON_BLOCKING];
                cudaError_t result = cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, stream);
                const char *state = state_of_copy();
                open_gate();
                synchronize_both();
                printf("in GPU %d's non-blocking stream, behind work in GPU %d's %-12s: %s, %s\n",
                       of, device, kinds[kind], state, cudaGetErrorName(result));
            }
}

/* ---- which arguments are taken? ---- */

static void end_codes(void)
{
    RECORD(cudaDeviceSynchronize());
    cudaSetDevice(1);
    RECORD(cudaDeviceSynchronize());
}

/* Which numbers of GPUs does the blocking call take? */
CASE_AFTER(prepare, peer_devices)
{
    RECORD(cudaMemcpyPeer(to, 1, from, 0, BYTES));
    RECORD(cudaMemcpyPeer(to, 0, from, 1, BYTES));
    RECORD(cudaMemcpyPeer(to, 0, from, 0, BYTES));
    RECORD(cudaMemcpyPeer(to, 1, from, 1, BYTES));
    RECORD(cudaMemcpyPeer(to, 2, from, 0, BYTES));
    RECORD(cudaMemcpyPeer(to, 1, from, 99, BYTES));
    RECORD(cudaMemcpyPeer(to, -1, from, 0, BYTES));
    RECORD(cudaMemcpyPeer(to, 1, from, -1, BYTES));
    RECORD(cudaMemcpyPeer(from, 0, (char *)from + BYTES / 2, 0, BYTES / 2));
    RECORD(cudaMemcpyPeer(from, 0, from, 0, BYTES));
    RECORD(cudaMemcpyPeer(from, 0, (char *)from + BYTES / 4, 0, BYTES / 2));
    end_codes();
}

/* And which sizes? */
CASE_AFTER(prepare, peer_sizes)
{
    RECORD(cudaMemcpyPeer(to, 1, from, 0, 0));
    RECORD(cudaMemcpyPeer(NULL, 1, NULL, 0, 0));
    RECORD(cudaMemcpyPeer(NULL, 99, NULL, 99, 0));
    RECORD(cudaMemcpyPeer(to, 99, from, 0, 0));
    RECORD(cudaMemcpyPeer(to, 1, from, 0, BYTES + 1));
    RECORD(cudaMemcpyPeer(to, 1, from, 0, SIZE_MAX));
    end_codes();
}

/* Which numbers of GPUs does the call that takes a stream take? */
CASE_AFTER(prepare, peer_async_devices)
{
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, s));
    RECORD(cudaMemcpyPeerAsync(to, 0, from, 1, BYTES, s));
    RECORD(cudaMemcpyPeerAsync(to, 2, from, 0, BYTES, s));
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 99, BYTES, s));
    RECORD(cudaMemcpyPeerAsync(to, -1, from, 0, BYTES, s));
    RECORD(cudaMemcpyPeerAsync(from, 0, (char *)from + BYTES / 2, 0, BYTES / 2, s));
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, streams[1][NON_BLOCKING]));
    end_codes();
}

CASE_AFTER(prepare, peer_async_sizes)
{
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, 0, s));
    RECORD(cudaMemcpyPeerAsync(NULL, 1, NULL, 0, 0, s));
    RECORD(cudaMemcpyPeerAsync(NULL, 99, NULL, 99, 0, s));
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, BYTES + 1, s));
    end_codes();
}

/* Which pointers? Each kind that may end the process has a case of its own. */
CASE_AFTER(prepare, peer_pointers)
{
    void *pool_of_0 = NULL, *pool_of_1 = NULL;
    RECORD(cudaMemcpyPeer(host, 1, from, 0, BYTES));
    RECORD(cudaMemcpyPeer(to, 1, host, 0, BYTES));
    pool_of_0 = ready_memory(NULL, BYTES);
    RECORD(cudaMemcpyPeer(to, 1, pool_of_0, 0, BYTES));
    cudaMallocAsync(&pool_of_1, BYTES, streams[1][NON_BLOCKING]);
    cudaStreamSynchronize(streams[1][NON_BLOCKING]);
    RECORD(cudaMemcpyPeer(pool_of_1, 1, pool_of_0, 0, BYTES));
    cudaSetDevice(1);
    RECORD(cudaMemcpyPeer(pool_of_1, 1, pool_of_0, 0, BYTES));
    cudaSetDevice(0);
    hold(s);
    cudaFreeAsync(pool_of_0, s);
    RECORD(cudaMemcpyPeer(to, 1, pool_of_0, 0, BYTES));
    RECORD(cudaMemcpyPeerAsync(to, 1, pool_of_0, 0, BYTES, s));
    open_gate();
    cudaStreamSynchronize(s);
    RECORD(cudaMemcpyPeer(to, 1, pool_of_0, 0, BYTES));
    end_codes();
}

/* A case that makes one call; the memory is on the stack. */
#define ONE_CALL(title, call)    \
    CASE(title)                  \
    {                            \
        char memory[BYTES] = ""; \
        (void)memory;            \
        prepare();               \
        record(#call, (call));   \
        end_codes();             \
    }

ONE_CALL(peer_from_null, cudaMemcpyPeer(to, 1, NULL, 0, BYTES))
ONE_CALL(peer_to_null, cudaMemcpyPeer(NULL, 1, from, 0, BYTES))
ONE_CALL(peer_async_from_null, cudaMemcpyPeerAsync(to, 1, NULL, 0, BYTES, s))
ONE_CALL(peer_from_stack, cudaMemcpyPeer(to, 1, memory, 0, BYTES))
ONE_CALL(peer_to_stack, cudaMemcpyPeer(memory, 1, from, 0, BYTES))
ONE_CALL(peer_async_from_stack, cudaMemcpyPeerAsync(to, 1, memory, 0, BYTES, s))

CASE_AFTER(prepare, peer_from_freed)
{
    cudaFree(from);
    RECORD(cudaMemcpyPeer(to, 1, from, 0, BYTES));
    end_codes();
}

CASE_AFTER(prepare, peer_async_to_freed)
{
    cudaSetDevice(1);
    cudaFree(to);
    cudaSetDevice(0);
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, s));
    end_codes();
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
