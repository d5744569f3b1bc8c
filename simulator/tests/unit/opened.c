/* A program that is not linked with the library, but opens and closes it: opened LIBRARY CASE.
 *
 *   count     one call between the two
 *   loop      40 rounds with a copy to pinned memory and a host function, which are pending while
 *             the library is closed
 *   pending   a host function is pending when the library is closed and the program ends
 *   touch     the host touches what a copy may still be writing while the library is closed */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES (1 << 16)

static const char *path;
static void *library;
static int functions;
static char *pinned, *data;
static cudaStream_t stream;

static void open_library(void)
{
    library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
}

static void close_library(void) { dlclose(library); }

#define CALL(name, type, ...)                      \
    do {                                           \
        cudaError_t(*call) type;                   \
        void *symbol = dlsym(library, #name);      \
        memcpy(&call, &symbol, sizeof call);       \
        cudaError_t error = call(__VA_ARGS__);     \
        if (error) {                               \
            printf("%s: %d\n", #name, (int)error); \
            exit(1);                               \
        }                                          \
    } while (0)

static void CUDART_CB count(void *unused)
{
    (void)unused;
    usleep(500);
    functions++;
}

static void CUDART_CB print(void *text) { puts(text); }

static void begin_work(void)
{
    CALL(cudaStreamCreate, (cudaStream_t *), &stream);
    CALL(cudaHostAlloc, (void **, size_t, unsigned), (void **)&pinned, BYTES, 0);
    CALL(cudaMalloc, (void **, size_t), (void **)&data, BYTES);
    CALL(cudaMemsetAsync, (void *, int, size_t, cudaStream_t), data, 7, BYTES, stream);
    CALL(cudaMemcpyAsync, (void *, const void *, size_t, enum cudaMemcpyKind, cudaStream_t), pinned,
         data, BYTES, cudaMemcpyDeviceToHost, stream);
}

static void end_work(void)
{
    CALL(cudaStreamSynchronize, (cudaStream_t), stream);
    if (pinned[0] != 7 || pinned[BYTES - 1] != 7)
        puts("the copy did not arrive");
    CALL(cudaFreeHost, (void *), pinned);
    CALL(cudaFree, (void *), data);
    CALL(cudaStreamDestroy, (cudaStream_t), stream);
}

static void loop(void)
{
    for (int i = 0; i < 40; i++) {
        open_library();
        begin_work();
        CALL(cudaLaunchHostFunc, (cudaStream_t, cudaHostFn_t, void *), stream, count, NULL);
        close_library();
        open_library();
        end_work();
        close_library();
    }
    printf("%d host functions\n", functions);
}

int main(int argc, char **argv)
{
    int devices = 0;
    if (argc != 3)
        return 2;
    path = argv[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(argv[2], "loop")) {
        loop();
        return 0;
    }
    open_library();
    CALL(cudaGetDeviceCount, (int *), &devices);
    if (!strcmp(argv[2], "pending")) {
        CALL(cudaStreamCreate, (cudaStream_t *), &stream);
        CALL(cudaLaunchHostFunc, (cudaStream_t, cudaHostFn_t, void *), stream, print, "it ran");
    } else if (!strcmp(argv[2], "touch")) {
        begin_work();
    }
    close_library();
    if (!strcmp(argv[2], "touch")) {
        volatile char touched = pinned[5000];
        (void)touched;
        open_library();
        end_work();
        close_library();
    }
    printf("%d devices\n", devices);
    return 0;
}
