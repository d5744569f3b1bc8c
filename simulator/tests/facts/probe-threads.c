/* Records what becomes of a thread's own stream (cudaStreamPerThread) when the thread ends with
 * work pending in it: threads [MIB [SECONDS]]. Each case has a process of its own, which may take
 * 10 s, or SECONDS where a busy machine runs it.
 *
 * A thread allocates in its own stream, puts one fill of 256 MiB (or MIB) behind that, or a
 * hundred, and ends; in the cases named "synchronised" it waits for its stream first. "Plain
 * memory" is main's, from cudaMalloc: then the thread only fills. Afterwards main frees the memory
 * and synchronizes the device. */
#include "probe.h"

static size_t bytes = 256 * MiB;
static unsigned seconds = 10;
static int *memory;

enum memory_is { OF_THE_THREAD, PLAIN, OF_MAIN, FREED_BY_THE_THREAD };

static const struct thread_case {
    const char *name;
    int fills;
    enum memory_is memory_is;
    int synchronized;
} cases[] = {
    {"no fill, pool memory", 0, OF_THE_THREAD, 0},
    {"one fill, pool memory", 1, OF_THE_THREAD, 0},
    {"a hundred fills, pool memory", 100, OF_THE_THREAD, 0},
    {"a hundred fills, pool memory, synchronised", 100, OF_THE_THREAD, 1},
    {"one fill, plain memory", 1, PLAIN, 0},
    {"a hundred fills, plain memory", 100, PLAIN, 0},
    {"a hundred fills, plain memory, synchronised", 100, PLAIN, 1},
    {"one fill, pool memory of main's stream", 1, OF_MAIN, 0},
    {"one fill, pool memory, freed in the thread's stream", 1, FREED_BY_THE_THREAD, 0},
};

static void print_call(const char *call, cudaError_t result)
{
    printf("  %-44s %s\n", call, cudaGetErrorName(result));
}

static void *thread_body(void *of_case)
{
    const struct thread_case *c = of_case;
    cudaError_t error = cudaSuccess;
    if (c->memory_is == OF_THE_THREAD || c->memory_is == FREED_BY_THE_THREAD)
        error = cudaMallocAsync((void **)&memory, bytes, cudaStreamPerThread);
    for (int i = 0; !error && i < c->fills; i++)
        error = launch_fill(memory, i, bytes / sizeof(int), cudaStreamPerThread);
    if (!error && c->memory_is == FREED_BY_THE_THREAD)
        error = cudaFreeAsync(memory, cudaStreamPerThread);
    if (!error && c->synchronized)
        error = cudaStreamSynchronize(cudaStreamPerThread);
    print_call("the thread's last call", error);
    return NULL;
}

static void allocate_by_main(enum memory_is memory_is)
{
    if (memory_is == PLAIN)
        print_call("cudaMalloc", cudaMalloc((void **)&memory, bytes));
    if (memory_is == OF_MAIN) {
        print_call("cudaMallocAsync", cudaMallocAsync((void **)&memory, bytes, cudaStreamLegacy));
        print_call("cudaDeviceSynchronize", cudaDeviceSynchronize());
    }
}

/* What do main's calls return after the thread's end? */
_Noreturn static void run_thread(const struct thread_case *c)
{
    pthread_t thread;
    allocate_by_main(c->memory_is);
    if (pthread_create(&thread, NULL, thread_body, (void *)c))
        exit(1);
    pthread_join(thread, NULL);
    if (c->memory_is != FREED_BY_THE_THREAD)
        print_call("the thread is over; cudaFree", cudaFree(memory));
    print_call("cudaDeviceSynchronize", cudaDeviceSynchronize());
    exit(0);
}

static void run_in_process(const struct thread_case *c)
{
    printf("== %s\n", c->name);
    if (in_new_process(seconds))
        run_thread(c);
    int status = status_of_process();
    if (!WIFSIGNALED(status))
        printf("  ended with %d\n", WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGALRM)
        printf("  hung: stopped after %u s\n", seconds);
    else
        printf("  %s\n", strsignal(WTERMSIG(status)));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        bytes = (size_t)atoi(argv[1]) * MiB;
    if (argc > 2)
        seconds = (unsigned)atoi(argv[2]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_in_process(&cases[i]);
    return 0;
}
