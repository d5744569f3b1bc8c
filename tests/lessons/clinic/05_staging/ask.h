/* Calls case 05's describe for two streams of the check's own in turn, while its main has what it
 * uses: main's first cudaFreeAsync comes here. */

cudaError_t cudaFreeAsync(void *data, cudaStream_t stream);
static int asked_comes; /* the check has called, and not come here yet */

static void asked_describe(void)
{
    cudaStream_t streams[2];
    int *descriptions;
    if (!_Generic(&describe, void (*)(int *, int, cudaStream_t) : 1, default : 0))
        return;
    asked_streams(streams, 2);
    CHECK(cudaMalloc((void **)&descriptions, 6 * 4096));
    asked_border();
    for (int i = 0; i < 6; i++)
        ((void (*)(int *, int, cudaStream_t))describe)(descriptions + i * 1024, i, streams[i % 2]);
    asked_border();
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamSynchronize(streams[i]));
    CHECK(cudaFree(descriptions));
}

cudaError_t asked_cudaFreeAsync(void *data, cudaStream_t stream)
{
    if (asked_comes)
        asked_describe();
    asked_comes = 0;
    return cudaFreeAsync(data, stream);
}

int main(int argc, char **argv)
{
    (void)argc;
    asked_comes = 1;
    return asked_lesson(1, argv);
}
