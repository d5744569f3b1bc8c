/* 15 Will it run there?
 *
 * Question: You ship your program. On a machine that you have never seen, are there pools? Could
 *   another process get one of them? What does the program do where there are none?
 * Task (fix): three places, marked YOUR WORK, rest on beliefs that are wrong. Repair them. Ask the
 *   device: make no allocation only to see whether it fails.
 * Calls: cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool,
 *                                    enum cudaMemAllocationHandleType type, unsigned flags)
 *        cudaMemPoolDestroy(cudaMemPool_t pool)        cudaGetLastError(void)
 *        cudaMalloc(void **data, size_t bytes)         cudaFree(void *data)
 *        cudaStreamSynchronize(cudaStream_t stream)    close(int descriptor)
 * Run:   make 15          Check: make check-15          Page: docs/15_query_support
 */
#include "kernels.h"
#include "workbook.h"

#include <unistd.h>

struct support {
    int pools, sharing;
};

static const char *yes_no(int yes) { return yes ? "yes" : "no"; }

static int attribute_get(enum cudaDeviceAttr attribute)
{
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
    return value;
}

/* A pool that could be shared through a file descriptor. */
static cudaError_t create_shareable(cudaMemPool_t *pool)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    return cudaMemPoolCreate(pool, &props);
}

/* YOUR WORK, 1 of 3. Can a pool be shared through a file descriptor here, whatever was `promised`?
 * (That is the attribute's value for handle types, or -1 where the driver lacks it.) Leaves nothing
 * behind: no pool, no open descriptor, and no error for the next cudaGetLastError. */
static int sharing_works(int promised)
{
    cudaMemPool_t pool;
    if (!(promised & cudaMemHandleTypePosixFileDescriptor))
        return 0;
    CHECK(create_shareable(&pool)); /* "The attribute has promised it." */
    CHECK(cudaMemPoolDestroy(pool));
    return 1;
}

/* The only place that decides. A driver's version is 1000 x major + 10 x minor: 11020 is 11.2,
 * which brought pools. The attribute for handle types came with 11.3. */
static struct support support_find(void)
{
    struct support found = {0};
    int driver, promised = -1;
    CHECK(cudaDriverGetVersion(&driver));
    /* YOUR WORK, 2 of 3. "A driver without pools returns 0 for both." */
    found.pools = attribute_get(cudaDevAttrMemoryPoolsSupported);
    promised = attribute_get(cudaDevAttrMemoryPoolSupportedHandleTypes);
    if (found.pools)
        found.sharing = sharing_works(promised);
    printf("pools         %s\n", yes_no(found.pools));
    printf("descriptors   promised %s, sharing works: %s\n",
           promised < 0 ? "nothing" : yes_no(promised & cudaMemHandleTypePosixFileDescriptor),
           yes_no(found.sharing));
    return found;
}

/* YOUR WORK, 3 of 3. Memory for work in `stream`, and its end. Without pools it is cudaMalloc
 * memory; no code may rely on a wait in cudaFree (none is promised): wait for `stream` alone. */
static cudaError_t take(int pools, void **data, size_t bytes, cudaStream_t stream)
{
    (void)pools; /* "Every device that runs this program has pools." */
    return cudaMallocAsync(data, bytes, stream);
}

/* `stream` comes after every use of the memory. */
static cudaError_t give_back(int pools, void *data, cudaStream_t stream)
{
    (void)pools;
    return cudaFreeAsync(data, stream);
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 8) * MiB, count = bytes / sizeof(int);
    int *data, last = -1;
    cudaStream_t stream;
    struct support found = support_find();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(take(found.pools, (void **)&data, bytes, stream));
    CHECK(launch_fill(data, 40, count, stream));
    CHECK(launch_add(data, 2, count, stream));
    CHECK(cudaMemcpyAsync(&last, data + count - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    CHECK(give_back(found.pools, data, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("last element  %d, in memory of %s\n", last,
           found.pools ? "cudaMallocAsync" : "cudaMalloc");
    CHECK(cudaStreamDestroy(stream));
    return last == 42 ? 0 : 1;
}
