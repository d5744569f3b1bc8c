/* Asks for the right to read only. Caught by: "knows no right to read only" */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 18, BYTES = COUNT * sizeof(int), SKIPPED = 77 };
enum part { KERNEL, PEERS, REVOKED };

static cudaStream_t stream[2];      /* one of each GPU */
static cudaMemPool_t pool;          /* the default pool of GPU 0 */
static int *block, *local;          /* a block on GPU 0, full of 7, and a block on GPU 1 */

static int *take_block(int gpu)
{
    int *data;
    CHECK(cudaMallocAsync((void **)&data, BYTES, stream[gpu]));     /* on the stream's GPU, whatever is current */
    return data;
}

static void set_access(int allowed)
{
    struct cudaMemAccessDesc access = {0};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = 1;
    access.flags = allowed ? cudaMemAccessFlagsProtRead : cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
}

static cudaError_t fetch_block(void)
{
    return cudaMemcpyPeerAsync(local, 1, block, 0, BYTES, stream[1]);
}

/* One line: what the call answered, then a synchronise of GPU 1's stream, then one of GPU 0's. */
static void report(const char *what, cudaError_t call)
{
    cudaError_t one = cudaStreamSynchronize(stream[1]), zero = cudaStreamSynchronize(stream[0]);
    printf("%-28s %-23s %-23s %s\n", what, cudaGetErrorName(call), cudaGetErrorName(one), cudaGetErrorName(zero));
}

static int is_full_of(int value, const int *data, int gpu)
{
    static int values[COUNT];
    int right = 0;
    CHECK(cudaMemcpyAsync(values, data, BYTES, cudaMemcpyDeviceToHost, stream[gpu]));
    CHECK(cudaStreamSynchronize(stream[gpu]));
    for (int i = 0; i < COUNT; i++)
        right += values[i] == value;
    printf("    %d in %d of %d elements\n", value, right, COUNT);
    return right == COUNT;
}

static const char *access_of(int gpu)
{
    enum cudaMemAccessFlags flags;
    struct cudaMemLocation location = {.type = cudaMemLocationTypeDevice, .id = gpu};
    CHECK(cudaMemPoolGetAccess(&flags, pool, &location));
    return flags == cudaMemAccessFlagsProtReadWrite ? "read and write" : "none";
}

static int device_of(const void *data)
{
    struct cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data));
    return attributes.device;
}

/* What every process begins with. In the end GPU 1 is current. */
static void open_gpus(void)
{
    int devices, reachable = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices > 1)
        CHECK(cudaDeviceCanAccessPeer(&reachable, 1, 0));
    if (!reachable) {
        printf("skipped: needs a second GPU that can reach the memory of the first; GPUs here: %d\n", devices);
        exit(SKIPPED);
    }
    for (int gpu = 1; gpu >= 0; gpu--) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaStreamCreate(&stream[gpu]));
    }
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    local = take_block(1);              /* while GPU 0 is current */
    CHECK(cudaSetDevice(1));
    block = take_block(0);              /* while GPU 1 is current */
    CHECK(cudaSetDevice(0));
    CHECK(launch_fill(block, 7, COUNT, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaSetDevice(1));
}

/* A kernel of GPU 1 on the block of GPU 0, in a process that can do nothing afterwards. */
static void fault(enum part part)
{
    static const char *const names[] = {"kernel", "kernel, peers enabled", "kernel, access revoked"};
    int *plain;
    if (part == KERNEL)
        printf("access of GPU 0: %s, of GPU 1: %s\n%-28s %-23s %-23s %s\n", access_of(0), access_of(1), "GPU 1 tries",
               "the call", "then stream of GPU 1", "then stream of GPU 0");
    if (part == PEERS) {                /* cudaDeviceEnablePeerAccess is for the memory of cudaMalloc */
        CHECK(cudaDeviceEnablePeerAccess(0, 0));
        CHECK(cudaSetDevice(0));
        CHECK(cudaMalloc((void **)&plain, BYTES));
        CHECK(cudaSetDevice(1));
        report("peers enabled, cudaMalloc", launch_fill(plain, 7, COUNT, stream[1]));
    }
    if (part == REVOKED) {
        set_access(1);
        set_access(0);
    }
    report(names[part], launch_add(block, 1, COUNT, stream[1]));
}

int main(void)
{
    for (enum part part = KERNEL; part <= REVOKED; part++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();           /* before this process makes a CUDA call: after one, none works in a child */
        if (child == 0) {
            open_gpus();
            fault(part);
            exit(0);
        }
        waitpid(child, &status, 0);
        if (status != 0)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }

    open_gpus();
    int *other, *value;
    CHECK(cudaMallocHost((void **)&value, sizeof *value));
    CHECK(cudaMallocFromPoolAsync((void **)&other, BYTES, pool, stream[1]));
    printf("stream of GPU 0, GPU 1 current: a block on GPU %d\n", device_of(block));
    printf("stream of GPU 1, GPU 0 current: a block on GPU %d\n", device_of(local));
    printf("stream of GPU 1, pool of GPU 0: a block on GPU %d\n", device_of(other));
    int right = device_of(block) == 0 && device_of(local) == 1 && device_of(other) == 0;

    report("cudaMemsetAsync", cudaMemsetAsync(block, 0, BYTES, stream[1]));
    report("cudaMemcpyAsync", cudaMemcpyAsync(local, block, BYTES, cudaMemcpyDeviceToDevice, stream[1]));
    report("fetch_block", fetch_block());
    right &= is_full_of(7, local, 1);
    report("to the host, stream of GPU 0",
           cudaMemcpyAsync(value, block, sizeof *value, cudaMemcpyDeviceToHost, stream[0]));

    set_access(1);
    printf("access of GPU 0: %s, of GPU 1: %s\n", access_of(0), access_of(1));
    report("kernel", launch_add(block, 1, COUNT, stream[1]));
    report("cudaMemcpyAsync", cudaMemcpyAsync(local, block, BYTES, cudaMemcpyDeviceToDevice, stream[1]));
    right &= is_full_of(8, local, 1);
    report("cudaMemsetAsync", cudaMemsetAsync(other, 0, BYTES, stream[1]));
    set_access(0);
    report("cudaMemsetAsync, revoked", cudaMemsetAsync(other, 0, BYTES, stream[1]));

    CHECK(cudaFreeHost(value));
    CHECK(cudaFreeAsync(other, stream[1]));
    CHECK(cudaFreeAsync(local, stream[1]));
    CHECK(cudaFreeAsync(block, stream[0]));
    CHECK(cudaStreamDestroy(stream[1]));
    CHECK(cudaStreamDestroy(stream[0]));
    return right ? 0 : 1;
}
