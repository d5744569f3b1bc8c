/* 14 Peer access
 *
 * Question: Data is in the memory of GPU 0, work is in a stream of GPU 1. On which GPU is an
 *   allocation? What do a kernel, a memset and a copy return while the other GPU has no access to
 *   it? Which GPU must be current for a copy?
 * Task (fix): three places, marked YOUR WORK, rest on beliefs that are wrong. Repair them.
 * Calls: cudaDeviceCanAccessPeer(int *answer, int gpu, int owner)
 *        cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
 *                             size_t count), and of each entry {location, flags}
 *        cudaMemcpyPeerAsync(void *to, int gpu, const void *from, int gpu, size_t bytes,
 *                            cudaStream_t stream)
 *        cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
 * Run:   make 14          Check: make check-14          Page: docs/14_peer_access
 */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 18, BYTES = COUNT * sizeof(int) };

static cudaStream_t stream[2];  /* one of each GPU */
static cudaMemPool_t gpu0_pool; /* the default pool of GPU 0 */
/* An allocation on each GPU, the first filled with 7, and an int of the host. */
static int *gpu0_data, *gpu1_data, on_host;

/* YOUR WORK, 1 of 3. Gives GPU `gpu` access to all memory of `pool`, a pool of GPU `owner`, or
 * takes it away (allowed is 0). Returns 1; but 0 where cudaDeviceCanAccessPeer reports that GPU
 * `gpu` cannot reach the memory of GPU `owner`, and then no access is changed. */
static int set_access(cudaMemPool_t pool, int owner, int gpu, int allowed)
{
    (void)pool; /* "Access is a matter of the two GPUs." */
    CHECK(cudaSetDevice(gpu));
    CHECK(allowed ? cudaDeviceEnablePeerAccess(owner, 0) : cudaDeviceDisablePeerAccess(owner));
    return 1;
}

/* ---- uses of gpu0_data; each returns what its call returns ---- */

static cudaError_t add(void) { return launch_add(gpu0_data, 1, COUNT, stream[1]); }

static cudaError_t enable_and_add(void)
{
    cudaError_t enabled = cudaDeviceEnablePeerAccess(0, 0);
    return enabled == cudaSuccess ? add() : enabled;
}

static cudaError_t clear(void) { return cudaMemsetAsync(gpu0_data, 0, BYTES, stream[1]); }

static cudaError_t copy(void)
{
    return cudaMemcpyAsync(gpu1_data, gpu0_data, BYTES, cudaMemcpyDeviceToDevice, stream[1]);
}

static cudaError_t copy_to_host(void)
{
    return cudaMemcpyAsync(&on_host, gpu0_data, sizeof on_host, cudaMemcpyDeviceToHost, stream[0]);
}

/* YOUR WORK, 2 of 3. Copies gpu0_data to gpu1_data. GPU 1 has no access to gpu0_data. */
static cudaError_t fetch(void)
{
    return cudaMemcpyAsync(gpu1_data, gpu0_data, BYTES, cudaMemcpyDeviceToDevice, stream[1]);
}

/* Makes GPU `current` current, tries one use, synchronizes both streams and prints a row. Returns
 * what the second synchronization returns. */
static cudaError_t try_use(const char *name, int current, cudaError_t (*use)(void))
{
    CHECK(cudaSetDevice(current));
    int allowed = pool_get_access(gpu0_pool, 1) == cudaMemAccessFlagsProtReadWrite;
    cudaError_t call = use(), one = cudaStreamSynchronize(stream[1]),
                zero = cudaStreamSynchronize(stream[0]);
    printf("%-6s  GPU %d    %-27s  %-21s  %-23s  %s\n", allowed ? "all" : "none", current, name,
           cudaGetErrorName(call), cudaGetErrorName(one), cudaGetErrorName(zero));
    return zero;
}

static int gpu_of(const void *data)
{
    struct cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data));
    return attributes.device;
}

/* Runs this program again, with an argument, and waits for its end. Returns its status. */
static int run_again(const char *program, const char *argument)
{
    int status = 1;
    pid_t process = fork();
    if (process == 0) {
        execl(program, program, argument, (char *)NULL);
        _exit(127);
    }
    waitpid(process, &status, 0);
    return status;
}

/* The lines of the first process. Returns its exit status. */
static int try_all(const char *program)
{
    int *from_pool;
    CHECK(cudaMallocFromPoolAsync((void **)&from_pool, BYTES, gpu0_pool, stream[1]));
    printf("cudaMallocAsync, stream of GPU 0: memory of GPU %d\n", gpu_of(gpu0_data));
    printf("cudaMallocAsync, stream of GPU 1: memory of GPU %d\n", gpu_of(gpu1_data));
    printf("from the pool of GPU 0, stream of GPU 1: memory of GPU %d\n", gpu_of(from_pool));
    CHECK(cudaFreeAsync(from_pool, stream[1]));
    printf("access  current  use                          the call returns       stream of GPU 1   "
           "       stream of GPU 0\n");
    fflush(stdout);
    /* Each kernel runs in a process of its own. */
    if (run_again(program, "kernel") != 0 || run_again(program, "peers") != 0)
        return 1;
    try_use("cudaMemsetAsync", 1, clear);
    try_use("cudaMemcpyAsync to GPU 1", 1, copy);
    try_use("cudaMemcpyAsync to the host", 1, copy_to_host);
    try_use("cudaMemcpyAsync to the host", 0, copy_to_host);
    try_use("fetch", 1, fetch);
    int fetched = last_of(gpu1_data, COUNT, stream[1]);
    if (!set_access(gpu0_pool, 0, 1, 1))
        return printf("skipped: GPU 1 cannot reach the memory of GPU 0\n"), 77;
    try_use("kernel", 1, add);
    try_use("cudaMemcpyAsync to GPU 1", 1, copy);
    int copied = last_of(gpu1_data, COUNT, stream[1]);
    try_use("cudaMemcpyAsync to the host", 1, copy_to_host);
    try_use("cudaMemsetAsync", 1, clear);
    set_access(gpu0_pool, 0, 1, 0);
    try_use("cudaMemsetAsync", 1, clear);
    printf("the fetch copied %d, the copy with access %d\n", fetched, copied);
    return fetched == 7 && copied == 8 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int gpus, status = 0, peers = argc > 1 && strcmp(argv[1], "peers") == 0;
    if (argc > 1 && !peers && strcmp(argv[1], "kernel") != 0)
        return fprintf(stderr, "%s: expected kernel, peers or nothing, got \"%s\"\n", argv[0],
                       argv[1]),
               2;
    CHECK(cudaGetDeviceCount(&gpus));
    if (gpus < 2)
        return printf("skipped: needs two GPUs; GPUs here: %d\n", gpus), 77;
    for (int gpu = 1; gpu >= 0; gpu--) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaStreamCreate(&stream[gpu]));
    }
    CHECK(cudaDeviceGetDefaultMemPool(&gpu0_pool, 0));
    CHECK(cudaMallocAsync((void **)&gpu0_data, BYTES, stream[0]));
    CHECK(launch_fill(gpu0_data, 7, COUNT, stream[0]));
    /* YOUR WORK, 3 of 3. An allocation on GPU 1. */
    CHECK(cudaSetDevice(1)); /* "An allocation is on the current GPU, whatever the stream." */
    CHECK(cudaMallocAsync((void **)&gpu1_data, BYTES, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaStreamSynchronize(stream[1]));

    if (argc > 1) {
        /* One kernel without access. After an error nothing is freed. */
        if (try_use(peers ? "kernel, peers enabled" : "kernel", 1, peers ? enable_and_add : add)
            != cudaSuccess)
            return 0;
    } else {
        status = try_all(argv[0]);
    }
    CHECK(cudaFreeAsync(gpu1_data, stream[1]));
    CHECK(cudaFreeAsync(gpu0_data, stream[0]));
    CHECK(cudaStreamDestroy(stream[1]));
    CHECK(cudaStreamDestroy(stream[0]));
    return status;
}
