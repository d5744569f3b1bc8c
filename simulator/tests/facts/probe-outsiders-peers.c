/* Records what programs of outsiders asked about two GPUs: copies and a memset in a stream of GPU 1
 * on memory of GPU 0, lists of access that name a GPU twice, none, or one that is not there, and
 * answers that other suites expect otherwise. The calls stand as they stood in those programs. */
#define CALL_COLUMNS 72
#include "probe.h"

static struct cudaMemAccessDesc access_of(int device)
{
    return (struct cudaMemAccessDesc){{cudaMemLocationTypeDevice, device},
                                      cudaMemAccessFlagsProtReadWrite};
}

static void answers(int n)
{
    cudaGraph_t g = NULL, graph;
    cudaMemPool_t pool;
    struct cudaMemAccessDesc d[32];
    struct cudaMemAllocNodeParams p, q;
    cudaGraphNode_t node;
    printf("devices: %d\n", n);
    cudaStreamCreate(&s);
    RECORD(cudaStreamEndCapture(s, NULL));
    RECORD(cudaStreamEndCapture(s, &g));
    RECORD(cudaHostUnregister(NULL));
    RECORD(cudaFreeAsync(NULL, s));

    /* GPU 0 for n + 1 times; then with a second entry of zeros; then with a GPU that is not
     * there. */
    cudaDeviceGetDefaultMemPool(&pool, 0);
    for (int i = 0; i < 32; i++)
        d[i] = access_of(0);
    RECORD(cudaMemPoolSetAccess(pool, d, n + 1));
    memset(&d[1], 0, sizeof d[1]);
    RECORD(cudaMemPoolSetAccess(pool, d, 2));
    d[1] = access_of(n);
    RECORD(cudaMemPoolSetAccess(pool, d, 2));

    /* Which fields of a node's parameters come back as they were? */
    struct cudaMemAccessDesc one = access_of(0);
    memset(&p, 0, sizeof p);
    memset(&q, 0xee, sizeof q);
    p.bytesize = 4096;
    p.poolProps = device_props();
    p.accessDescs = &one;
    p.accessDescCount = 1;
    cudaGraphCreate(&graph, 0);
    RECORD(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    RECORD(cudaGraphMemAllocNodeGetParams(node, &q));
    printf("accessDescs: %s; count %zu; poolProps %s; bytesize %s; dptr %s; memcmp of the whole "
           "%s\n",
           q.accessDescs == p.accessDescs ? "the same pointer"
           : q.accessDescs                ? "another pointer"
                                          : "NULL",
           q.accessDescCount,
           memcmp(&p.poolProps, &q.poolProps, sizeof p.poolProps) ? "differ" : "equal",
           p.bytesize == q.bytesize ? "equal" : "differ", p.dptr == q.dptr ? "equal" : "differ",
           memcmp(&p, &q, sizeof p) ? "differs" : "is equal");
}

int main(void)
{
    int n = 0;
    cudaMemPool_t p;
    void *a, *pin;
    cudaGetDeviceCount(&n);
    puts("== stream_of_other_device");

    /* Memory of a pool of GPU 0, to which GPU 1 has no access, and of cudaMalloc. GPU 0 is
     * current. */
    void *h = malloc(MiB);
    cudaSetDevice(1);
    cudaStreamCreate(&s);
    cudaSetDevice(0);
    p = new_pool(0);
    cudaMallocHost(&pin, MiB);
    record("cudaMallocFromPoolAsync((void **)&a, 1 << 20, p, s)",
           cudaMallocFromPoolAsync(&a, MiB, p, s));
    RECORD(cudaMemcpyAsync(a, h, 1 << 20, cudaMemcpyHostToDevice, s));
    RECORD(cudaMemcpyAsync(a, pin, 1 << 20, cudaMemcpyHostToDevice, s));
    RECORD(cudaMemsetAsync(a, 1, 1 << 20, s));
    RECORD_SYNC(cudaMemcpyAsync(pin, a, 1 << 20, cudaMemcpyDeviceToHost, s), s);
    RECORD(cudaFreeAsync(a, s));
    record("cudaMalloc((void **)&b, 1 << 20)", cudaMalloc(&m, MiB));
    record("cudaMemcpyAsync(b, h, 1 << 20, cudaMemcpyHostToDevice, s)",
           cudaMemcpyAsync(m, h, MiB, cudaMemcpyHostToDevice, s));
    record("cudaMemcpyAsync(b, pin, 1 << 20, cudaMemcpyHostToDevice, s)",
           cudaMemcpyAsync(m, pin, MiB, cudaMemcpyHostToDevice, s));
    RECORD(cudaStreamSynchronize(s));
    record("cudaFree(b)", cudaFree(m));
    RECORD(cudaMemPoolDestroy(p));
    cudaFreeHost(pin);
    free(h);

    puts("== answers");
    answers(n);
    return 0;
}
