// Work that the device refuses. The correct form of a launch asks for its error; the incorrect form
// of "copy" ends because of it. A result that is not looked at is reported.
#include "cases.h"

static int *a;
static char here[8192];

__global__ void store(int *x)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[threadIdx.x];
}

static bool ends;

static void ask()
{
    if (!wrong)
        cudaGetLastError();
}

CASE(threads)
{
    store<<<1, 2000, 8000>>>(a);
    ask();
}
CASE(blocks)
{
    int none = 0;
    store<<<none, 32, 128>>>(a);
    ask();
}
CASE(shared)
{
    store<<<1, 32, 100 << 10>>>(a);
    ask();
}
CASE(copy)
{
    cudaMemcpy(a, here, 4100, cudaMemcpyHostToDevice);
    ask();
    ends = wrong;
}

// A host function must not launch, whether it asks for the error or not.
static void CUDART_CB launching(void *)
{
    if (!wrong)
        return;
    store<<<1, 32, 128>>>(a);
    cudaGetLastError();
}
CASE(function)
{
    cudaLaunchHostFunc(0, launching, nullptr);
    cudaDeviceSynchronize();
}

// A case that returns whether the program ends because of it.
#define RESULT(name)                            \
    static int name();                          \
    static void run_##name() { ends = name(); } \
    LIST_CASE(name, run_##name)                 \
    static int name()

// A call that is refused: nobody looks at its result, or the program ends because of it.
#define BOTH(name, call)  \
    RESULT(name##_unseen) \
    {                     \
        call;             \
        return 0;         \
    }                     \
    RESULT(name##_looked) { return call == cudaSuccess; }

static cudaGraphNode_t node;
BOTH(memset, cudaMemset(a, 0, 4100))
BOTH(malloc_to_null, cudaMalloc((void **)nullptr, 4))
BOTH(copy_from_null, cudaMemcpy(a, nullptr, 4, cudaMemcpyDefault))
BOTH(free_host, cudaFreeHost(a))
BOTH(node, cudaGraphAddEmptyNode(&node, nullptr, nullptr, 0))
// The same call in other forms.
RESULT(twice_unseen)
{
    if (a)
        cudaMemcpy(here, a, 4096, cudaMemcpyHostToDevice);
    else
        return 1;
    return 0;
}
RESULT(twice_looked)
{
    cudaError_t e = cudaMemcpy(here, a, 4096, cudaMemcpyHostToDevice);
    return e == cudaSuccess;
}
RESULT(free_unseen)
{
    cudaFree(a + 1);
    return 0;
}
RESULT(free_looked)
{
    if (cudaFree(a + 1))
        return 0;
    return 1;
}

// A consequence of the refused launch.
RESULT(unwritten)
{
    store<<<1, 32, 128>>>(a + 512);
    shared();
    return cudaMemcpy(here, a, 128, cudaMemcpyDeviceToHost);
}

int main(int argc, char **argv)
{
    CHECK(cudaMalloc(&a, 4096));
    const int status = run_cases(argc, argv);
    CHECK(cudaFree(a));
    return status || ends;
}
