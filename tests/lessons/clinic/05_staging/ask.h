/* Calls case 05's describe for two streams of the check's own in turn, while its main has what it
 * uses: main's first cudaFreeAsync comes here. */

cudaError_t cudaFreeAsync(void *data, cudaStream_t stream);
static int asked_comes; /* the check has called, and not come here yet */

static void asked_calls(void)
{
    cudaStream_t streams[2];
    int *descriptions;
    ASKED_FUNCTION(void, describe, int *, int, cudaStream_t);
    if (!asked_describe)
        return;
    asked_streams(streams, 2);
    CHECK(cudaMalloc((void **)&descriptions, 6 * 4096));
    asked_border();
    for (int i = 0; i < 6; i++)
        asked_describe(descriptions + i * 1024, i, streams[i % 2]);
    asked_border();
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamSynchronize(streams[i]));
}

cudaError_t asked_cudaFreeAsync(void *data, cudaStream_t stream)
{
    if (asked_comes)
        asked_calls();
    asked_comes = 0;
    return cudaFreeAsync(data, stream);
}

int main(int argc, char **argv)
{
    asked_comes = 1;
    return asked_lesson(1, argv);
}
