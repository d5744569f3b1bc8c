/* The host's side: several threads at once, forks in the middle of their calls, and sizes that no
 * host has: host_rules CASE. */
#define _GNU_SOURCE
#include "expect.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels.h"
#include "user_kernels.h"
#include "workbook.h"

enum { THREADS = 3 };
static volatile int *gate;
static cudaEvent_t event;
static pthread_t threads[THREADS];
static atomic_bool over;
static atomic_int in_kernel, arrived, handled;

/* The cost of a gigantic request on the host's clock must not be centuries. */
CASE(sizes)
{
    static char pages[8 * 4096] __attribute__((aligned(4096)));
    cudaEvent_t before, after;
    void *p;
    float ms;
    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&after));
    OK(cudaEventRecord(before, 0));
    for (size_t i = 0; i < 10; i++)
        IS(cudaErrorMemoryAllocation, cudaMallocHost(&p, SIZE_MAX - i * 4096));
    OK(cudaEventRecord(after, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, before, after));
    SAME(1, ms > 0 && ms < 60000);
    IS(cudaErrorInvalidValue, cudaHostRegister(pages, SIZE_MAX, 0));
    OK(cudaHostRegister(pages + 8192, 4096, 0));
    /* Documented: part of the range is registered. */
    IS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(pages, sizeof pages, 0));
    IS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(pages + 4096, 8192, 0));
    OK(cudaHostRegister(pages, 8192, 0));
    OK(cudaHostUnregister(pages));
    OK(cudaHostUnregister(pages + 8192));
}

/* ---- two threads ---- */

static int waiter;

/* Returns whether that thread seems to sleep or wait in a call. */
static bool sleeps(int thread)
{
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'R';
    if (file)
        fclose(file);
    return state == 'S';
}

static void *destroys(void *unused)
{
    (void)unused;
    for (int looks = 0; looks < 20; looks += sleeps(waiter))
        usleep(1000);
    OK(cudaEventDestroy(event));
    __atomic_store_n(gate, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* An event is destroyed while another thread waits for it. */
CASE(destroyed_while_awaited)
{
    pthread_t thread;
    gate = gate_create();
    OK(cudaEventCreate(&event));
    OK(launch_hold(gate, 0));
    OK(cudaEventRecord(event, 0));
    waiter = gettid();
    pthread_create(&thread, NULL, destroys, NULL);
    OK(cudaEventSynchronize(event));
    pthread_join(thread, NULL);
    gate_destroy(gate);
}

static void *allocates(void *unused)
{
    void *p;
    (void)unused;
    while (!over) {
        cudaMemPool_t pool = pool_create();
        OK(cudaMallocFromPoolAsync(&p, MiB, pool, 0));
        OK(cudaFreeAsync(p, 0));
        OK(cudaStreamSynchronize(0));
        OK(cudaMemPoolDestroy(pool));
    }
    return NULL;
}

/* Several threads allocate until `join_allocating`. */
static void start_allocating(void)
{
    over = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocates, NULL);
}

static void join_allocating(void)
{
    over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Each call reads its data under the lock. */
CASE(copies_beside)
{
    void *a, *b;
    OK(cudaMalloc(&a, MiB));
    OK(cudaMalloc(&b, MiB));
    start_allocating();
    for (int i = 0; i < 300; i++)
        OK(cudaMemcpyPeerAsync(a, 0, b, 0, 64, 0));
    join_allocating();
    OK(cudaFree(a));
    OK(cudaFree(b));
}

/* A kernel's function: the call that runs it does not return before `over`. */
static void waits(void *const *memory, const void *argument)
{
    (void)memory, (void)argument;
    in_kernel = 1;
    while (!over)
        usleep(100);
}

static void *synchronizes(void *unused)
{
    OK(cudaDeviceSynchronize());
    return unused;
}

static void *makes_a_call(void *unused)
{
    int device;
    arrived = 1;
    OK(cudaGetDevice(&device));
    return unused;
}

static void handle(int number)
{
    (void)number;
    handled = 1;
    makes_a_call(NULL);
}

static void await(atomic_int *flag)
{
    while (!*flag)
        usleep(100);
    usleep(20000);
}

/* A thread that waits in a call gets a signal and, in its handler, may make a call, until another
 * thread's call ends the wait. */
CASE(signal_while_waiting)
{
    pthread_t busy, waiting;
    int device;
    over = 0;
    signal(SIGUSR1, handle);
    OK(sim_launch_kernel(0, "waits", waits, NULL, 0, NULL, 0, 0));
    pthread_create(&busy, NULL, synchronizes, NULL);
    await(&in_kernel);
    pthread_create(&waiting, NULL, makes_a_call, NULL);
    await(&arrived);
    pthread_kill(waiting, SIGUSR1);
    await(&handled);
    over = 1;
    pthread_join(busy, NULL);
    pthread_join(waiting, NULL);
    OK(cudaGetDevice(&device));
}

/* ---- forks ---- */

static void *calls_in_child(void *unused)
{
    int count;
    for (int i = 0; i < 5000; i++)
        if (cudaGetDeviceCount(&count) != cudaErrorInitializationError)
            _exit(1);
    return unused;
}

/* The address sanitizer's allocator may be locked forever in a child of several threads. */
#ifdef __SANITIZE_ADDRESS__
#define CHILD_HAS_THREADS false
#else
#define CHILD_HAS_THREADS true
#endif

/* A child may be forked while other threads are in a call or wait for one. Its calls return all the
 * same, even in its own threads. */
CASE(forks)
{
    OK(cudaFree(NULL)); /* A child that is forked before the first call may use the device. */
    start_allocating();
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (!child) {
            alarm(600); /* far: the machine may be busy */
            close(2);   /* where a sentence says why the calls fail */
            pthread_t other;
            if (CHILD_HAS_THREADS)
                pthread_create(&other, NULL, calls_in_child, NULL);
            calls_in_child(NULL);
            if (CHILD_HAS_THREADS)
                pthread_join(other, NULL);
            _exit(0);
        }
        waitpid(child, &status, 0);
        SAME(0, status);
        if (status)
            break;
    }
    join_allocating();
}

/* Pending work is the parent's: a child that makes calls does not do it again on memory that both
 * share. */
CASE(fork_with_work)
{
    char *pinned;
    void *data;
    int status;
    OK(cudaMallocHost((void **)&pinned, MiB));
    OK(cudaMalloc(&data, MiB));
    gate = gate_create();
    OK(launch_hold(gate, 0));
    OK(cudaMemsetAsync(data, 1, MiB, 0));
    OK(cudaMemcpyAsync(pinned, data, 64, cudaMemcpyDeviceToHost, 0));
    pid_t child = fork();
    if (!child) {
        *gate = 1;
        for (int i = 0; i < 10000 && !pinned[0]; i++)
            cudaGetLastError();
        _exit(pinned[0]);
    }
    waitpid(child, &status, 0);
    SAME(0, status);
    *gate = 1;
    OK(cudaDeviceSynchronize());
    SAME(1, pinned[0]);
    OK(cudaFree(data));
    OK(cudaFreeHost(pinned));
    gate_destroy(gate);
}

int main(int argc, char **argv) { return run_named(argc, argv); }
