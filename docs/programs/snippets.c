/* The pieces of code that the book's lessons offer to copy, in one program that runs while the book
 * is built: so each compiles, and nothing is reported of it. It needs two devices. */
#include "kernels.h"
#include "workbook.h"

static size_t bytes = 8 * MiB, count = 8 * MiB / sizeof(int);

static cudaMemPool_t default_pool(void)
{
    /* [figure */
    cudaMemPool_t pool;
    uint64_t reserved;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    /* figure] */
    return reserved == 0 ? pool : NULL;
}

static void set_threshold(void)
{
    /* [threshold */
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    /* threshold] */
}

static void turn_off(cudaMemPool_t pool)
{
    /* [policy */
    int off = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &off));
    /* policy] */
}

static cudaMemPool_t measured;
static cudaStream_t busy;

static void run_phase(void)
{
    int *data;
    CHECK(cudaMallocFromPoolAsync((void **)&data, bytes, measured, busy));
    CHECK(launch_fill(data, 1, count, busy));
    CHECK(cudaFreeAsync(data, busy));
    CHECK(cudaStreamSynchronize(busy));
}

static void measure(cudaMemPool_t pool, cudaStream_t stream)
{
    measured = pool, busy = stream;
    {
        /* [watermark */
        uint64_t zero = 0, high;
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
        run_phase();
        CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
        /* watermark] */
    }
    uint64_t zero = 0, high;
    /* [keep */
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    run_phase();
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &high));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &high));
    /* keep] */
}

static void order(cudaMemPool_t pool, cudaStream_t giver, cudaStream_t taker, cudaEvent_t done)
{
    int *data;
    cudaStream_t last = taker;
    CHECK(cudaMallocFromPoolAsync((void **)&data, bytes, pool, giver));
    CHECK(launch_fill(data, 40, count, giver));
    /* [order */
    CHECK(cudaEventRecord(done, giver));        /* after the work that it stands for */
    CHECK(cudaStreamWaitEvent(taker, done, 0)); /* before the taker's use or free */
    CHECK(cudaFreeAsync(data, last));           /* after every use, in any stream */

    CHECK(cudaStreamSynchronize(last)); /* before the host reads, or calls cudaFree */
    /* order] */
}

static void produce(int *data, int round, cudaStream_t mine, cudaEvent_t filled)
{
    /* [produce */
    CHECK(launch_fill(data, round, count, mine)); /* the producer, with the mutex locked */
    CHECK(cudaEventRecord(filled, mine));
    /* produce] */
}

static void consume(int *data, cudaStream_t mine, cudaEvent_t filled)
{
    /* [consume */
    CHECK(cudaStreamWaitEvent(mine, filled, 0)); /* the consumer, with the mutex locked */
    CHECK(launch_add(data, 1, count, mine));
    /* consume] */
}

static void threads(cudaStream_t producer, cudaStream_t consumer, cudaEvent_t filled)
{
    int *data;
    CHECK(cudaMallocAsync((void **)&data, bytes, producer));
    produce(data, 1, producer, filled);
    consume(data, consumer, filled);
    CHECK(cudaFreeAsync(data, consumer));
}

static void reuse(cudaStream_t load, cudaStream_t work, cudaEvent_t freed)
{
    void *data, *next;
    CHECK(cudaMallocAsync(&data, bytes, work));
    /* [reuse */
    CHECK(cudaFreeAsync(data, work));
    CHECK(cudaEventRecord(freed, work));
    CHECK(cudaStreamWaitEvent(load, freed, 0));
    CHECK(cudaMallocAsync(&next, bytes, load));
    /* reuse] */
    CHECK(cudaFreeAsync(next, load));
}

static void trim(cudaMemPool_t pool, size_t keep, cudaStream_t stream)
{
    /* [trim */
    CHECK(cudaStreamSynchronize(stream)); /* until the frees are over */
    CHECK(cudaMemPoolTrimTo(pool, keep)); /* and then give back all but `keep` bytes */
    /* trim] */
    /* [trim-graphs */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0)); /* what the pool keeps */
    CHECK(cudaDeviceGraphMemTrim(0));  /* what device 0 keeps for graphs */
    /* trim-graphs] */
    /* [graph-figure */
    uint64_t held;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &held));
    /* graph-figure] */
}

/* As in lesson 20: an allocation of a graph, and the node that frees it. */
static void free_node(cudaStream_t stream)
{
    struct cudaMemAllocNodeParams memory = {0};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location = (struct cudaMemLocation){cudaMemLocationTypeDevice, 0};
    memory.bytesize = bytes;
    cudaGraph_t graph;
    cudaGraphNode_t after[1], node;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&after[0], graph, NULL, 0, &memory));
    /* [free-node */
    CHECK(cudaGraphAddMemFreeNode(&node, graph, after, 1, memory.dptr));
    /* free-node] */
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void open_to(cudaMemPool_t pool, int owner, int gpu)
{
    int possible;
    CHECK(cudaDeviceCanAccessPeer(&possible, gpu, owner));
    if (!possible)
        return;
    /* [access */
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, gpu},
                                       cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    /* access] */
}

static void pin(void)
{
    int *buffer;
    /* [pinned */
    CHECK(cudaMallocHost((void **)&buffer, bytes)); /* once, when the program begins */
    /* For each batch: fill the buffer, copy it, and fill it again when that copy is over. */
    CHECK(cudaFreeHost(buffer)); /* once, when the program ends */
    /* pinned] */
}

static void host_pool(void)
{
    cudaMemPool_t pool;
    /* [host-pool */
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeHost, 0}};
    CHECK(cudaMemPoolCreate(&pool, &props));
    /* host-pool] */
    CHECK(cudaMemPoolDestroy(pool));
    /* [numa-pool */
    props.location.type = cudaMemLocationTypeHostNuma; /* node 0 */
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    CHECK(cudaMemPoolCreate(&pool, &props));
    /* numa-pool] */
    CHECK(cudaMemPoolDestroy(pool));
}

int main(void)
{
    cudaStream_t first, second;
    cudaEvent_t event;
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cudaMemPool_t pool = default_pool();

    set_threshold();
    turn_off(pool);
    measure(pool, first);
    order(pool, first, second, event);
    threads(first, second, event);
    reuse(first, second, event);
    if (devices > 1)
        open_to(pool, 0, 1);
    free_node(first);
    trim(pool, bytes, first);
    pin();
    host_pool();

    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaStreamDestroy(first));
    return 0;
}
