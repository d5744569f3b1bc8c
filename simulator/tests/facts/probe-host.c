/* Records which copies and memsets of the host's memory wait for pending work, and what calls
 * return for pinned memory that was freed: host [LOOKS]. Each question has a process of its own;
 * LOOKS looks are enough to know that a call waits (probe.h). */
#include "probe.h"
#include "workbook.h"

/* Memory of 8 MiB each: a device's, pinned, managed, of a host pool, pageable. */
static int *dev, *pin1, *pin2, *man1, *man2, *hp1, *hp2, *pg1, *pg2;

enum { BYTES = 8 << 20 };

static int *allocate_pinned(void)
{
    int *p;
    CHECK(cudaMallocHost((void **)&p, BYTES));
    return p;
}

static int *allocate_managed(void)
{
    int *p;
    CHECK(cudaMallocManaged((void **)&p, BYTES, cudaMemAttachGlobal));
    return p;
}

static int *allocate_pageable(void)
{
    int *p = calloc(1, BYTES);
    memset(p, 1, BYTES);
    return p;
}

static cudaMemPool_t make_granted_host_pool(void)
{
    struct cudaMemPoolProps props = pool_props(PINNED, HOST, 0);
    struct cudaMemAccessDesc d = {{DEVICE, 0}, cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAccess(pool, &d, 1));
    return pool;
}

static void set_up(void)
{
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&b));
    gate = gate_create();
    CHECK(cudaMalloc((void **)&dev, BYTES));
    pin1 = allocate_pinned();
    pin2 = allocate_pinned();
    man1 = allocate_managed();
    man2 = allocate_managed();
    memset(pin1, 0, BYTES);
    memset(man1, 0, BYTES);
    memset(man2, 0, BYTES);
    pg1 = allocate_pageable();
    pg2 = allocate_pageable();
    cudaMemPool_t pool = make_granted_host_pool();
    CHECK(cudaMallocFromPoolAsync((void **)&hp1, BYTES, pool, s));
    CHECK(cudaMallocFromPoolAsync((void **)&hp2, BYTES, pool, s));
    open_gate();
    CHECK(load_kernels(dev));
    *gate = 0;
}

/* ---- a process for each question ---- */

static int in_new_process(void)
{
    fflush(stdout);
    if (fork())
        return 0;
    set_up();
    return 1;
}

static int status_of_process(void)
{
    int status;
    wait(&status);
    return status;
}

/* Does the call wait for what is pending in a stream, and is that over when it returns? */
#define WAITS(stream, call)                                                        \
    do {                                                                           \
        if (in_new_process()) {                                                    \
            CHECK(launch_hold(gate, stream));                                      \
            observe();                                                             \
            cudaError_t result_ = (call);                                          \
            int waited_ = call_waited();                                           \
            print_wait(#call, waited_, result_, #stream, cudaStreamQuery(stream)); \
        }                                                                          \
        int status_ = status_of_process();                                         \
        if (status_)                                                               \
            printf("%s: status %x\n", #call, status_);                             \
    } while (0)

_Noreturn static void print_wait(const char *call, int waited, cudaError_t result,
                                 const char *stream, cudaError_t query)
{
    printf("%-78s %s  %s  then cudaStreamQuery(%s): %s\n", call,
           waited ? "waits        " : "does not wait", cudaGetErrorName(result), stream,
           cudaGetErrorName(query));
    fflush(stdout);
    end_observation();
    cudaDeviceSynchronize();
    _exit(0);
}

#define PRINT(call) print_result(#call, (call))

static void print_result(const char *call, cudaError_t result)
{
    printf("%-78s %s\n", call, cudaGetErrorName(result));
    fflush(stdout);
}

static void answer(void (*question)(void))
{
    if (in_new_process()) {
        alarm(8);
        question();
        _exit(0);
    }
    int status = status_of_process();
    if (status)
        printf("  died: status %x\n", status);
}

/* ---- which calls wait? ---- */

/* Do copies and memsets in a non-blocking stream wait for what is pending in it? */
static void waits_in_stream(void)
{
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
}

/* Do copies and memsets in the legacy stream wait for what is pending in a blocking stream? */
static void waits_in_legacy_stream(void)
{
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
}

/* ---- freed pinned memory ---- */

/* Can pinned memory be freed twice? */
static void freed_twice(void)
{
    PRINT(cudaFreeHost(pin1));
    PRINT(cudaFreeHost(pin1));
}

/* Can pinned memory be freed by an address inside? */
static void freed_inside(void) { PRINT(cudaFreeHost(pin1 + 4)); }

/* May a copy write freed pinned memory? */
static void copied_to_when_freed(void)
{
    PRINT(cudaFreeHost(pin1));
    PRINT(cudaMemcpyAsync(pin1, dev, MiB, cudaMemcpyDeviceToHost, s));
    PRINT(cudaStreamSynchronize(s));
}

/* May a copy read freed pinned memory? */
static void copied_from_when_freed(void)
{
    PRINT(cudaFreeHost(pin1));
    PRINT(cudaMemcpyAsync(dev, pin1, MiB, cudaMemcpyHostToDevice, s));
    PRINT(cudaStreamSynchronize(s));
}

/* May a kernel write freed pinned memory? */
static void filled_when_freed(void)
{
    PRINT(cudaFreeHost(pin1));
    PRINT(launch_fill(pin1, 1, 4, s));
    PRINT(cudaStreamSynchronize(s));
}

/* May a memset write freed pinned memory? */
static void set_when_freed(void)
{
    PRINT(cudaFreeHost(pin1));
    PRINT(cudaMemsetAsync(pin1, 0, 4, s));
    PRINT(cudaStreamSynchronize(s));
}

/* Can registered memory be freed, and unregistered twice? */
static void registered_then_freed(void)
{
    PRINT(cudaHostRegister(pg1, MiB, 0));
    PRINT(cudaFreeHost(pg1));
    PRINT(cudaHostUnregister(pg1));
    PRINT(cudaHostUnregister(pg1));
}

/* Can pinned memory be unregistered? */
static void unregistered_then_freed(void)
{
    PRINT(cudaHostUnregister(pin1));
    PRINT(cudaFreeHost(pin1));
}

/* ---- elapsed time ---- */

/* What is the elapsed time between two events of which one is pending? */
static void elapsed_time(void)
{
    cudaEvent_t x, y;
    float ms;
    cudaEventCreate(&x);
    cudaEventCreate(&y);
    cudaEventRecord(x, s);
    launch_hold(gate, s);
    cudaEventRecord(y, s);
    PRINT(cudaEventElapsedTime(&ms, x, y));
    open_gate();
    cudaStreamSynchronize(s);
    PRINT(cudaEventElapsedTime(&ms, x, y));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        wait_looks = atoi(argv[1]);
    waits_in_stream();
    waits_in_legacy_stream();
    puts("freed pinned memory");
    answer(freed_twice);
    answer(freed_inside);
    answer(copied_to_when_freed);
    answer(copied_from_when_freed);
    answer(filled_when_freed);
    answer(set_when_freed);
    answer(registered_then_freed);
    answer(unregistered_then_freed);
    puts("elapsed time");
    answer(elapsed_time);
    return 0;
}
