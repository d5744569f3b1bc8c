/* Captures a graph of the check's own with case 07's functions: the scratch memory is used in the
 * forked stream, then, behind the join, in the capturing one, and is freed after that. It is
 * launched twice. */

int main(int argc, char **argv)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *scratch, *table;
    ASKED_FUNCTION(void, follow, cudaStream_t, cudaStream_t);
    void (*free_it)(int *) = (void (*)(int *))capture_free;
    ASKED_FUNCTION(void, capture_free, int *, cudaStream_t);
    asked_kept_lesson(argv); /* it makes the streams and the event */
    if (!asked_follow
        || !_Generic(&capture_free, void (*)(int *) : 1, default
                     : asked_capture_free))
        return 0;
    asked_border();
    CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&scratch, MiB, capturing));
    asked_follow(forked, capturing);
    CHECK(launch_fill(scratch, 1, 1024, forked));
    asked_follow(capturing, forked);
    CHECK(launch_add(scratch, 1, 1024, capturing));
    if (asked_capture_free)
        asked_capture_free(scratch, capturing);
    else
        free_it(scratch);
    CHECK(cudaMallocAsync((void **)&table, MiB, capturing));
    CHECK(launch_fill(table, 5, 1024, capturing));
    CHECK(cudaFreeAsync(table, capturing));
    CHECK(cudaStreamEndCapture(capturing, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(exec, capturing));
    asked_border();
    CHECK(cudaStreamSynchronize(capturing));
    return 0;
}
