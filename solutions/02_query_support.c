/* 02 Query support
 *
 * Shows  how a program finds out what it may use. An attribute that is younger than the driver is
 *        not answered with no: asking for it is an error, so the driver's version comes first. An
 *        attribute is a promise. Whether pools can be made for sharing shows when one is made. One
 *        function decides, and the program has another way to go.
 * Yours  fix: the program is wrong in three places: its comments say what its author believed.
 *        Repair it.
 * Run    make 02          check   make check-02          page   docs/02_query_support
 */
#include "kernels.h"
#include "workbook.h"

struct support {
    int pools, shareable;
};

static const char *yes_no(int yes) { return yes ? "yes" : "no"; }

static int attribute_get(enum cudaDeviceAttr attribute)
{
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
    return value;
}

/* What comes of making a pool for handles of this type; cudaMemHandleTypeNone is a pool that is
 * never shared. */
static cudaError_t pool_try(enum cudaMemAllocationHandleType type)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.handleTypes = type;
    cudaMemPool_t pool;
    cudaError_t answer = cudaMemPoolCreate(&pool, &props);
    if (answer == cudaSuccess)
        CHECK(cudaMemPoolDestroy(pool));
    return answer;
}

static int handle_usable(const char *name, enum cudaMemAllocationHandleType type, int promised)
{
    /* The attribute is a promise, a pool is the proof. */
    cudaError_t answer = pool_try(type);
    printf("%-18s promised %-3s  a pool for it: %s\n", name, yes_no(promised & type),
           cudaGetErrorName(answer));
    return promised & type && answer == cudaSuccess;
}

/* The one place that decides. A version is 1000 x major + 10 x minor: 11020 is 11.2. */
static struct support support_find(void)
{
    struct support found = {0};
    int driver, runtime, promised = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    printf("driver             from 11.2 on %s, from 11.3 on %s, no older than the runtime's major "
           "version %s\n",
           yes_no(driver >= 11020), yes_no(driver >= 11030),
           yes_no(driver / 1000 >= runtime / 1000));
    if (driver >= 11020) /* older drivers do not know the attribute */
        found.pools = attribute_get(cudaDevAttrMemoryPoolsSupported);
    if (driver >= 11030)
        promised = attribute_get(cudaDevAttrMemoryPoolSupportedHandleTypes);
    printf("memory pools       %s\n", yes_no(found.pools));
    if (found.pools) {
        found.shareable =
            handle_usable("file descriptor", cudaMemHandleTypePosixFileDescriptor, promised);
        handle_usable("Win32 handle", cudaMemHandleTypeWin32, promised);
    }
    return found;
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 8) * MiB, count = bytes / sizeof(int);
    int *data, last = -1, value;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    printf("unknown attribute  %s\n",
           cudaGetErrorName(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0)));
    struct support found = support_find();
    printf("so                 %s, sharing %s\n", found.pools ? "cudaMallocAsync" : "cudaMalloc",
           found.shareable ? "through a file descriptor" : "not possible");

    if (found.pools)
        CHECK(cudaMallocAsync((void **)&data, bytes, stream));
    else
        CHECK(cudaMalloc((void **)&data, bytes));
    CHECK(launch_fill(data, 40, count, stream));
    CHECK(launch_add(data, 2, count, stream));
    CHECK(cudaMemcpyAsync(&last, data + count - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    if (found.pools)
        CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (!found.pools)
        CHECK(cudaFree(data));
    printf("last element       %d\n", last);

    CHECK(cudaStreamDestroy(stream));
    return last == 42 ? 0 : 1;
}
