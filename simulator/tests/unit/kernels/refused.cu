// Work that the device refuses: refused CASE correct|incorrect. The correct form asks for the error
// of a launch; the incorrect form of "copy" ends because of it. "memset", "twice" and "free" are
// silent if they look at the result: refused CASE looked.
#include "cases.h"

static int *a;
static char here[8192];

__global__ void store(int *x)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[threadIdx.x];
}

static void threads() { store<<<1, 2000, 8000>>>(a); }
static void blocks()
{
    int none = 0;
    store<<<none, 32, 128>>>(a);
}
static void shared() { store<<<1, 32, 100 << 10>>>(a); }
static void copy() { cudaMemcpy(a, here, 4100, cudaMemcpyHostToDevice); }

// A host function must not launch, whether it asks for the error or not.
static bool asks;
static void CUDART_CB launching(void *)
{
    if (asks)
        return;
    store<<<1, 32, 128>>>(a);
    cudaGetLastError();
}
static void function()
{
    cudaLaunchHostFunc(0, launching, nullptr);
    cudaDeviceSynchronize();
}

static int memset_unseen()
{
    cudaMemset(a, 0, 4100);
    return 0;
}
static int memset_looked() { return cudaMemset(a, 0, 4100) == cudaSuccess; }
static int twice_unseen()
{
    if (a)
        cudaMemcpy(here, a, 4096, cudaMemcpyHostToDevice);
    else
        return 1;
    return 0;
}
static int twice_looked()
{
    cudaError_t e = cudaMemcpy(here, a, 4096, cudaMemcpyHostToDevice);
    return e == cudaSuccess;
}
static int free_unseen()
{
    cudaFree(a + 1);
    return 0;
}
static int free_looked()
{
    if (cudaFree(a + 1))
        return 0;
    return 1;
}

// A consequence of the refused launch.
static int unwritten()
{
    store<<<1, 32, 128>>>(a + 512);
    shared();
    return cudaMemcpy(here, a, 128, cudaMemcpyDeviceToHost);
}

static const struct {
    const char *name;
    int (*unseen)(), (*looked)();
} results[] = {{"memset", memset_unseen, memset_looked},
               {"twice", twice_unseen, twice_looked},
               {"free", free_unseen, free_looked},
               {"unwritten", unwritten, unwritten}};

static const struct {
    const char *name;
    void (*run)();
} cases[] = {{"threads", threads},
             {"blocks", blocks},
             {"shared", shared},
             {"copy", copy},
             {"function", function}};

int main(int argc, char **argv)
{
    CHECK(cudaMalloc(&a, 4096));
    bool ends = false;
    for (const auto &r : results)
        if (argc > 2 && !strcmp(argv[1], r.name))
            ends = (!strcmp(argv[2], "looked") ? r.looked : r.unseen)();
    run_case(argc, argv, cases, [&ends](const auto &c, bool wrong) {
        asks = !wrong;
        c.run();
        if (asks)
            cudaGetLastError();
        ends = wrong && c.run == copy;
    });
    CHECK(cudaFree(a));
    return ends;
}
