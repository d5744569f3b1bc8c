/* Records what calls return while the process ends: in a handler of atexit that was registered
 * before the first call, after it, and in a destructor of the program, which runs after both. A
 * global object of C++ has its destructor registered before main. */
#include "probe.h"

static cudaMemPool_t pool;
static void *a, *plain, *pinned;
static int is_destructor_asked;

static void make(void)
{
    set_up_case();
    pool = new_pool(0);
    cudaMallocFromPoolAsync(&a, MiB, pool, s);
    cudaMalloc(&plain, MiB);
    cudaMallocHost(&pinned, MiB);
    cudaDeviceSynchronize();
    cudaGetLastError();
}

static void others(void)
{
    int number;
    size_t free_bytes, total;
    void *p;
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaStreamQuery(s));
    RECORD(cudaDeviceSynchronize());
    RECORD(cudaGetDevice(&number));
    RECORD(cudaGetDeviceCount(&number));
    RECORD(cudaSetDevice(0));
    RECORD(cudaDriverGetVersion(&number));
    RECORD(cudaRuntimeGetVersion(&number));
    RECORD(cudaMemGetInfo(&free_bytes, &total));
    RECORD(cudaMalloc(&p, MiB));
    RECORD(cudaMallocAsync(&p, MiB, s));
    RECORD(cudaMemsetAsync(m, 0, 4, s));
    RECORD(launch_fill(m, 1, 16, s));
    RECORD(cudaMemcpy(host, m, 4, cudaMemcpyDeviceToHost));
    RECORD(cudaDeviceReset());
    RECORD(cudaGetLastError());
    RECORD(cudaPeekAtLastError());
}

static void all(void)
{
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaFree(plain));
    RECORD(cudaFreeHost(pinned));
    RECORD(cudaMemPoolDestroy(pool));
    RECORD(cudaEventDestroy(ev));
    RECORD(cudaStreamDestroy(t));
    others();
    puts("end");
}

__attribute__((destructor)) static void in_destructor(void)
{
    if (is_destructor_asked)
        all();
}

CASE(before_first_call)
{
    atexit(all);
    make();
}

CASE(after_first_call)
{
    make();
    atexit(all);
}

CASE(destructor)
{
    make();
    is_destructor_asked = 1;
}

CASE(no_call_before) { atexit(others); }

int main(int argc, char **argv)
{
    for (const struct named_case *one = named_cases; one; one = one->next) {
        if (argc < 2)
            run_case_apart(argv[0], one->name);
        else if (!strcmp(argv[1], one->name))
            one->run();
    }
    return 0;
}
