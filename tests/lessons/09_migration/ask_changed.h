/* Runs lesson 09 with frames of MIB (the first argument) and a library that adds MORE (the second)
 * to each digest before it is copied to the host: what a frame's answer is then, only a function
 * that looks at it can return. */

static int asked_more;

cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                 cudaStream_t stream);

/* In a stream that is not the default one, the call with "_ptsz" is the same. */
__attribute__((visibility("hidden"))) cudaError_t cudaMemcpyAsync(void *to, const void *from,
                                                                  size_t bytes,
                                                                  enum cudaMemcpyKind kind,
                                                                  cudaStream_t stream)
{
    if (bytes == sizeof(int) && kind == cudaMemcpyDeviceToHost)
        launch_add((int *)from, asked_more, 1, stream);
    return cudaMemcpyAsync_ptsz(to, from, bytes, kind, stream);
}

int main(int argc, char **argv)
{
    asked_more = atoi(argv[2]);
    argv[2] = NULL;
    lesson_main(2, argv);
    return 0;
}
