/* Small programs, one in each run: behaviour CASE [ARGUMENT...]. Each prints what happened, one
 * fact a line, and simulator/tests/unit/simulator.bats compares that. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../cases.h"
#include "kernels.h"

#define MiB       ((size_t)1 << 20)
#define SAY(call) printf("%s: %s\n", #call, cudaGetErrorName(call))

/* A case that returns the exit status, and may use its arguments. */
#define PROGRAM(name)                                                          \
    static int name(int argc, char **argv);                                    \
    static void run_##name(void) { result = name(argument_count, arguments); } \
    LIST_CASE(name, run_##name)                                                \
    static int name(int argc UNUSED, char **argv UNUSED)
#define UNUSED __attribute__((unused))

static int argument_count, result;
static char **arguments;

static cudaStream_t s, t;

static void two_streams(void)
{
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
}

static volatile int *new_gate(void)
{
    void *gate = NULL;
    cudaHostAlloc(&gate, 64, cudaHostAllocMapped);
    return memset(gate, 0, 64);
}

/* ---- the environment ---- */

PROGRAM(first)
{
    int count = 0;
    size_t free_bytes = 0, total = 0;
    cudaGetDeviceCount(&count);
    cudaMemGetInfo(&free_bytes, &total);
    printf("devices %d memory %zu\n", count, total);
    return 0;
}

/* Prints what the default pool reserves for a byte, and for allocations of 40 MiB in all. */
PROGRAM(segments)
{
    size_t bytes[] = {1, 20 * MiB - 1, 20 * MiB};
    void *p[3] = {NULL};
    cudaMemPool_t pool;
    two_streams();
    cudaDeviceGetDefaultMemPool(&pool, 0);
    printf("reserved");
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        uint64_t reserved = 0;
        cudaMallocAsync(&p[i], bytes[i], s);
        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
        printf(" %d", (int)(reserved / MiB));
        if (i == 0) {
            cudaFreeAsync(p[0], s);
            cudaStreamSynchronize(s);
        }
    }
    printf("\n");
    cudaFreeAsync(p[1], s);
    return cudaFreeAsync(p[2], s);
}

PROGRAM(support)
{
    int driver = 0, pools = -1, types = -1;
    void *p = NULL;
    struct cudaDeviceProp device;
    cudaDriverGetVersion(&driver);
    SAY(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    SAY(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    cudaGetDeviceProperties(&device, 0);
    printf("driver %d: pools %d, handle types %d; properties: %d, %u\n", driver, pools, types,
           device.memoryPoolsSupported, device.memoryPoolSupportedHandleTypes);
    SAY(cudaMallocAsync(&p, MiB, NULL));
    SAY(cudaMalloc(&p, MiB));
    return cudaFree(p);
}

/* A pool for file descriptors and one for fabric handles, and an import of such a handle. */
PROGRAM(fabric)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    static cudaMemFabricHandle_t handle;
    cudaMemPool_t descriptors, fabrics, imported;
    int types = -1;
    SAY(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    printf("handle types %d\n", types);
    SAY(cudaMemPoolCreate(&descriptors, &props));
    props.handleTypes = cudaMemHandleTypeFabric;
    SAY(cudaMemPoolCreate(&fabrics, &props));
    SAY(cudaMemPoolImportFromShareableHandle(&imported, &handle, cudaMemHandleTypeFabric, 0));
    return 0;
}

PROGRAM(closed_gate)
{
    two_streams();
    launch_hold(new_gate(), s);
    return cudaStreamSynchronize(s); /* the wait */
}

/* Exports a pool this many times, and closes the first descriptors. */
PROGRAM(exports)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    int count = argc > 0 ? atoi(argv[0]) : 0, closed = argc > 1 ? atoi(argv[1]) : 0;
    cudaMemPool_t pool;
    cudaMemPoolCreate(&pool, &props);
    for (int i = 0, fd = -1; i < count; i++) {
        cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0);
        if (i < closed)
            close(fd);
    }
    return cudaMemPoolDestroy(pool);
}

PROGRAM(fail)
{
    two_streams();
    for (int i = 0; i < 3; i++) {
        void *p = NULL;
        SAY(cudaMallocAsync(&p, MiB, s));
        SAY(cudaGetLastError());
        cudaFreeAsync(p, s);
    }
    return cudaDeviceSynchronize();
}

/* How long it takes the device to set 64 MiB, in microseconds. */
PROGRAM(seconds)
{
    two_streams();
    void *p;
    float ms = -1;
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    cudaMalloc(&p, 64 * MiB);
    volatile int *gate = new_gate();
    /* A hold keeps the host's own time from between the events. */
    launch_hold(gate, s);
    cudaEventRecord(a, s);
    cudaMemsetAsync(p, 1, 64 * MiB, s);
    cudaEventRecord(b, s);
    SAY(cudaEventElapsedTime(&ms, a, b));
    *gate = 1;
    cudaEventSynchronize(b);
    SAY(cudaEventElapsedTime(&ms, a, b));
    printf("microseconds %.0f\n", 1e3 * ms);
    cudaFree(p);
    return cudaFreeHost((void *)gate);
}

/* ---- processes ---- */

PROGRAM(in_fork)
{
    two_streams();
    void *p = NULL;
    int status;
    cudaMallocAsync(&p, MiB, s);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        void *q = NULL;
        printf("child: %s\n", cudaGetErrorName(cudaMallocAsync(&q, MiB, s)));
        printf("child: %s\n", cudaGetErrorName(cudaStreamSynchronize(s)));
        exit(0);
    }
    waitpid(child, &status, 0);
    printf("child ended with %d\n", status);
    SAY(cudaFreeAsync(p, s));
    SAY(cudaStreamSynchronize(s));
    fflush(stdout);
    return 0;
}

/* Before the first call a fork is allowed. */
PROGRAM(fork_first)
{
    pid_t child = fork();
    int status, count = 0;
    if (!child)
        _exit(cudaGetDeviceCount(&count) || count != 2);
    waitpid(child, &status, 0);
    printf("child ended with %d\n", status);
    SAY(cudaGetDeviceCount(&count));
    return 0;
}

/* ---- host functions ---- */

static int ends[2];
static atomic_int order;
static pthread_t main_thread;

static void note(void *what)
{
    printf("host function %d, number %d, on %s thread\n", (int)(intptr_t)what, ++order,
           pthread_equal(pthread_self(), main_thread) ? "the main" : "another");
}

static void blocks(void *unused)
{
    (void)unused;
    char c;
    if (read(ends[0], &c, 1) == 1)
        printf("read %c\n", c);
}

static void calls_api(void *unused)
{
    (void)unused;
    void *p = NULL;
    printf("in a host function, cudaMalloc: %s\n", cudaGetErrorName(cudaMalloc(&p, 4)));
}

PROGRAM(host_function)
{
    two_streams();
    main_thread = pthread_self();
    if (pipe(ends))
        return 1;
    for (intptr_t i = 1; i <= 3; i++)
        cudaLaunchHostFunc(s, note, (void *)i);
    SAY(cudaStreamSynchronize(s));
    cudaLaunchHostFunc(s, blocks, NULL);
    SAY(cudaStreamQuery(s));
    SAY(cudaStreamSynchronize(t));
    if (write(ends[1], "x", 1) != 1)
        return 1;
    SAY(cudaStreamSynchronize(s));
    cudaLaunchHostFunc(s, calls_api, NULL);
    SAY(cudaStreamSynchronize(s));
    SAY(cudaGetLastError());
    return 0;
}

/* ---- two threads ---- */

/* Makes calls while another thread's call waits, and then ends what that waits for. */
static void *other_calls(void *gate)
{
    size_t free_bytes = 0, total = 0;
    for (int i = 0; i < 50; i++) {
        usleep(2000);
        cudaMemGetInfo(&free_bytes, &total);
    }
    __atomic_store_n((int *)gate, 1, __ATOMIC_RELEASE);
    return NULL;
}

PROGRAM(meanwhile)
{
    two_streams();
    int *gate = (int *)new_gate();
    pthread_t thread;
    launch_hold(gate, s);
    pthread_create(&thread, NULL, other_calls, gate);
    SAY(cudaStreamSynchronize(s));
    pthread_join(thread, NULL);
    SAY(cudaFreeHost(gate));
    return 0;
}

/* ---- a host that sleeps, and one that waits for the lock ---- */

static volatile int begins, asked;

/* Keeps the simulated device busy for tens of milliseconds. */
static void *long_call(void *to)
{
    cudaMemset(to, 1, 256 * MiB);
    begins = 1;
    cudaStreamSynchronize(NULL);
    while (!asked)
        usleep(1000);
    return NULL;
}

static void compute(unsigned milliseconds)
{
    struct timespec now, begun;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000
           < milliseconds);
}

/* A fill is pending while the host computes between two calls. What it computed before must not
 * count. */
PROGRAM(computing)
{
    two_streams();
    void *block;
    cudaMalloc(&block, MiB);
    compute(200);
    cudaMemsetAsync(block, 0, MiB, s);
    compute(60);
    printf("computed 60 ms, %s\n", cudaGetErrorName(cudaStreamQuery(s)));
    SAY(cudaStreamSynchronize(s));
    cudaFree(block);
    return 0;
}

static void *computes_first(void *unused)
{
    (void)unused;
    compute(60);
    printf("a thread began, %s\n", cudaGetErrorName(cudaStreamQuery(s)));
    return NULL;
}

/* A fill is pending. The host waits for a thread that has just begun and is kept from its first
 * call, as on a busy machine. */
PROGRAM(begun)
{
    void *block;
    pthread_t thread;
    two_streams();
    cudaMalloc(&block, MiB);
    cudaMemsetAsync(block, 0, MiB, s);
    pthread_create(&thread, NULL, computes_first, NULL);
    pthread_join(thread, NULL);
    SAY(cudaStreamSynchronize(s));
    cudaFree(block);
    return 0;
}

static long microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Returns how long the thread has neither computed nor waited for a processor. */
static long slept_so_far(void)
{
    struct timespec computed;
    long ran, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%ld %ld", &ran, &waited) != 2)
        waited = 0;
    if (file)
        fclose(file);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &computed);
    return microseconds() - computed.tv_sec * 1000000 - computed.tv_nsec / 1000 - waited / 1000;
}

/* On a busy machine a sleep may be over before the thread has really slept. */
static void sleep_for(long us)
{
    for (long end = slept_so_far() + us; slept_so_far() < end;)
        usleep((unsigned)us);
}

/* A copy is pending. The host rests too briefly to be noticed, touches what the copy writes, and
 * waits until the device has time for that; it queries; then it sleeps, and queries again. */
PROGRAM(kept)
{
    two_streams();
    int *seen;
    void *block, *other;
    pthread_t thread;
    cudaHostAlloc((void **)&seen, MiB, cudaHostAllocDefault);
    memset(seen, 0, MiB);
    cudaMalloc(&block, MiB);
    cudaMalloc(&other, 256 * MiB);
    pthread_create(&thread, NULL, long_call, other);
    while (!begins)
        continue;
    /* A loaded machine may let the thread sleep for longer. The other thread waits for one memset,
     * so two operations are not over by then. */
    for (long rest = 1000; rest > 300;) {
        cudaMemsetAsync(block, 0, MiB, s);
        cudaMemcpyAsync(seen, block, MiB, cudaMemcpyDeviceToHost, s);
        rest = -microseconds();
        usleep(1);
        rest += microseconds();
    }
    int touched = *(volatile int *)seen;
    cudaError_t state = cudaStreamQuery(s);
    printf("kept, seen %d, %s\n", touched, cudaGetErrorName(state));
    asked = 1;
    pthread_join(thread, NULL);
    SAY(cudaStreamSynchronize(s));

    cudaMemcpyAsync(seen, block, MiB, cudaMemcpyDeviceToHost, s);
    sleep_for(2000);
    printf("slept, %s\n", cudaGetErrorName(cudaStreamQuery(s)));
    cudaFree(block);
    cudaFree(other);
    cudaFreeHost(seen);
    return 0;
}

/* ---- cudaDeviceReset ---- */

static void say_pool(int device)
{
    cudaMemPool_t pool, current;
    uint64_t threshold, reserved, high;
    cudaDeviceGetDefaultMemPool(&pool, device);
    cudaDeviceGetMemPool(&current, device);
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &high);
    printf("device %d: threshold %s, reserved %d, high %d MiB, the default pool is %scurrent\n",
           device, threshold ? "set" : "0", (int)(reserved >> 20), (int)(high >> 20),
           pool == current ? "" : "not ");
}

/* Leaves everything as it is with a copy pending, and resets the device, perhaps one of two.
 * ARGUMENT says what is done afterwards. */
PROGRAM(reset)
{
    void *block, *plain, *pinned;
    cudaMemPool_t own, pool;
    uint64_t all = UINT64_MAX;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice};
    two_streams();
    cudaMemPoolCreate(&own, &props);
    cudaDeviceSetMemPool(0, own);
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
    cudaMallocFromPoolAsync(&block, MiB, pool, s);
    cudaFreeAsync(block, s);
    cudaMalloc(&plain, MiB);
    cudaHostAlloc(&pinned, MiB, cudaHostAllocDefault);
    cudaMallocAsync(&block, MiB, s);
    cudaMemcpyAsync(pinned, block, MiB, cudaMemcpyDeviceToHost, s);
    say_pool(0);
    bool other = argc && !strcmp(argv[0], "other"), later = argc && !strcmp(argv[0], "later");
    if (other)
        cudaSetDevice(1);
    SAY(cudaDeviceReset());
    SAY(cudaStreamQuery(s));
    say_pool(0);
    if (later)
        SAY(cudaMalloc(&plain, MiB));
    return 0;
}

/* ---- what is not simulated ---- */

PROGRAM(unsupported)
{
    int other = 0;
    for (int i = 0; i < argc; i++) {
        int (*function)(void) = NULL;
        void *symbol = dlsym(RTLD_DEFAULT, argv[i]);
        memcpy(&function, &symbol, sizeof function);
        for (int k = 0; k < 2; k++)
            if (!function || function() != cudaErrorNotSupported) {
                printf("%s does not return cudaErrorNotSupported\n", argv[i]);
                other++;
            }
    }
    printf("%d functions asked, %d returned something else\n", argc, other);
    return 0;
}

/* Two streams write the same bytes in no order. The host has waited for the first one's
 * allocation. */
PROGRAM(unordered)
{
    void *p;
    two_streams();
    cudaMallocAsync(&p, MiB, s);
    cudaStreamSynchronize(s);
    cudaMemsetAsync(p, 1, MiB, s);
    cudaMemsetAsync(p, 2, MiB, t);
    cudaDeviceSynchronize();
    cudaFreeAsync(p, s);
    return cudaStreamSynchronize(s);
}

/* Ways to learn that work is over, each twice, because the second time must be no news. */
PROGRAM(learns)
{
    void *p, *plain;
    cudaEvent_t event;
    two_streams();
    cudaEventCreate(&event);
    for (int way = 0; way < 5; way++) {
        cudaMallocAsync(&p, MiB, s);
        cudaEventRecord(event, s);
        cudaMalloc(&plain, 1);
        for (int i = 0; i < 2; i++) {
            if (way == 0)
                cudaStreamSynchronize(s);
            else if (way == 1)
                cudaEventSynchronize(event);
            else if (way == 2)
                while (cudaEventQuery(event) == cudaErrorNotReady)
                    continue;
            else if (way == 3)
                while (cudaStreamQuery(s) == cudaErrorNotReady)
                    continue;
            else if (i == 0)
                cudaFree(plain);
            cudaStreamQuery(t);
        }
        if (way != 4)
            cudaFree(plain);
        cudaFreeAsync(p, s);
    }
    return cudaDeviceSynchronize();
}

/* Work on the inside of an allocation, on its start, and on memory outside of allocations. */
PROGRAM(inside)
{
    char *p, *plain;
    long host;
    two_streams();
    cudaMalloc((void **)&plain, 1000);
    cudaMallocAsync((void **)&p, MiB, s);
    cudaMallocAsync((void **)&p, MiB, s);
    launch_fill((int *)(p + 4096), 1, 4, s);
    launch_add((int *)p, 1, 4, s);
    cudaMemsetAsync(plain + 500, 0, 500, s);
    cudaMemcpyAsync(plain + 512, p + 8, 8, cudaMemcpyDeviceToDevice, s);
    cudaMemcpyAsync(&host, plain + 16, 8, cudaMemcpyDeviceToHost, s);
    cudaMemsetAsync(p + MiB + 4096, 0, 1, s);
    return 0;
}

/* Makes enough calls for a journal of more than a MiB. */
PROGRAM(long_journal)
{
    int device;
    for (int i = 0; i < 10000; i++)
        cudaGetDevice(&device);
    printf("10000 calls\n");
    return 0;
}

/* COUNT copies, each into a page of its own with an open page after it, which the host may not
 * touch yet. This is done twice with a wait and a touch after each, and then with a touch without a
 * wait. */
PROGRAM(many_copies)
{
    size_t count = argc ? strtoul(argv[0], NULL, 10) : 0, bytes = 4096;
    char *pinned, *data;
    two_streams();
    cudaMallocHost((void **)&pinned, count * 2 * bytes);
    cudaMalloc((void **)&data, bytes);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++)
            cudaMemcpyAsync(pinned + i * 2 * bytes, data, bytes, cudaMemcpyDefault, s);
        cudaStreamSynchronize(s);
        pinned[0] = pinned[(count - 1) * 2 * bytes] = 1;
    }
    cudaMemcpyAsync(pinned, data, bytes, cudaMemcpyDefault, s);
    pinned[0] = 1;
    cudaStreamSynchronize(s);
    cudaFreeHost(pinned);
    cudaFree(data);
    printf("%zu copies, twice\n", count);
    return 0;
}

/* COUNT allocations of pinned memory, of one to three pages, at a time. Memory that reuses a freed
 * place must read as zero. */
PROGRAM(many_pinned)
{
    size_t count = argc ? strtoul(argv[0], NULL, 10) : 0, other = 0;
    char **p = calloc(count, sizeof *p);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++)
            if (!p[i] && cudaMallocHost((void **)&p[i], 1 + i % 3 * 4096)) {
                printf("%zu of them\n", i);
                return 1;
            }
        for (size_t i = 0; i < count; i++)
            other += p[i][0] != (round && i % 2 ? 0 : round);
        /* Frees from the other end, and every second one first. */
        for (size_t i = count; i--;) {
            p[i][0] = 1;
            if (i % 2 || round) {
                cudaFreeHost(p[i]);
                p[i] = NULL;
            }
        }
    }
    printf("%zu allocations of pinned memory, %zu of them not as they should be\n", count, other);
    free(p);
    return 0;
}

static sigjmp_buf before_touch;
static struct sigaction found;

static void jump(int signo) { siglongjmp(before_touch, signo); }
static void jump_informed(int signo, siginfo_t *information, void *context)
{
    (void)information, (void)context;
    jump(signo);
}
static void pass_on(int signo, siginfo_t *information, void *context)
{
    (void)!write(1, "passed on\n", 10);
    found.sa_sigaction(signo, information, context);
}

static void touch_and_say(const int *address)
{
    if (sigsetjmp(before_touch, 1))
        puts("the program's handler ran");
    else
        printf("read %d\n", *(const volatile int *)address);
}

static void send_and_say(void)
{
    if (sigsetjmp(before_touch, 1))
        puts("also where it was sent");
    else
        raise(SIGSEGV);
}

/* A program with its own handler for SIGSEGV: plain or with information, older than the first call,
 * or plain with a signal sent first; or one that passes a signal on to the earlier handler. */
PROGRAM(own_handler)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    bool passes = argc && !strcmp(argv[0], "passes-on"), sent = argc && !strcmp(argv[0], "sent");
    int *data, *pinned;
    action.sa_sigaction = jump_informed;
    if (sent || (argc && !strcmp(argv[0], "plain")))
        signal(SIGSEGV, jump);
    else if (!passes)
        sigaction(SIGSEGV, &action, NULL);
    SAY(cudaMalloc((void **)&data, MiB));
    SAY(cudaMallocHost((void **)&pinned, MiB));
    if (passes) {
        action.sa_sigaction = pass_on;
        sigaction(SIGSEGV, &action, &found);
        SAY(cudaMemcpyAsync(pinned, data, MiB, cudaMemcpyDeviceToHost, 0));
        touch_and_say(NULL);
    }
    if (sent)
        send_and_say();
    touch_and_say(data);
    if (!sent)
        send_and_say();
    cudaFreeHost(pinned);
    SAY(cudaFree(data));
    return 0;
}

/* Takes all mappings that Linux allows, and gives them back. */
PROGRAM(no_mappings)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = page << 17;
    char *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *p = NULL;
    if (pages == MAP_FAILED)
        return 1;
    SAY(cudaMallocHost(&p, 1));
    SAY(cudaFreeHost(p));
    size_t at = page;
    while (at < bytes && !mprotect(pages + at, page, PROT_READ))
        at += 2 * page;
    /* The last one. */
    (void)!mprotect(pages, page, PROT_READ | PROT_WRITE);
    SAY(cudaMallocHost(&p, 1));
    SAY(cudaMallocHost(&p, 1));
    munmap(pages, bytes);
    SAY(cudaMallocHost(&p, 1));
    SAY(cudaFreeHost(p));
    return 0;
}

/* Takes the memory that the simulated device itself needs. */
PROGRAM(no_memory)
{
    struct rlimit none = {0, 0};
    cudaEvent_t event;
    SAY(cudaEventCreate(&event));
    if (setrlimit(RLIMIT_AS, &none))
        return 1;
    for (int i = 0; i < 10000000; i++)
        cudaEventCreate(&event);
    puts("There was memory for all.");
    return 0;
}

/* COUNT pools at a time, on two devices, with an allocation in each; then BYTES from the last
 * one. */
PROGRAM(many_pools)
{
    size_t count = argc ? strtoul(argv[0], NULL, 10) : 0;
    cudaMemPool_t *pools = calloc(count + 1, sizeof *pools);
    void **p = calloc(count + 1, sizeof *p), *more = NULL;
    two_streams();
    for (size_t i = 0; i < count; i++) {
        struct cudaMemPoolProps props;
        memset(&props, 0, sizeof props);
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        props.location.id = i % 2;
        if (cudaMemPoolCreate(&pools[i], &props)
            || cudaMallocFromPoolAsync(&p[i], 4096, pools[i], s)) {
            printf("%zu of them\n", i);
            return 1;
        }
    }
    if (argc > 1)
        printf("more from the last: %s\n",
               cudaGetErrorName(cudaMallocFromPoolAsync(&more, strtoul(argv[1], NULL, 10),
                                                        pools[count - 1], s)));
    for (size_t i = 0; i < count; i++)
        cudaFreeAsync(p[i], s);
    cudaStreamSynchronize(s);
    for (size_t i = 0; i < count; i++)
        cudaMemPoolDestroy(pools[i]);
    printf("%zu pools\n", count);
    free(p);
    free(pools);
    return 0;
}

/* Leaves one allocation of each kind at the end. */
PROGRAM(leaks)
{
    void *p;
    two_streams();
    cudaMalloc(&p, MiB);
    cudaMallocHost(&p, MiB);
    cudaMallocManaged(&p, MiB, cudaMemAttachGlobal);
    cudaMallocAsync(&p, MiB, s);
    return cudaStreamSynchronize(s);
}

/* Prints what new memory has: of cudaMalloc; of a pool, behind work that still needs the bytes, and
 * what that work found; of a node of a graph. */
PROGRAM(filled)
{
    volatile int *gate = new_gate();
    unsigned *found = (unsigned *)gate + 1;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    void *p;
    two_streams();
    cudaMalloc(&p, MiB + 3);
    cudaMemcpy(&found[0], (char *)p + MiB - 1, sizeof *found, cudaMemcpyDeviceToHost);
    cudaFree(p);
    launch_hold((int *)gate, s);
    cudaMallocAsync(&p, MiB, s);
    cudaMemsetAsync(p, 1, MiB, s);
    cudaMemcpyAsync(&found[1], p, sizeof *found, cudaMemcpyDeviceToHost, s);
    cudaFreeAsync(p, s);
    cudaMallocAsync(&p, MiB, s);
    cudaMemcpyAsync(&found[2], p, sizeof *found, cudaMemcpyDeviceToHost, s);
    cudaFreeAsync(p, s);
    *gate = 1;
    cudaStreamSynchronize(s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&p, MiB, s);
    cudaMemcpyAsync(&found[3], p, sizeof *found, cudaMemcpyDeviceToHost, s);
    cudaFreeAsync(p, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    printf("%x %x %x %x\n", found[0], found[1], found[2], found[3]);
    return cudaFreeHost((void *)gate) || cudaGraphExecDestroy(exec) || cudaGraphDestroy(graph);
}

/* What a program is told of memory, in MiB, and a policy. */
PROGRAM(told)
{
    uint64_t figure[3];
    size_t before, after, total;
    cudaMemPool_t pool;
    int policy;
    if (cudaDeviceGetDefaultMemPool(&pool, 0)
        || cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &policy)
        || cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &figure[0])
        || cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &figure[1])
        || cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &figure[2])
        || cudaMemGetInfo(&before, &total) || cudaMemGetInfo(&after, &total))
        return 1;
    printf("%d %d %d %d %d\n", policy, (int)(figure[0] / MiB), (int)(figure[1] / MiB),
           (int)(figure[2] / MiB), (int)((after - before) / MiB));
    return 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    argument_count = argc - 2;
    arguments = argv + 2;
    int no_such_case = run_case(argc, argv);
    return no_such_case ? no_such_case : result;
}
