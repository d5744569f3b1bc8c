/* 12 Peer access
 *
 * Shows  a block lies on one GPU, which the current device does not choose: cudaMallocAsync takes the stream's GPU,
 *        cudaMallocFromPoolAsync the pool's. Another GPU may use it while its pool allows it (cudaMemPoolSetAccess).
 *        Without access a kernel faults, a memset or a copy is refused, and only cudaMemcpyPeerAsync works.
 * Yours  fix: three functions, marked YOUR WORK: they do what their author believed. Repair them.
 * Run    make 12          check   make check-12          page   docs/12_peer_access
 */
#include "kernels.h"
#include "workbook.h"

enum { COUNT = 1 << 18, BYTES = COUNT * sizeof(int), SKIPPED = 77 };
enum way { KERNEL, PEERS, MEMSET, COPY, FETCH, TO_HOST };

static cudaStream_t stream[2];      /* one of each GPU */
static cudaMemPool_t pool;          /* the default pool of GPU 0 */
static int *block, *local;          /* a block on GPU 0, full of 7, and one on GPU 1 */

/* YOUR WORK, 1 of 3. A block on GPU `gpu`, with cudaMallocAsync. */
static int *take_block(int gpu)
{
    int *data;
    CHECK(cudaSetDevice(gpu));          /* a block lies on the current device; any stream will do */
    CHECK(cudaMallocAsync((void **)&data, BYTES, stream[0]));
    return data;
}

/* YOUR WORK, 2 of 3. From now on GPU 1 may use all blocks of `pool`, or none (allowed is 0). */
static void set_access(int allowed)
{
    /* GPU 1 is current, so this opens GPU 0 to it, with all its memory */
    CHECK(allowed ? cudaDeviceEnablePeerAccess(0, 0) : cudaDeviceDisablePeerAccess(0));
}

/* YOUR WORK, 3 of 3. Copies `block` to `local` in the stream of GPU 1, which has no access to `block`. */
static cudaError_t fetch_block(void)
{
    return cudaMemcpyAsync(local, block, BYTES, cudaMemcpyDeviceToDevice, stream[1]);     /* a copy needs no access */
}

/* Uses `block` while GPU 1 is current. One line: may GPU 1? what did the call answer, and then each stream? */
static void use_block(enum way way)
{
    static const char *const names[] = {"kernel", "kernel, peers enabled", "cudaMemsetAsync", "cudaMemcpyAsync",
        "fetch_block", "to the host, stream of GPU 0"};
    static int value;
    struct cudaMemLocation gpu1 = {.type = cudaMemLocationTypeDevice, .id = 1};
    enum cudaMemAccessFlags access;
    if (way == PEERS)
        CHECK(cudaDeviceEnablePeerAccess(0, 0));        /* for the memory of cudaMalloc, not of pools */
    CHECK(cudaMemPoolGetAccess(&access, pool, &gpu1));
    cudaError_t call = way == MEMSET ? cudaMemsetAsync(block, 0, BYTES, stream[1])
        : way == COPY ? cudaMemcpyAsync(local, block, BYTES, cudaMemcpyDeviceToDevice, stream[1])
        : way == FETCH ? fetch_block()
        : way == TO_HOST ? cudaMemcpyAsync(&value, block, sizeof value, cudaMemcpyDeviceToHost, stream[0])
        : launch_add(block, 1, COUNT, stream[1]);
    cudaError_t one = cudaStreamSynchronize(stream[1]), zero = cudaStreamSynchronize(stream[0]);
    printf("%-6s  %-28s  %-21s  %-23s  %s\n", access == cudaMemAccessFlagsProtNone ? "none" : "all", names[way],
           cudaGetErrorName(call), cudaGetErrorName(one), cudaGetErrorName(zero));
}

/* After a fault every call of a process fails. So the program starts itself once more, with the number of the way. */
static int use_elsewhere(const char *program, enum way way)
{
    char command[4096];
    snprintf(command, sizeof command, "'%s' %d", program, (int)way);
    fflush(stdout);
    return system(command) == 0;
}

static int local_is(int wanted)
{
    int value = 0;
    CHECK(cudaMemcpy(&value, local + COUNT - 1, sizeof value, cudaMemcpyDeviceToHost));
    printf("        the copy holds %d\n", value);
    return value == wanted;
}

static void print_gpu(const char *what, const void *data)
{
    struct cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data));
    printf("%s a block on GPU %d\n", what, attributes.device);
}

int main(int argc, char **argv)
{
    int *other, devices, reachable = 0;
    if (argc > 1 && argv[1][0] != '0' + KERNEL && argv[1][0] != '0' + PEERS)
        return fprintf(stderr, "%s: it takes no argument, \"%s\" is one\n", argv[0], argv[1]), 2;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices > 1)
        CHECK(cudaDeviceCanAccessPeer(&reachable, 1, 0));
    if (!reachable)
        return printf("skipped: needs a second GPU that reaches the memory of the first; GPUs: %d\n", devices), SKIPPED;
    for (int gpu = 1; gpu >= 0; gpu--) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaStreamCreate(&stream[gpu]));
    }
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    local = take_block(1);
    block = take_block(0);
    CHECK(launch_fill(block, 7, COUNT, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaSetDevice(1));
    if (argc > 1) {
        use_block(argv[1][0] == '0' + PEERS ? PEERS : KERNEL);
        return 0;
    }

    CHECK(cudaMallocFromPoolAsync((void **)&other, BYTES, pool, stream[1]));
    print_gpu("cudaMallocAsync in a stream of GPU 0:", block);
    print_gpu("cudaMallocAsync in a stream of GPU 1:", local);
    print_gpu("from the pool of GPU 0, in a stream of GPU 1:", other);

    puts("access  GPU 1 current                 the call answers       stream of GPU 1          stream of GPU 0");
    int right = use_elsewhere(argv[0], KERNEL) && use_elsewhere(argv[0], PEERS);
    use_block(MEMSET);
    use_block(COPY);
    use_block(TO_HOST);
    use_block(FETCH);
    right &= local_is(7);
    set_access(1);
    use_block(KERNEL);
    use_block(COPY);
    right &= local_is(8);
    use_block(MEMSET);
    set_access(0);
    use_block(MEMSET);

    CHECK(cudaFreeAsync(other, stream[1]));
    CHECK(cudaFreeAsync(local, stream[1]));
    CHECK(cudaFreeAsync(block, stream[0]));
    CHECK(cudaStreamDestroy(stream[1]));
    CHECK(cudaStreamDestroy(stream[0]));
    return right ? 0 : 1;
}
