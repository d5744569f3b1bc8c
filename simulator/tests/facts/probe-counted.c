/* Records what cudaMemGetInfo and nvidia-smi count: after each step, by how much the free memory of
 * the device has fallen since the process began to use it, and what nvidia-smi says of the device
 * and of this process; where it is not there, a dash. */
#include "probe.h"

static cudaMemPool_t pool;

/* The first number that a command prints, or -1. */
static long long number_of(const char *command)
{
    long long number = -1;
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%lld", &number) != 1)
        number = -1;
    if (f)
        pclose(f);
    return number;
}

static void print_number(const char *what, long long number)
{
    if (number < 0)
        printf(", %s -", what);
    else
        printf(", %s %lld", what, number);
}

static void step(const char *what)
{
    char command[256];
    printf("%-44s cudaMemGetInfo %6.1f MiB", what, (double)fallen() / (double)MiB);
    print_number("nvidia-smi device",
                 number_of("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0 "
                           "2>/dev/null"));
    snprintf(command, sizeof command,
             "nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits "
             "2>/dev/null | sed -n 's/^%d, //p'",
             (int)getpid());
    print_number("process", number_of(command));
    puts("");
}

#define STEP(call, what) ((void)(call), step(what))

CASE(plain_memory)
{
    void *small, *more, *large;
    STEP(cudaMalloc(&small, 1), "cudaMalloc of 1 byte");
    STEP(cudaMalloc(&more, 1000), "and of 1000 more");
    STEP(cudaMalloc(&large, 100 * MiB), "and of 100 MiB");
    cudaFree(small);
    cudaFree(more);
    STEP(cudaFree(large), "all freed");

    void *first, *second;
    STEP(cudaMallocFromPoolAsync(&first, 1, pool, s), "cudaMallocFromPoolAsync of 1 byte");
    STEP(cudaMallocFromPoolAsync(&second, 100 * MiB, pool, s), "and of 100 MiB");
    STEP(cudaFreeAsync(second, s), "the 100 MiB freed");
    STEP(cudaStreamSynchronize(s), "and synchronized");
    set_threshold(pool, UINT64_MAX);
    cudaMallocFromPoolAsync(&second, 100 * MiB, pool, s);
    STEP(free_and_wait(second), "100 MiB freed, synchronized, kept");
    free_and_wait(first);
    STEP(cudaMemPoolTrimTo(pool, 0), "all freed, and trimmed");

    void *pinned, *managed;
    cudaStream_t streams[64];
    STEP(cudaMallocHost(&pinned, 100 * MiB), "100 MiB of pinned memory");
    cudaFreeHost(pinned);
    cudaMallocManaged(&managed, 100 * MiB, cudaMemAttachGlobal);
    step("100 MiB of managed memory, untouched");
    cudaMemset(managed, 0, 100 * MiB);
    STEP(cudaDeviceSynchronize(), "and written by the device");
    STEP(cudaFree(managed), "and freed");
    for (int i = 0; i < 64; i++)
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
    step("64 streams");
    for (int i = 0; i < 64; i++)
        cudaStreamDestroy(streams[i]);
}

/* A second process on the same device: what of it does this one see? */
CASE(other_process)
{
    int ready[2], done[2];
    char byte;
    if (pipe(ready) || pipe(done))
        exit(1);
    char numbers[2][16];
    snprintf(numbers[0], sizeof *numbers, "%d", ready[1]);
    snprintf(numbers[1], sizeof *numbers, "%d", done[0]);
    pid_t child = fork();
    if (child == 0) {
        close(done[1]);
        execl("/proc/self/exe", "counted", numbers[0], numbers[1], (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1)
        step("another process has 100 MiB");
    close(done[1]);
    STEP(waitpid(child, NULL, 0), "and has ended");
}

static int be_other_process(char **argv)
{
    void *p;
    char byte = 1;
    cudaMalloc(&p, 100 * MiB);
    cudaDeviceSynchronize();
    return write(atoi(argv[1]), &byte, 1) != 1 || read(atoi(argv[2]), &byte, 1) < 0;
}

int main(int argc, char **argv)
{
    struct cudaMemPoolProps props = device_props();
    size_t total;
    if (argc == 3)
        return be_other_process(argv);
    set_up_process();
    cudaDeviceSynchronize();
    cudaMemGetInfo(&free_at_first, &total);
    printf("total: all but %s\n", free_at_first < total ? "what the context takes" : "nothing");
    step("at first");
    STEP(cudaMemPoolCreate(&pool, &props), "an empty pool");
    return run_in_one_process();
}
