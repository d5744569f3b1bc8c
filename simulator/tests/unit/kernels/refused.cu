// Work that the device refuses: refused CASE correct|incorrect. The correct form asks for the error
// of a launch; the incorrect form of "copy" ends because of it.
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

static const struct {
    const char *name;
    void (*run)();
} cases[] = {{"threads", threads}, {"blocks", blocks}, {"shared", shared}, {"copy", copy}};

int main(int argc, char **argv)
{
    CHECK(cudaMalloc(&a, 4096));
    bool ends = false;
    run_case(argc, argv, cases, [&ends](const auto &c, bool wrong) {
        c.run();
        if (!wrong)
            cudaGetLastError();
        ends = wrong && c.run == copy;
    });
    CHECK(cudaFree(a));
    return ends;
}
