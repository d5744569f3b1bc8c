/* Asks a machine with two GPUs who may use an imported pool: does the access that its exporter granted come along?
 *
 *   probe_ipc_peers          every case (probe_pairs.h says how)
 *
 * Build: gcc, kernels.o, libcudart, as for probe.c. It runs on the simulated device, too. */
#define _GNU_SOURCE
#include "probe_pairs.h"

static cudaMemPool_t p, im;
static cudaStream_t s1;                /* of GPU 1 */
static void *a, *b, *q;
static struct cudaMemPoolPtrExportData x;

static int access_of(cudaMemPool_t of, int device)
{
    enum cudaMemAccessFlags flags = (enum cudaMemAccessFlags)9;
    struct cudaMemLocation where = { cudaMemLocationTypeDevice, device };
    cudaMemPoolGetAccess(&flags, of, &where);
    return (int)flags;
}

static cudaError_t set_access(cudaMemPool_t of, int device, enum cudaMemAccessFlags flags)
{
    struct cudaMemAccessDesc wanted = { { cudaMemLocationTypeDevice, device }, flags };
    return cudaMemPoolSetAccess(of, &wanted, 1);
}

static int value_of(const void *block)
{
    int v = 0;
    cudaMemcpyAsync(&v, block, sizeof v, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    return v;
}

/* A pool of GPU 0 that GPU 1 may use, and a block of it. */
static void put_shared(void)
{
    struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned, .handleTypes = cudaMemHandleTypePosixFileDescriptor, .location.type = cudaMemLocationTypeDevice };
    cudaMemPoolCreate(&p, &props);
    SAY("the exporter grants GPU 1 access");
    ASK(set_access(p, 1, cudaMemAccessFlagsProtReadWrite));
    cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0);
    cudaMallocFromPoolAsync(&a, 4 * MiB, p, s);
    launch_fill(a, 7, MiB, s);
    cudaStreamSynchronize(s);
    cudaMemPoolExportPointer(&x, a);
    put_descriptor();
    put(&x, sizeof x);
}

static void get_shared(void)
{
    get_descriptor();
    get(&x, sizeof x);
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    cudaMemPoolImportPointer(&q, im, &x);
    cudaSetDevice(1);
    cudaStreamCreate(&s1);
    cudaMallocAsync(&b, 4 * MiB, s1);
    cudaStreamSynchronize(s1);
}

static void exports_and_waits(void)
{
    put_shared();
    hear();
    SAY("access here: GPU 0 %d, GPU 1 %d", access_of(p, 0), access_of(p, 1));
    ASK(cudaFreeAsync(a, s));
    ASK(cudaStreamSynchronize(s));
}

static void imports_and_grants(void)
{
    get_shared();
    SAY("access here: GPU 0 %d, GPU 1 %d", access_of(im, 0), access_of(im, 1));
    ASK(cudaMemsetAsync(q, 0, 4, s1));
    ASK(cudaMemcpyPeerAsync(b, 1, q, 0, 4, s1));
    ASK(cudaStreamSynchronize(s1));
    ASK(set_access(im, 1, cudaMemAccessFlagsProtReadWrite));
    SAY("access here: GPU 0 %d, GPU 1 %d", access_of(im, 0), access_of(im, 1));
    ASK(launch_add(q, 1, MiB, s1));
    ASK(cudaStreamSynchronize(s1));
    cudaSetDevice(0);
    SAY("value %d", value_of(q));
    ASK(set_access(im, 1, cudaMemAccessFlagsProtNone));
    SAY("access here: GPU 0 %d, GPU 1 %d", access_of(im, 0), access_of(im, 1));
    ASK(cudaFreeAsync(q, s));
    ASK(cudaStreamSynchronize(s));
    tell();
}

static void imports_and_trusts(void)
{
    get_shared();
    ASK(launch_add(q, 1, MiB, s1));
    ASK(cudaStreamSynchronize(s1));
    tell();
}

int main(void)
{
    static const struct pair cases[] = {
        { "granted_by_the_importer", exports_and_waits, imports_and_grants },
        { "granted_by_the_exporter_only", exports_and_waits, imports_and_trusts },
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) failed |= run_pair(&cases[i]);
    return failed;
}
