/* Asks a device which copies and memsets of the host's memory wait, and what it answers for freed pinned memory: probe_host [N]. Each question has a
 * process of its own. N looks are enough to know that a call waits (probe_wait.h). */
#define _GNU_SOURCE
#include "kernels.h"
#include "probe_wait.h"
#include "workbook.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int *gate;

static cudaStream_t s, b;
static int *dev, *pin1, *pin2, *man1, *man2, *hp1, *hp2, *pg1, *pg2;

static void setup(void)
{
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&b));
    gate = gate_create();
    CHECK(cudaMalloc((void **)&dev, 8 * MiB));
    CHECK(cudaMallocHost((void **)&pin1, 8 * MiB)); CHECK(cudaMallocHost((void **)&pin2, 8 * MiB));
    CHECK(cudaMallocManaged((void **)&man1, 8 * MiB, cudaMemAttachGlobal)); CHECK(cudaMallocManaged((void **)&man2, 8 * MiB, cudaMemAttachGlobal));
    memset(pin1, 0, 8 * MiB); memset(man1, 0, 8 * MiB); memset(man2, 0, 8 * MiB);
    pg1 = calloc(1, 8 * MiB); pg2 = calloc(1, 8 * MiB); memset(pg1, 1, 8 * MiB); memset(pg2, 1, 8 * MiB);
    struct cudaMemPoolProps props = {0}; cudaMemPool_t pool;
    props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeHost;
    CHECK(cudaMemPoolCreate(&pool, &props));
    struct cudaMemAccessDesc d = { .location = { .type = cudaMemLocationTypeDevice, .id = 0 }, .flags = cudaMemAccessFlagsProtReadWrite };
    CHECK(cudaMemPoolSetAccess(pool, &d, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&hp1, 8 * MiB, pool, s)); CHECK(cudaMallocFromPoolAsync((void **)&hp2, 8 * MiB, pool, s));
    CHECK(launch_fill(dev, 1, 4, s)); CHECK(launch_add(dev, 1, 4, s));
    gate_open(gate); CHECK(launch_hold(gate, s)); CHECK(cudaDeviceSynchronize()); *gate = 0;
}

#define WAITS(where, call) do { fflush(stdout); if (!fork()) { setup(); CHECK(launch_hold(gate, where)); watch_call(gate); \
    cudaError_t e = (call); int waited = call_waited(); cudaError_t q = cudaStreamQuery(where); \
    printf("%-78s %s  %s  then cudaStreamQuery(" #where "): %s\n", #call, waited ? "waits        " : "does not wait", cudaGetErrorName(e), cudaGetErrorName(q)); fflush(stdout); \
    call_over(); cudaDeviceSynchronize(); _exit(0); } int st; wait(&st); if (st) printf("%s: status %x\n", #call, st); } while (0)
#define ANSWERS(...) do { fflush(stdout); if (!fork()) { alarm(8); setup(); __VA_ARGS__ fflush(stdout); _exit(0); } int st; wait(&st); if (st) printf("  died: status %x\n", st); } while (0)
#define SAY(call) do { printf("%-78s %s\n", #call, cudaGetErrorName(call)); fflush(stdout); } while (0)

int main(int argc, char **argv)
{
    if (argc > 1) wait_looks = atoi(argv[1]);
    puts("pending on s, non-blocking");
    WAITS(s, cudaMemcpyAsync(pin2, pin1, MiB, cudaMemcpyHostToHost, s));
    WAITS(s, cudaMemcpyAsync(pin2, pin1, MiB, cudaMemcpyDefault, s));
    WAITS(s, cudaMemcpyAsync(pin2, pg1, MiB, cudaMemcpyHostToHost, s));
    WAITS(s, cudaMemcpyAsync(pg2, pin1, MiB, cudaMemcpyHostToHost, s));
    WAITS(s, cudaMemcpyAsync(pg2, pg1, MiB, cudaMemcpyHostToHost, s));
    WAITS(s, cudaMemcpyAsync(hp2, hp1, MiB, cudaMemcpyDefault, s));
    WAITS(s, cudaMemcpyAsync(hp2, hp1, MiB, cudaMemcpyHostToHost, s));
    WAITS(s, cudaMemcpyAsync(hp2, dev, MiB, cudaMemcpyDefault, s));
    WAITS(s, cudaMemcpyAsync(hp2, pin1, MiB, cudaMemcpyDefault, s));
    WAITS(s, cudaMemcpyAsync(man2, man1, MiB, cudaMemcpyDefault, s));
    WAITS(s, cudaMemcpyAsync(pg2, man1, MiB, cudaMemcpyDefault, s));
    WAITS(s, cudaMemsetAsync(pin1, 0, MiB, s));
    WAITS(s, cudaMemsetAsync(man1, 0, MiB, s));
    puts("pending on b, blocking: the legacy stream waits for it");
    WAITS(b, cudaMemset(dev, 0, MiB));
    WAITS(b, cudaMemset(pin1, 0, MiB));
    WAITS(b, cudaMemset(man1, 0, MiB));
    WAITS(b, cudaMemset(hp1, 0, MiB));
    WAITS(b, cudaMemcpy(pin2, pin1, MiB, cudaMemcpyHostToHost));
    WAITS(b, cudaMemcpy(pg2, pg1, MiB, cudaMemcpyHostToHost));
    WAITS(b, cudaMemcpy(hp2, hp1, MiB, cudaMemcpyDefault));
    WAITS(b, cudaMemcpy(hp2, hp1, MiB, cudaMemcpyHostToHost));
    WAITS(b, cudaMemcpy(hp2, dev, MiB, cudaMemcpyDefault));
    WAITS(b, cudaMemcpy(dev, hp1, MiB, cudaMemcpyDefault));
    WAITS(b, cudaMemcpy(man2, man1, MiB, cudaMemcpyDefault));
    WAITS(b, cudaMemcpy(man2, dev, MiB, cudaMemcpyDefault));
    WAITS(b, cudaMemcpy(dev, man1, MiB, cudaMemcpyDefault));
    puts("freed pinned memory");
    ANSWERS(SAY(cudaFreeHost(pin1)); SAY(cudaFreeHost(pin1)););
    ANSWERS(SAY(cudaFreeHost(pin1 + 4)););
    ANSWERS(SAY(cudaFreeHost(pin1)); SAY(cudaMemcpyAsync(pin1, dev, MiB, cudaMemcpyDeviceToHost, s)); SAY(cudaStreamSynchronize(s)););
    ANSWERS(SAY(cudaFreeHost(pin1)); SAY(cudaMemcpyAsync(dev, pin1, MiB, cudaMemcpyHostToDevice, s)); SAY(cudaStreamSynchronize(s)););
    ANSWERS(SAY(cudaFreeHost(pin1)); SAY(launch_fill(pin1, 1, 4, s)); SAY(cudaStreamSynchronize(s)););
    ANSWERS(SAY(cudaFreeHost(pin1)); SAY(cudaMemsetAsync(pin1, 0, 4, s)); SAY(cudaStreamSynchronize(s)););
    ANSWERS(SAY(cudaHostRegister(pg1, MiB, 0)); SAY(cudaFreeHost(pg1)); SAY(cudaHostUnregister(pg1)); SAY(cudaHostUnregister(pg1)););
    ANSWERS(SAY(cudaHostUnregister(pin1)); SAY(cudaFreeHost(pin1)););
    puts("elapsed time");
    ANSWERS(cudaEvent_t x, y; float ms; cudaEventCreate(&x); cudaEventCreate(&y); cudaEventRecord(x, s); launch_hold(gate, s); cudaEventRecord(y, s);
            SAY(cudaEventElapsedTime(&ms, x, y)); gate_open(gate); cudaStreamSynchronize(s); SAY(cudaEventElapsedTime(&ms, x, y)););
    return 0;
}
