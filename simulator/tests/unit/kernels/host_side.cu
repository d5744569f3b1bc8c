// The host touches memory that it shares with a kernel: host_side CASE correct|incorrect. The cases
// that "polled" prints are correct.
#include "cases.h"

#define N 4096

__global__ void set(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void add(int *sums, const int *a) { atomicAdd(sums, a[threadIdx.x]); }
__global__ void tell(volatile int *done) { done[threadIdx.x] = 1; }
__global__ void tell_fenced(int *a, int *done)
{
    a[threadIdx.x] = 1;
    __threadfence_system();
    done[threadIdx.x] = 1;
}
__global__ void tell_atomically(int *done) { atomicExch_system(done + threadIdx.x, 1); }
__global__ void count(int *done) { atomicAdd_system(done, 1); }
__global__ void tell_one(int *done) { *done = 1; }

static int *a;
static cudaStream_t s, t;
static volatile int seen;

static void managed(int count)
{
    CHECK(cudaMallocManaged(&a, count * sizeof *a));
    memset(a, 0, count * sizeof *a);
}
static void mapped(int count)
{
    CHECK(cudaHostAlloc(&a, count * sizeof *a, cudaHostAllocMapped));
    memset(a, 0, count * sizeof *a);
}
static void wait_if(bool wanted)
{
    if (wanted)
        CHECK(cudaDeviceSynchronize());
}

static void managed_read(bool wrong)
{
    managed(N);
    set<<<N / 256, 256>>>(a);
    wait_if(!wrong);
    seen = a[5];
}
static void managed_write(bool wrong)
{
    int *sum;
    managed(N);
    CHECK(cudaMalloc(&sum, 4));
    CHECK(cudaMemset(sum, 0, 4));
    add<<<1, 1024>>>(sum, a);
    wait_if(!wrong);
    a[5] = 1;
    CHECK(cudaFree(sum));
}
static void mapped_read(bool wrong)
{
    mapped(N);
    set<<<N / 256, 256, 0, s>>>(a);
    wait_if(!wrong);
    seen = a[N - 1];
}
static void small_mapped(bool wrong)
{
    mapped(64);
    set<<<1, 64, 0, s>>>(a);
    wait_if(!wrong);
    seen = a[5];
}
static void after_memset(bool wrong)
{
    managed(N);
    CHECK(cudaMemsetAsync(a, 0, N * sizeof *a, s));
    set<<<N / 256, 256, 0, s>>>(a);
    wait_if(!wrong);
    seen = a[5];
}
static void in_two_streams(bool wrong)
{
    cudaEvent_t e;
    mapped(2 * N);
    CHECK(cudaEventCreate(&e));
    set<<<N / 256, 256, 0, s>>>(a);
    CHECK(cudaEventRecord(e, s));
    CHECK(cudaStreamWaitEvent(t, e, 0));
    set<<<N / 256, 256, 0, t>>>(a + N);
    if (wrong)
        CHECK(cudaStreamSynchronize(s));
    else
        CHECK(cudaStreamSynchronize(t));
    seen = a[2 * N - 1];
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(e));
}

static const struct {
    const char *name;
    void (*run)(bool wrong);
} cases[] = {{"managed_read", managed_read}, {"managed_write", managed_write},
             {"mapped_read", mapped_read},   {"small_mapped", small_mapped},
             {"after_memset", after_memset}, {"in_two_streams", in_two_streams}};

// ---- what the host may touch at any time ----

static void poll(volatile int *flag)
{
    while (!*flag)
        cudaStreamQuery(s);
}
static void by_volatile()
{
    mapped(N);
    tell<<<1, 1024, 0, s>>>(a);
    poll(a + 7);
}
static void by_fence()
{
    mapped(N);
    tell_fenced<<<1, 1024, 0, s>>>(a, a + N / 2);
    poll(a + N / 2);
}
static void by_atomic()
{
    mapped(N);
    tell_atomically<<<1, 1024, 0, s>>>(a);
    poll(a + 7);
}
static void one()
{
    mapped(1);
    tell_one<<<1, 1, 0, s>>>(a);
    poll(a);
}
static void in_managed()
{
    managed(N);
    tell_fenced<<<1, 1024, 0, s>>>(a, a + N / 2);
    poll(a + N / 2);
}
static void counted()
{
    managed(1);
    count<<<1, 64, 0, s>>>(a);
    poll(a);
}
static void other_half()
{
    managed(2 * N);
    set<<<N / 256, 256, 0, s>>>(a);
    a[N] = 1;
    seen = a[2 * N - 1];
}

static const struct {
    const char *name;
    void (*run)();
} polled[] = {{"by_volatile", by_volatile},
              {"by_fence", by_fence},
              {"by_atomic", by_atomic},
              {"one", one},
              {"in_managed", in_managed},
              {"counted", counted},
              {"other_half", other_half}};

int main(int argc, char **argv)
{
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    for (const auto &p : polled) {
        if (argc > 1 && !strcmp(argv[1], "polled"))
            puts(p.name);
        if (argc > 1 && !strcmp(argv[1], p.name))
            p.run();
    }
    int status = run_case(argc, argv, cases, [](const auto &c, bool wrong) { c.run(wrong); });
    CHECK(cudaDeviceSynchronize());
    cudaPointerAttributes where;
    if (a && !cudaPointerGetAttributes(&where, a))
        CHECK(where.type == cudaMemoryTypeManaged ? cudaFree(a) : cudaFreeHost(a));
    return argc > 2 ? status : 0;
}
