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

static void set_up(void)
{
    struct cudaMemPoolProps props = pool_props(PINNED, HOST, 0);
    cudaMemPool_t pool;
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
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(give_access(pool, location_of(DEVICE, 0), cudaMemAccessFlagsProtReadWrite));
    CHECK(cudaMallocFromPoolAsync((void **)&hp1, BYTES, pool, s));
    CHECK(cudaMallocFromPoolAsync((void **)&hp2, BYTES, pool, s));
    open_gate();
    CHECK(load_kernels(dev));
    close_gate();
}

/* Does the call wait for what is pending in a stream, and is that over when it returns? */
#define WAITS(stream, call)                                                      \
    do {                                                                         \
        if (in_new_process(0)) {                                                 \
            set_up();                                                            \
            CHECK(launch_hold(gate, stream));                                    \
            observe();                                                           \
            cudaError_t result_ = (call);                                        \
            int waited_ = call_waited();                                         \
            end_wait(#call, waited_, result_, #stream, cudaStreamQuery(stream)); \
        }                                                                        \
        int status_ = status_of_process();                                       \
        if (status_)                                                             \
            printf("%s: status %x\n", #call, status_);                           \
    } while (0)

_Noreturn static void end_wait(const char *call, int waited, cudaError_t result, const char *stream,
                               cudaError_t query)
{
    printf("%-78s %-13s  %s  then cudaStreamQuery(%s): %s\n", call, wait_in_words(waited),
           cudaGetErrorName(result), stream, cudaGetErrorName(query));
    end_observation();
    cudaDeviceSynchronize();
    _exit(0);
}

#define PRINT(call) print_result(#call, (call))

static void print_result(const char *call, cudaError_t result)
{
    printf("%-78s %s\n", call, cudaGetErrorName(result));
}

static void answer(void (*question)(void))
{
    if (in_new_process(8)) {
        set_up();
        question();
        _exit(0);
    }
    int status = status_of_process();
    if (status)
        printf("  died: status %x\n", status);
}

/* Can pinned memory be freed twice? */
CASE(freed_twice)
{
    PRINT(cudaFreeHost(pin1));
    PRINT(cudaFreeHost(pin1));
}

/* Can pinned memory be freed by an address inside? */
CASE(freed_inside) { PRINT(cudaFreeHost(pin1 + 4)); }

/* May a copy, a kernel, or a memset touch freed pinned memory? */
#define WHEN_FREED(title, call)          \
    CASE(title)                          \
    {                                    \
        PRINT(cudaFreeHost(pin1));       \
        print_result(#call, (call));     \
        PRINT(cudaStreamSynchronize(s)); \
    }
WHEN_FREED(copied_to_when_freed, cudaMemcpyAsync(pin1, dev, MiB, cudaMemcpyDeviceToHost, s))
WHEN_FREED(copied_from_when_freed, cudaMemcpyAsync(dev, pin1, MiB, cudaMemcpyHostToDevice, s))
WHEN_FREED(filled_when_freed, launch_fill(pin1, 1, 4, s))
WHEN_FREED(set_when_freed, cudaMemsetAsync(pin1, 0, 4, s))

/* Can registered memory be freed, and unregistered twice? */
CASE(registered_then_freed)
{
    PRINT(cudaHostRegister(pg1, MiB, 0));
    PRINT(cudaFreeHost(pg1));
    PRINT(cudaHostUnregister(pg1));
    PRINT(cudaHostUnregister(pg1));
}

/* Can pinned memory be unregistered? */
CASE(unregistered_then_freed)
{
    PRINT(cudaHostUnregister(pin1));
    PRINT(cudaFreeHost(pin1));
}

/* What is the elapsed time between two events of which one is pending? */
CASE(elapsed_time)
{
    cudaEvent_t x, y;
    float ms;
    puts("elapsed time");
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

    /* Do copies and memsets in a non-blocking stream wait for what is pending in it? */
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

    /* Do copies and memsets in the legacy stream wait for what is pending in a blocking stream? */
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
    for (const struct named_case *one = named_cases; one; one = one->next)
        answer(one->run);
    return 0;
}
