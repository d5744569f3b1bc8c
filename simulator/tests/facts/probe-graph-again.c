/* Records what a second launch of a graph returns when its memory was freed in another stream, or
 * was not; memset nodes on a pool's memory; conditional nodes with memory; records and waits with
 * the flag "external". */
#include "graphs.h"

/* ---- the second launch ---- */

static cudaGraphExec_t x;
static cudaGraph_t g;
static void *a;

static void first_launch_with(unsigned flags)
{
    x = small_graph(64 * MiB, 0, flags, &a, &g);
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

static void first_launch(void) { first_launch_with(0); }
static void first_launch_auto_free(void)
{
    first_launch_with(cudaGraphInstantiateFlagAutoFreeOnLaunch);
}

static void second_launch(cudaStream_t stream)
{
    RECORD(cudaGraphLaunch(x, stream));
    NOTE("its stream is over soon: %d", soon_over(stream));
    open_gate();
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaStreamSynchronize(t));
    print_graph_figures("after it");
    RECORD(cudaMemsetAsync(a, 1, 4, s));
    RECORD_SYNC(cudaFreeAsync(a, s), s);
}

CASE_AFTER(first_launch, not_freed) { second_launch(s); }

CASE_AFTER(first_launch_auto_free, not_freed_auto_free) { second_launch(s); }

CASE_AFTER(first_launch_auto_free, not_freed_auto_free_other_stream)
{
    hold(s);
    second_launch(t);
}

CASE_AFTER(first_launch, freed_in_t_synchronized)
{
    RECORD_SYNC(cudaFreeAsync(a, t), t);
    second_launch(s);
}

CASE_AFTER(first_launch, freed_in_t_finished)
{
    RECORD(cudaFreeAsync(a, t));
    NOTE("over %d", soon_over(t));
    second_launch(s);
}

/* TITLE launches in the stream `launching` while the free in the stream `freeing` is pending. */
#define FREE_PENDING(title, freeing, launching) \
    CASE_AFTER(first_launch, title)             \
    {                                           \
        hold(freeing);                          \
        RECORD(cudaFreeAsync(a, freeing));      \
        second_launch(launching);               \
    }

FREE_PENDING(freed_in_t_pending, t, s)
FREE_PENDING(freed_in_t_pending_launched_in_t, t, t)

CASE_AFTER(first_launch, freed_in_t_pending_event)
{
    hold(t);
    RECORD(cudaFreeAsync(a, t));
    RECORD(cudaEventRecord(ev, t));
    RECORD(cudaStreamWaitEvent(s, ev, 0));
    second_launch(s);
}

FREE_PENDING(freed_in_s_pending, s, s)
FREE_PENDING(freed_in_s_pending_launched_in_t, s, t)

CASE_AFTER(first_launch, freed_by_cuda_free)
{
    RECORD(cudaFree(a));
    second_launch(s);
}

/* And when the first launch itself is pending? */
CASE(launched_pending)
{
    x = small_graph(64 * MiB, 0, 0, &a, &g);
    hold(s);
    RECORD(cudaGraphLaunch(x, s));
    RECORD(cudaFreeAsync(a, t));
    second_launch(s);
}

/* ---- nodes on a pool's memory ---- */

/* A graph that sets the memory to fives, and copies it to the host. */
static cudaGraph_t setting_graph(void *memory)
{
    cudaGraphNode_t set = (cudaGraphNode_t)0x5a5a5a5a, get; /* no node, unless one is made */
    cudaGraph_t graph = new_graph();
    struct cudaMemsetParams params = memset_params(memory, 5, MiB);
    RECORD(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &params));
    RECORD(cudaGraphAddMemcpyNode1D(&get, graph, &set, 1, host, memory, 4, cudaMemcpyDeviceToHost));
    return graph;
}

static void nodes_on(void *memory)
{
    cudaStreamSynchronize(s);
    g = setting_graph(memory);
    RECORD(cudaGraphInstantiate(&x, g, 0));
    for (int round = 0; round < 2; round++) {
        *host = 0;
        RECORD_SYNC(cudaGraphLaunch(x, s), s);
        NOTE("value %x", (unsigned)*host);
    }
}

/* Do memset and copy nodes work on memory of cudaMallocAsync? */
CASE(nodes_on_default_pool)
{
    cudaMallocAsync(&a, MiB, s);
    nodes_on(a);
    RECORD_SYNC(cudaGraphLaunch(x, t), t);
}

CASE(nodes_on_own_pool)
{
    cudaMemPool_t pool = make_pool(PINNED, DEVICE, 0);
    cudaMallocFromPoolAsync(&a, MiB, pool, s);
    nodes_on(a);
}

CASE(nodes_on_cuda_malloc) { nodes_on(m); }

/* Is a node made for memory whose allocation is pending? */
CASE(nodes_on_pending)
{
    hold(s);
    cudaMallocAsync(&a, MiB, s);
    g = setting_graph(a);
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD(cudaGraphLaunch(x, s));
    open_gate();
    RECORD(cudaStreamSynchronize(s));
}

/* And for memory that was freed: before it is made, before the instantiation, before the launch? */
CASE(nodes_on_freed)
{
    cudaMallocAsync(&a, MiB, s);
    free_and_wait(a);
    g = setting_graph(a);
}

CASE(nodes_freed_before_instantiation)
{
    a = ready_memory(NULL, MiB);
    g = setting_graph(a);
    free_and_wait(a);
    RECORD(cudaGraphInstantiate(&x, g, 0));
}

CASE(nodes_freed_before_launch)
{
    a = ready_memory(NULL, MiB);
    g = setting_graph(a);
    RECORD(cudaGraphInstantiate(&x, g, 0));
    free_and_wait(a);
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

CASE(memory_handles)
{
    cudaIpcMemHandle_t handle;
    cudaMemPool_t pool;
    RECORD(cudaIpcGetMemHandle(&handle, m));
    cudaMallocAsync(&a, MiB, s);
    RECORD(cudaIpcGetMemHandle(&handle, a));
    pool = shared_pool(0);
    cudaMallocFromPoolAsync(&a, MiB, pool, s);
    RECORD(cudaIpcGetMemHandle(&handle, a));
    x = small_graph(MiB, 0, 0, &a, &g);
    RECORD(cudaGraphLaunch(x, s));
    RECORD(cudaIpcGetMemHandle(&handle, a));
}

/* ---- conditional nodes ---- */

/* The body of a node that is run when a condition, which is 1, is not 0. */
static cudaGraph_t body_of_if(void)
{
    cudaGraphConditionalHandle handle = 0;
    cudaGraphNode_t node;
    g = new_graph();
    RECORD(cudaGraphConditionalHandleCreate(&handle, g, 1, cudaGraphCondAssignDefault));
    struct cudaGraphNodeParams params = condition_params(handle);
    RECORD(cudaGraphAddNode(&node, g, NULL, NULL, 0, &params));
    return params.conditional.phGraph_out[0];
}

static void launch_conditional(void)
{
    RECORD(cudaGraphInstantiate(&x, g, 0));
    if (!x)
        return;
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

static void conditional_memset_of(void *memory)
{
    cudaGraphNode_t node;
    cudaGraph_t body = body_of_if();
    struct cudaMemsetParams params = memset_params(memory, 5, MiB);
    cudaMemset(memory, 0, MiB);
    RECORD(cudaGraphAddMemsetNode(&node, body, NULL, 0, &params));
    launch_conditional();
    cudaMemcpy(host, memory, 4, cudaMemcpyDeviceToHost);
    NOTE("value %x", (unsigned)*host);
}

/* With a memset of cudaMalloc's memory in the body? */
CASE(conditional_memset) { conditional_memset_of(m); }

/* And of a pool's? */
CASE(conditional_memset_of_pool)
{
    a = ready_memory(NULL, MiB);
    conditional_memset_of(a);
}

static struct cudaMemAllocNodeParams allocation_of(size_t bytes)
{
    return (struct cudaMemAllocNodeParams){.poolProps = device_props(), .bytesize = bytes};
}

/* With an allocation and a free? */
static void conditional_allocation(int with_free)
{
    cudaGraphNode_t allocation, end;
    cudaGraph_t body = body_of_if();
    struct cudaMemAllocNodeParams params = allocation_of(MiB);
    RECORD(cudaGraphAddMemAllocNode(&allocation, body, NULL, 0, &params));
    if (with_free)
        RECORD(cudaGraphAddMemFreeNode(&end, body, &allocation, 1, params.dptr));
    launch_conditional();
}

CASE(conditional_allocation_and_free) { conditional_allocation(1); }
CASE(conditional_allocation_alone) { conditional_allocation(0); }

/* With a free of memory that a node before it allocates? */
CASE(conditional_free)
{
    cudaGraphNode_t allocation, end;
    cudaGraph_t body = body_of_if();
    struct cudaMemAllocNodeParams params = allocation_of(MiB);
    RECORD(cudaGraphAddMemAllocNode(&allocation, g, NULL, 0, &params));
    RECORD(cudaGraphAddMemFreeNode(&end, body, NULL, 0, params.dptr));
    launch_conditional();
}

/* Beside memory nodes in the graph itself? */
CASE(conditional_beside_allocation)
{
    cudaGraphNode_t allocation, end, node;
    cudaGraph_t body = body_of_if();
    struct cudaMemAllocNodeParams params = allocation_of(MiB);
    struct cudaMemsetParams set = memset_params(m, 5, MiB);
    RECORD(cudaGraphAddMemsetNode(&node, body, NULL, 0, &set));
    RECORD(cudaGraphAddMemAllocNode(&allocation, g, NULL, 0, &params));
    RECORD(cudaGraphAddMemFreeNode(&end, g, &allocation, 1, params.dptr));
    launch_conditional();
}

/* With a capture of cudaMallocAsync into the body? */
CASE(conditional_capture)
{
    cudaGraph_t body = body_of_if(), captured = NULL;
    RECORD(cudaStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    RECORD(cudaMallocAsync(&a, MiB, s));
    RECORD(cudaMemsetAsync(a, 1, MiB, s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaStreamEndCapture(s, &captured));
    launch_conditional();
}

/* ---- the flag "external" ---- */

/* What do records and waits with the flag return outside a capture, and do they order? */
CASE(external_outside)
{
    RECORD(cudaStreamWaitEvent(t, ev, cudaEventWaitExternal));
    RECORD(cudaEventRecordWithFlags(ev, s, cudaEventRecordDefault));
    RECORD(cudaEventRecordWithFlags(ev, s, cudaEventRecordExternal));
    RECORD(cudaStreamWaitEvent(t, ev, cudaEventWaitExternal));
    RECORD(cudaStreamWaitEvent(t, ev, cudaEventWaitDefault));
    RECORD(cudaEventRecordWithFlags(ev, 0, cudaEventRecordExternal));
    RECORD(cudaStreamWaitEvent(0, ev, cudaEventWaitExternal));
    RECORD(cudaEventRecordWithFlags(NULL, s, cudaEventRecordExternal));
    RECORD(cudaStreamWaitEvent(t, NULL, cudaEventWaitExternal));
    RECORD(cudaEventRecordWithFlags(ev, s, 2));
    RECORD(cudaStreamWaitEvent(t, ev, 2));
    hold(s);
    RECORD(cudaEventRecordWithFlags(ev, s, cudaEventRecordExternal));
    RECORD(cudaEventQuery(ev));
    RECORD(cudaStreamWaitEvent(t, ev, cudaEventWaitExternal));
    NOTE("t is over soon: %d", soon_over(t));
    open_gate();
    RECORD(cudaStreamSynchronize(t));
    RECORD(cudaEventQuery(ev));
}

/* Inside a capture: which nodes, and is a wait one for what was recorded outside? */
CASE(external_inside)
{
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    begin_capture(s, GLOBAL);
    RECORD(cudaEventRecordWithFlags(ev, s, cudaEventRecordExternal));
    RECORD(cudaStreamWaitEvent(s, ev2, cudaEventWaitExternal));
    RECORD(cudaMemsetAsync(m, 1, MiB, s));
    RECORD(cudaStreamEndCapture(s, &g));
    RECORD(cudaGraphGetNodes(g, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type = (enum cudaGraphNodeType)77;
        cudaGraphNodeGetType(nodes[i], &type);
        NOTE("node of type %d", (int)type);
    }
    RECORD(cudaGraphInstantiate(&x, g, 0));
    hold(t);
    cudaEventRecord(ev2, t);
    RECORD(cudaGraphLaunch(x, s));
    NOTE("the launch is over soon: %d", soon_over(s));
    RECORD(cudaEventQuery(ev));
    open_gate();
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventQuery(ev));
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
