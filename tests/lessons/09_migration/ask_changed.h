/* Runs lesson 09 with frames of MIB (the first argument) and a library that adds MORE (the second)
 * to each digest before it is copied to the host: what a frame's answer is then, only a function
 * that looks at it can return. */

static int asked_more;

/* In a stream that is not the default one, the call with "_ptsz" is the same. A file that asks for
 * per-thread default streams calls that one. */
#ifdef __CUDART_API_PER_THREAD_DEFAULT_STREAM
#undef cudaMemcpyAsync
#define asked_called cudaMemcpyAsync_ptsz
#define asked_same   cudaMemcpyAsync
#else
#define asked_called cudaMemcpyAsync
#define asked_same   cudaMemcpyAsync_ptsz
#endif

cudaError_t asked_same(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                       cudaStream_t stream);

__attribute__((visibility("hidden"))) cudaError_t asked_called(void *to, const void *from,
                                                               size_t bytes,
                                                               enum cudaMemcpyKind kind,
                                                               cudaStream_t stream)
{
    if (bytes == sizeof(int) && kind == cudaMemcpyDeviceToHost)
        launch_add((int *)from, asked_more, 1, stream);
    return asked_same(to, from, bytes, kind, stream);
}

int main(int argc, char **argv)
{
    asked_more = atoi(argv[2]);
    argv[2] = NULL;
    asked_lesson(2, argv);
    return 0;
}
