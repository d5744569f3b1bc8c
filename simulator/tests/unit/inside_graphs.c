/* A random walk over graphs with memory nodes that checks every invariant after each step.
 *
 *   inside_graphs STEPS [SEED]
 *
 * It is linked with the simulated device's own parts, so that it can call graph_memory_is_valid. It
 * also checks that what the device has given away is what is reserved for graphs, and that every
 * launch leaves in pinned memory what its graph says. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem/device.h"
#include "graph/graph_memory.h"
#include "kernels.h"
#include "walk.h"

#define GRAPHS  12
#define STREAMS 4
#define NODES   24

/* A graph of ours: `left` is the block that it may leave allocated, and its last copy stores
 * `value` at `answer`. */
static struct made {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    void *left;
    int automatic, live, *answer, value, expected;
} made[GRAPHS];
static cudaStream_t streams[STREAMS];
static int *pinned;
static size_t free_at_start;
static unsigned long launches, refusals;

static void want(cudaError_t e, const char *what)
{
    if (e)
        refused(what, e);
}

static size_t size(void)
{
    static const size_t some[] = {4,        512,      513,      MiB,     2 * MiB,
                                  31 * MiB, 32 * MiB, 33 * MiB, 70 * MiB};
    return some[pick(sizeof some / sizeof *some)];
}

static cudaGraphNode_t add_alloc(cudaGraph_t g, const cudaGraphNode_t *before, size_t count,
                                 void **address)
{
    struct cudaMemAllocNodeParams p;
    cudaGraphNode_t node;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = size();
    WANT(cudaGraphAddMemAllocNode(&node, g, before, count, &p));
    *address = p.dptr;
    return node;
}

/* Some of the earlier nodes, without duplicates. */
static size_t choose(const cudaGraphNode_t *nodes, size_t count, cudaGraphNode_t *chosen)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (pick(4) == 0)
            chosen[n++] = nodes[i];
    return n;
}

static void build(struct made *m)
{
    cudaGraphNode_t nodes[3 * NODES + 4], before[3 * NODES + 4], node;
    size_t count = 0;
    void *address;
    m->value = (int)pick(1u << 30);
    WANT(cudaGraphCreate(&m->graph, 0));
    for (unsigned i = 1 + pick(NODES); i; i--) {
        struct cudaMemsetParams p = {
            .value = (unsigned)m->value, .elementSize = 4, .width = 1, .height = 1};
        size_t n = choose(nodes, count, before);
        cudaGraphNode_t alloc = nodes[count++] = add_alloc(m->graph, before, n, &address), set;
        p.dst = address;
        WANT(cudaGraphAddMemsetNode(&set, m->graph, &alloc, 1, &p));
        nodes[count++] = set;
        if (i == 1) {
            WANT(cudaGraphAddMemcpyNode1D(&node, m->graph, &set, 1, m->answer, address, 4,
                                          cudaMemcpyDeviceToHost));
            if (pick(2))
                m->left = address;
            else
                WANT(cudaGraphAddMemFreeNode(&node, m->graph, &node, 1, address));
        } else {
            WANT(cudaGraphAddMemFreeNode(&nodes[count], m->graph, &set, 1, address));
            count++;
        }
    }
}

static void launch(struct made *m)
{
    cudaStream_t s = streams[pick(STREAMS)];
    if (!m->exec) {
        m->automatic = (int)pick(2);
        WANT(cudaGraphInstantiate(&m->exec, m->graph,
                                  m->automatic ? cudaGraphInstantiateFlagAutoFreeOnLaunch : 0));
    }
    if (pick(3) == 0)
        WANT(cudaMemsetAsync(pinned + GRAPHS, 0, 65536, s));
    cudaError_t e = pick(5)                     ? cudaGraphLaunch(m->exec, s)
                  : cudaGraphUpload(m->exec, s) ? cudaErrorUnknown
                                                : cudaGraphLaunch(m->exec, s);
    if (m->left && m->live && !m->automatic) {
        if (e != cudaErrorInvalidValue)
            wrong("a launch was not refused although its block is live");
        refusals++;
        return;
    }
    want(e, "cudaGraphLaunch");
    m->live = m->left != NULL;
    m->expected = m->value;
    launches++;
}

static void discard(struct made *m)
{
    int *answer = m->answer;
    if (m->exec && pick(2))
        WANT(cudaStreamSynchronize(streams[pick(STREAMS)]));
    if (m->exec)
        WANT(cudaGraphExecDestroy(m->exec));
    WANT(cudaGraphDestroy(m->graph));
    if (m->live)
        WANT(cudaFreeAsync(m->left, streams[pick(STREAMS)]));
    WANT(cudaDeviceSynchronize());
    if (m->expected && *answer != m->expected)
        wrong("a launch has left another value than its graph says");
    *m = (struct made){.answer = answer};
    *answer = 0;
}

static void one_step(void)
{
    struct made *m = &made[pick(GRAPHS)];
    if (!m->graph) {
        build(m);
        return;
    }
    switch (pick(10)) {
    case 0: discard(m); break;
    case 1: WANT(cudaDeviceGraphMemTrim(0)); break;
    case 2: WANT(cudaStreamSynchronize(streams[pick(STREAMS)])); break;
    case 3:
        if (m->exec)
            WANT(cudaGraphExecDestroy(m->exec));
        m->exec = NULL;
        break;
    case 4:
        if (m->live)
            WANT(pick(2) ? cudaFreeAsync(m->left, streams[pick(STREAMS)]) : cudaFree(m->left));
        m->live = 0;
        break;
    default: launch(m);
    }
}

static void look(void)
{
    const char *broken = graph_memory_is_valid();
    if (broken)
        wrong(broken);
    if (free_at_start - device_free_memory(0) != graph_segments_figures(0)->reserved)
        wrong("the device has given away another amount than is reserved for graphs");
}

static void look_at_end(void)
{
    if (graph_segments_figures(0)->reserved)
        wrong("memory is left when all is destroyed and trimmed");
}

int main(int argc, char **argv)
{
    unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) * 2654435761u + 1 : 1;
    /* Frees and launches are in any stream, because only the memory is checked. */
    setenv("SIM_CHECK", "off", 1);
    for (int i = 0; i < STREAMS; i++)
        WANT(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    WANT(cudaMallocHost((void **)&pinned, MiB));
    for (int i = 0; i < GRAPHS; i++)
        made[i].answer = &pinned[i];
    lock_acquire();
    free_at_start = device_free_memory(0);
    lock_release();
    for (step = 1; step <= steps; step++) {
        one_step();
        check(look);
    }
    for (int i = 0; i < GRAPHS; i++)
        if (made[i].graph)
            discard(&made[i]);
    WANT(cudaDeviceGraphMemTrim(0));
    check(look);
    check(look_at_end);
    printf("%lu steps, %lu launches, %lu refused\n", steps, launches, refusals);
    return 0;
}
