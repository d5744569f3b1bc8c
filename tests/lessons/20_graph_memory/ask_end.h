/* Runs lesson 20's main where `build` has a mistake, so that what main does at the end is judged
 * alone: a graph that allocates and frees nothing gets a free node when it is instantiated, a
 * refused free node is no error, and where no executable graph was returned, the last one made is
 * launched. */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                    const cudaGraphNode_t *after, size_t count, void *memory);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

static cudaGraphExec_t asked_made;

cudaError_t asked_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                       unsigned long long flags)
{
    cudaGraphNode_t nodes[16], freed;
    size_t count = sizeof nodes / sizeof *nodes;
    struct cudaMemAllocNodeParams memory = {0};
    int frees = 0;
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(nodes[i], &type));
        if (type == cudaGraphNodeTypeMemAlloc)
            CHECK(cudaGraphMemAllocNodeGetParams(nodes[i], &memory));
        frees += type == cudaGraphNodeTypeMemFree;
    }
    if (memory.dptr != NULL && frees == 0)
        CHECK(cudaGraphAddMemFreeNode(&freed, graph, nodes, count, memory.dptr));
    cudaError_t result = cudaGraphInstantiate(exec, graph, flags);
    asked_made = *exec;
    return result;
}

cudaError_t asked_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                          const cudaGraphNode_t *after, size_t count, void *memory)
{
    (void)cudaGraphAddMemFreeNode(node, graph, after, count, memory);
    return cudaSuccess;
}

cudaError_t asked_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return cudaGraphLaunch(exec != NULL ? exec : asked_made, stream);
}

cudaError_t asked_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return cudaGraphExecDestroy(exec != NULL ? exec : asked_made);
}

int main(int argc, char **argv)
{
    asked_lesson(argc, argv);
    return 0;
}
