/* What calls return while the process ends: ending NAME. What a real device was asked is in
 * simulator/tests/facts/probe-ending.c. */
#include "expect.h"

#include "kernels.h"

static cudaStream_t s;
static cudaMemPool_t pool;
static void *a;

static void make(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    OK(cudaStreamCreate(&s));
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMallocFromPoolAsync(&a, MiB, pool, s));
}

static void say(const char *when)
{
    cudaError_t freed = cudaFreeAsync(a, s), destroyed = cudaMemPoolDestroy(pool);
    printf("%s: %s, %s, last error %s\n", when, cudaGetErrorName(freed),
           cudaGetErrorName(destroyed), cudaGetErrorName(cudaGetLastError()));
    fflush(stdout);
}

static int wanted;

static void at_exit(void) { say("atexit"); }

__attribute__((destructor)) static void at_destructor(void)
{
    if (wanted == 3)
        say("destructor");
}

int main(int argc, char **argv)
{
    static const char *const cases[] = {"registered_before", "registered_after", "nothing_freed",
                                        "destructor"};
    while (wanted < 4 && argc > 1 && strcmp(argv[1], cases[wanted]))
        wanted++;
    if (wanted == 0)
        atexit(at_exit);
    make();
    if (wanted == 1)
        atexit(at_exit);
    if (wanted == 1 && argc > 2)
        exit(atoi(argv[2]));
    return 0;
}
