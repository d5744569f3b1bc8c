/* 15 Query support
 *
 * Asks   How does a program find out whether it may use pools, and whether another process could
 *        get one of them? What does it do where there are none?
 * Yours  fix: the program is incorrect in three places: its comments say what its author believed.
 *        Repair them. One repair needs a call that the program lacks.
 * Run    make 15          check   make check-15          page   docs/15_query_support
 */
#include "kernels.h"
#include "workbook.h"

#include <unistd.h>

/* cudaMemHandleTypeFabric: older headers lack the name. */
#define FABRIC ((enum cudaMemAllocationHandleType)8)

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

/* Can a pool be shared through handles of this type? `promised` is what the attribute returned, or
 * -1. Only a file descriptor is exported: where a device is part of no fabric, the recorded driver
 * refuses to export a fabric handle, and the process crashed afterwards. */
static int pool_shareable(const char *name, enum cudaMemAllocationHandleType type, int promised)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.handleTypes = type;
    cudaMemPool_t pool;
    cudaError_t created = cudaMemPoolCreate(&pool, &props), exported = created;
    if (created == cudaSuccess) {
        int descriptor;
        if (type == cudaMemHandleTypePosixFileDescriptor) {
            exported = cudaMemPoolExportToShareableHandle(&descriptor, pool, type, 0);
            if (exported == cudaSuccess)
                close(descriptor);
        }
        CHECK(cudaMemPoolDestroy(pool));
    }
    printf("%-18s promised %-7s  created %s%s\n", name,
           promised < 0 ? "unknown" : yes_no(promised & type),
           created != cudaSuccess                         ? "no   "
           : type == cudaMemHandleTypePosixFileDescriptor ? "yes  exported "
                                                          : "yes  export not tried, creation ",
           cudaGetErrorName(exported));
    return exported == cudaSuccess;
}

/* The one place that decides. A version is 1000 x major + 10 x minor: 11020 is 11.2. */
static struct support support_find(void)
{
    struct support found = {0};
    int driver, runtime, promised = -1;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    printf("driver             11.2 or later %s, 11.3 or later %s, as new as the runtime %s\n",
           yes_no(driver >= 11020), yes_no(driver >= 11030),
           yes_no(driver / 1000 >= runtime / 1000));
    if (driver >= 11020)
        found.pools = attribute_get(cudaDevAttrMemoryPoolsSupported);
    if (driver >= 11030)
        promised = attribute_get(cudaDevAttrMemoryPoolSupportedHandleTypes);
    printf("memory pools       %s\n", yes_no(found.pools));
    if (found.pools) {
        found.shareable =
            pool_shareable("file descriptor", cudaMemHandleTypePosixFileDescriptor, promised);
        pool_shareable("Win32 handle", cudaMemHandleTypeWin32, promised);
        pool_shareable("fabric handle", FABRIC, promised);
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

    CHECK(found.pools ? cudaMallocAsync((void **)&data, bytes, stream)
                      : cudaMalloc((void **)&data, bytes));
    CHECK(launch_fill(data, 40, count, stream));
    CHECK(launch_add(data, 2, count, stream));
    CHECK(cudaMemcpyAsync(&last, data + count - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(found.pools ? cudaFreeAsync(data, stream) : cudaFree(data));
    printf("last element       %d\n", last);

    CHECK(cudaStreamDestroy(stream));
    return last == 42 ? 0 : 1;
}
