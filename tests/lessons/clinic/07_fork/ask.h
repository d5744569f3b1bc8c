/* Captures a graph of the check's own with case 07's functions: the scratch memory is used in the
 * forked stream, then, behind the join, in the capturing one, and is freed after that. It is
 * launched twice. */

int main(int argc, char **argv)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *scratch, *table;
    void (*free_it)(int *) = (void (*)(int *))capture_free;
    void (*free_in)(int *, cudaStream_t) = (void (*)(int *, cudaStream_t))capture_free;
    int arguments = _Generic(&capture_free, void (*)(int *) : 1, void (*)(int *, cudaStream_t) : 2,
                             default : 0);
    (void)argc;
    asked_lesson(1, argv); /* it makes the streams and the event */
    if (!arguments || !_Generic(&follow, void (*)(cudaStream_t, cudaStream_t) : 1, default : 0))
        return 0;
    asked_border();
    CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&scratch, MiB, capturing));
    ((void (*)(cudaStream_t, cudaStream_t))follow)(forked, capturing);
    CHECK(launch_fill(scratch, 1, 1024, forked));
    ((void (*)(cudaStream_t, cudaStream_t))follow)(capturing, forked);
    CHECK(launch_add(scratch, 1, 1024, capturing));
    if (arguments == 1)
        free_it(scratch);
    else
        free_in(scratch, capturing);
    CHECK(cudaMallocAsync((void **)&table, MiB, capturing));
    CHECK(launch_fill(table, 5, 1024, capturing));
    CHECK(cudaFreeAsync(table, capturing));
    CHECK(cudaStreamEndCapture(capturing, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(exec, capturing));
    asked_border();
    CHECK(cudaStreamSynchronize(capturing));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return 0;
}
