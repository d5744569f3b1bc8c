/* Threads, signals and the end of a process at moments that are seldom met, host functions and
 * threads that wait for each other, and waits that never end: threads CASE. simulator.bats has what
 * each prints. */
#define _GNU_SOURCE
#include "../cases.h"
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static cudaStream_t s;

static void *ask(void *unused)
{
    (void)cudaStreamQuery(s);
    usleep(1000);
    return unused;
}

/* The host waits for a thread that makes a call and ends a millisecond later. The host was not
 * idle, so a second of work must not have ended. */
CASE(joined)
{
    int *data;
    pthread_t thread;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync((void **)&data, MiB, s));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), s));
    pthread_create(&thread, NULL, ask, NULL);
    pthread_join(thread, NULL);
    printf("%s\n", cudaGetErrorName(cudaStreamQuery(s)));
    CHECK(cudaFreeAsync(data, s));
    CHECK(cudaStreamSynchronize(s));
}

static void nothing(void *unused) { (void)unused; }

/* A program that ends with 2000 host functions pending. Only the thread that ends it makes the
 * simulated device run them all. */
CASE(functions_at_end)
{
    CHECK(cudaStreamCreate(&s));
    for (int i = 0; i < 2000; i++)
        CHECK(cudaLaunchHostFunc(s, nothing, NULL));
}

/* A stream is destroyed with a pending free, for which the host then asks. A new stream gets its
 * slot in the simulated device, but not what the old one freed. */
CASE(successor)
{
    int *old, *data;
    cudaStream_t a, b;
    cudaEvent_t freed;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&freed));
    CHECK(cudaMallocAsync((void **)&old, MiB, a));
    CHECK(launch_fill(old, 1, MiB / sizeof(int), a));
    CHECK(cudaFreeAsync(old, a));
    CHECK(cudaEventRecord(freed, a));
    CHECK(cudaStreamDestroy(a));
    while (cudaEventQuery(freed) == cudaErrorNotReady)
        continue;
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}

static volatile int *gate;

static void *holds(void *unused)
{
    (void)unused;
    CHECK(cudaStreamCreate(&s));
    CHECK(launch_hold(gate, s));
    CHECK(cudaStreamSynchronize(s));
    return NULL;
}

/* The thread is canceled while it waits in a call, and the others' calls continue. */
CASE(cancelled)
{
    pthread_t thread;
    gate = gate_create();
    if (pthread_create(&thread, NULL, holds, NULL))
        exit(2);
    usleep(50000);
    pthread_cancel(thread);
    usleep(50000);
    gate_open(gate);
    pthread_join(thread, NULL);
    CHECK(cudaDeviceSynchronize());
    gate_destroy(gate);
}

static void *goes_on(void *first)
{
    int *data;
    pthread_join(*(pthread_t *)first, NULL);
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync((void **)&data, MiB, s));
    CHECK(launch_fill(data, 7, MiB / sizeof(int), s));
    printf("%d\n", last_of(data, MiB / sizeof(int), s));
    CHECK(cudaFreeAsync(data, s));
    return NULL;
}

/* The main thread ends before another one, with which the program goes on. */
CASE(main_ends)
{
    static pthread_t self;
    pthread_t thread;
    self = pthread_self();
    CHECK(cudaSetDevice(0));
    if (pthread_create(&thread, NULL, goes_on, &self))
        exit(2);
    pthread_exit(NULL);
}

static bool calls;

static void handle(int number)
{
    int device;
    if (calls)
        cudaGetDevice(&device);
    else
        exit(number == SIGALRM ? 5 : 6);
}

static void interrupt(void)
{
    struct itimerval soon = {.it_value.tv_usec = 5000};
    size_t bytes = 256 * MiB;
    int *data;
    if (calls)
        soon.it_interval.tv_usec = 5000;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync((void **)&data, bytes, s));
    void *zeros = calloc(1, bytes); /* A memset of as much would only be noted, page by page. */
    CHECK(cudaMemcpyAsync(data, zeros, bytes, cudaMemcpyHostToDevice, s));
    CHECK(cudaStreamSynchronize(s));
    signal(SIGALRM, handle);
    CHECK(launch_add(data, 1, bytes / sizeof(int), s));
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK(cudaStreamSynchronize(s));
}

/* A signal arrives in the middle of a call, and its handler ends the program, or makes calls of its
 * own. On a loaded machine some arrive before or after the call, which does no harm. */
CASE(interrupted_by_exit) { interrupt(); }

CASE(interrupted_by_calls)
{
    calls = true;
    interrupt();
}

/* ---- host functions and the thread that launched them wait for each other ---- */

static sem_t begun, go_on;
static atomic_int has_run;

static void wake(void *unused)
{
    (void)unused;
    sem_post(&begun);
}

static void note(void *unused)
{
    (void)unused;
    atomic_store(&has_run, 1);
}

static void doze(void *unused)
{
    (void)unused;
    usleep(1500);
}

static void wait_to_go_on(void *unused)
{
    (void)unused;
    sem_post(&begun);
    sem_wait(&go_on);
}

static void lag(void *unused)
{
    struct timespec begin, now;
    wait_to_go_on(unused);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 60);
}

static void call_and_wake(void *unused)
{
    (void)cudaGetLastError();
    wake(unused);
}

static void meet(cudaHostFn_t function)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, 2 * MiB));
    for (int i = 0; i < (function == note ? 1 : 5); i++) {
        CHECK(launch_fill(data, i, count, a));
        CHECK(cudaLaunchHostFunc(a, function, NULL));
        CHECK(launch_fill(data, i, count, a));
        if (function == note)
            while (!atomic_load(&has_run))
                ;
        else if (function != doze)
            sem_wait(&begun);
        CHECK(launch_fill(data + count, i, count, b));
        CHECK(cudaStreamSynchronize(b));
        if (function == wait_to_go_on || function == lag)
            sem_post(&go_on);
        CHECK(cudaStreamSynchronize(a));
    }
    CHECK(cudaFree(data));
}

/* Each function wakes the waiting thread. */
CASE(wakes) { meet(wake); }

/* The thread computes until the function has run. */
CASE(spins) { meet(note); }

/* Each function sleeps for 1.5 ms. */
CASE(dozes) { meet(doze); }

/* The function waits until the thread lets it go on. */
CASE(waits) { meet(wait_to_go_on); }

/* The function waits until the thread lets it go on, and then computes for 60 ms, as if it had lost
 * its processor. */
CASE(lags) { meet(lag); }

/* The function makes a call that returns at any time, although no call is allowed there. */
CASE(asks) { meet(call_and_wake); }

/* ---- waits that never end, on a GPU neither ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void locks(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

/* A host function waits for a lock whose owner is in cudaFree. */
CASE(endless_lock)
{
    void *memory;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&memory, 1024));
    pthread_mutex_lock(&lock);
    CHECK(cudaLaunchHostFunc(s, locks, NULL));
    CHECK(cudaFree(memory));
}

static void posts(void *unused)
{
    (void)unused;
    sem_post(&go_on);
}

/* A host function waits for another one, of another stream. */
CASE(endless_function)
{
    cudaStream_t second;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaLaunchHostFunc(s, wait_to_go_on, NULL));
    CHECK(cudaLaunchHostFunc(second, posts, NULL));
    CHECK(cudaStreamSynchronize(second));
}

static void *sleeps(void *unused)
{
    sleep(60);
    return unused;
}

/* A call waits for a launch_hold whose gate another thread could open. */
CASE(endless_gate)
{
    pthread_t other;
    gate = gate_create();
    CHECK(cudaStreamCreate(&s));
    CHECK(launch_hold(gate, s));
    pthread_create(&other, NULL, sleeps, NULL);
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv) { return run_case(argc, argv); }
