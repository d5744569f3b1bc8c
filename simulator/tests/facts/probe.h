/* What the probes share. A probe puts one question after another to a device and prints each
 * result as a line. probe-NAME.c printed probe-NAME.txt on a real device; tools/gpu/record.py
 * records it anew, and the suite compares the simulated device with it. A comment says what the
 * lines of a case or of a paragraph ask.
 *
 * A line shows a call as it stands in the source. So the short names (s, t, m, a, x) and the words
 * of the lines are those of the recordings: to change one is to change recorded evidence. */
#ifndef PROBE_H
#define PROBE_H

#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cases.h"
#include "kernels.h"

#define MiB ((size_t)1 << 20)

/* Functions of threads and streams are given a pointer, and not all use it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- lines ---- */

/* A probe that was recorded with another first column defines its width before it includes this. */
#ifndef CALL_COLUMNS
#define CALL_COLUMNS 86
#endif

/* Every line is written at once: the next call may end the process. */
__attribute__((constructor)) static void write_lines_at_once(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* The probes of two processes were recorded without the last error. */
static int shows_last_error = 1;

/* Makes a call and prints it with its result; and the last error, where that is another one. */
#define RECORD(call) record(#call, (call))

static inline cudaError_t record(const char *call, cudaError_t result)
{
    cudaError_t last = cudaGetLastError();
    printf("%-*s -> %s", CALL_COLUMNS, call, cudaGetErrorName(result));
    if (shows_last_error && last != result)
        printf("  (last error %s)", cudaGetErrorName(last));
    puts("");
    return result;
}

/* Records a call, and on a second line the synchronization of a stream. */
#define RECORD_SYNC(call, stream)                                                    \
    do {                                                                             \
        record(#call, (call));                                                       \
        record("cudaStreamSynchronize(" #stream ")", cudaStreamSynchronize(stream)); \
    } while (0)

#define NOTE(...)            \
    do {                     \
        printf("  ");        \
        printf(__VA_ARGS__); \
        puts("");            \
    } while (0)

/* Notes `what`, and makes a call that uses `name`: it is `value`, but for what `change` says. */
#define CHANGED(type, name, value, change, what, call) \
    do {                                               \
        type name = value;                             \
        change;                                        \
        NOTE("%s", what);                              \
        call;                                          \
    } while (0)

/* Prints the rest of a line: what cudaPointerGetAttributes returns for the address. */
static inline void print_attributes(const void *p)
{
    struct cudaPointerAttributes a;
    memset(&a, 0xff, sizeof a);
    cudaError_t error = cudaPointerGetAttributes(&a, p);
    printf("%s", cudaGetErrorName(error));
    if (!error) {
        const char *on_device = !a.devicePointer ? "null" : a.devicePointer == p ? "same" : "other";
        const char *on_host = !a.hostPointer ? "null" : a.hostPointer == p ? "same" : "other";
        printf(" type %d device %d devicePointer %s hostPointer %s", (int)a.type, a.device,
               on_device, on_host);
    }
    puts("");
    cudaGetLastError();
}

static inline void print_pointer(const void *p, const char *what)
{
    printf("  pointer %-32s ", what);
    print_attributes(p);
}

static inline unsigned long long alignment_of(const void *p)
{
    return (uintptr_t)p & -(uintptr_t)p;
}

static inline long long distance(const void *to, const void *from)
{
    return (const char *)to - (const char *)from;
}

/* ---- what the questions are about ---- */

static cudaStream_t s, t, b; /* two non-blocking streams and a blocking one */
static cudaEvent_t ev, ev2;
static volatile int *gate; /* pinned; a stream that holds at it goes on when it is 1 */
static int *host;          /* 1 MiB of pinned memory */
static void *m;            /* 1 MiB of cudaMalloc's */

static inline void close_gate(void)
{
    *gate = 0;
    __sync_synchronize();
}

/* What comes after this in the stream is pending until open_gate. */
static inline void hold(cudaStream_t stream)
{
    close_gate();
    launch_hold(gate, stream);
}

static inline void open_gate(void) { *gate = 1; }

/* Makes `later` wait for what is in `first` so far. */
static inline void order(cudaStream_t first, cudaStream_t later)
{
    cudaEventRecord(ev, first);
    cudaStreamWaitEvent(later, ev, 0);
}

/* The first launch of a kernel loads it, which may wait for work: so each is launched once, before
 * the questions. */
static inline cudaError_t load_kernels(int *memory)
{
    launch_fill(memory, 1, 1, s);
    launch_add(memory, 1, 1, s);
    launch_hold(gate, s);
    return cudaDeviceSynchronize();
}

/* A thread that opens the gate after half a second. */
static inline void *open_gate_late(void *unused)
{
    usleep(500000);
    open_gate();
    return unused;
}

/* Host functions. */
static inline void nothing(void *unused) {}

static volatile int function_over;

static inline void sleep_300ms(void *unused)
{
    usleep(300000);
    function_over = 1;
}

/* Returns whether the stream's work ends within 100 ms. If it does not, it waits for something that
 * has not come. */
static inline int soon_over(cudaStream_t stream)
{
    for (int look = 0; look < 40; look++) {
        if (cudaStreamQuery(stream) != cudaErrorNotReady)
            return 1;
        usleep(2500);
    }
    return 0;
}

/* Short names of the types and locations of pools, for lines that do not show the header's
 * names. */
#define PINNED  cudaMemAllocationTypePinned
#define MANAGED cudaMemAllocationTypeManaged
#define NOWHERE cudaMemLocationTypeNone
#define DEVICE  cudaMemLocationTypeDevice
#define HOST    cudaMemLocationTypeHost
#define NUMA    cudaMemLocationTypeHostNuma

static inline struct cudaMemLocation location_of(int type, int id)
{
    return (struct cudaMemLocation){.type = (enum cudaMemLocationType)type, .id = id};
}

static inline struct cudaMemPoolProps pool_props(int type, int location, int id)
{
    return (struct cudaMemPoolProps){.allocType = (enum cudaMemAllocationType)type,
                                     .location = location_of(location, id)};
}

static inline struct cudaMemPoolProps device_props(void) { return pool_props(PINNED, DEVICE, 0); }

static inline void set_flag(cudaMemPool_t pool, enum cudaMemPoolAttr flag, int value)
{
    cudaMemPoolSetAttribute(pool, flag, &value);
}

static inline void set_policies(cudaMemPool_t pool, int events, int opportunistic, int internal)
{
    set_flag(pool, cudaMemPoolReuseFollowEventDependencies, events);
    set_flag(pool, cudaMemPoolReuseAllowOpportunistic, opportunistic);
    set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, internal);
}

static inline void set_threshold(cudaMemPool_t pool, uint64_t bytes)
{
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);
}

/* Returns a pool of GPU 0, or NULL. A max_size of 0 is no limit; `handles` says how the pool can be
 * shared. */
static inline cudaMemPool_t pool_with(uint64_t threshold, size_t max_size, int handles)
{
    struct cudaMemPoolProps p = device_props();
    cudaMemPool_t pool = NULL;
    p.maxSize = max_size;
    p.handleTypes = (enum cudaMemAllocationHandleType)handles;
    if (!cudaMemPoolCreate(&pool, &p) && threshold)
        set_threshold(pool, threshold);
    return pool;
}

static inline cudaMemPool_t new_pool(uint64_t threshold) { return pool_with(threshold, 0, 0); }

static inline cudaMemPool_t shared_pool(uint64_t threshold)
{
    return pool_with(threshold, 0, cudaMemHandleTypePosixFileDescriptor);
}

/* Makes a pool and prints whether there can be one; returns NULL when not. */
static inline cudaMemPool_t make_pool(int type, int location, int id)
{
    struct cudaMemPoolProps p = pool_props(type, location, id);
    cudaMemPool_t pool = NULL;
    cudaError_t error = cudaMemPoolCreate(&pool, &p);
    printf("pool type %d location %d id %d: %s\n", type, location, id, cudaGetErrorName(error));
    cudaGetLastError();
    return error ? NULL : pool;
}

static inline unsigned long long pool_figure(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = UINT64_MAX;
    cudaMemPoolGetAttribute(pool, attribute, &value);
    return value;
}

static inline unsigned long long bytes_reserved(cudaMemPool_t pool)
{
    return pool_figure(pool, cudaMemPoolAttrReservedMemCurrent);
}

static inline unsigned long long bytes_used(cudaMemPool_t pool)
{
    return pool_figure(pool, cudaMemPoolAttrUsedMemCurrent);
}

static inline unsigned long long mib_reserved(cudaMemPool_t pool)
{
    return bytes_reserved(pool) / MiB;
}

static inline void end_pool(cudaMemPool_t pool)
{
    open_gate();
    cudaDeviceSynchronize();
    cudaMemPoolDestroy(pool);
    cudaGetLastError();
}

/* A conditional node's parameters: its body runs once if the condition is not 0. */
static inline struct cudaGraphNodeParams condition_params(cudaGraphConditionalHandle handle)
{
    struct cudaGraphNodeParams params;
    memset(&params, 0, sizeof params);
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    return params;
}

/* Returns memory of the pool, or of the current one if that is NULL, when it is there. */
static inline void *ready_memory(cudaMemPool_t pool, size_t bytes)
{
    void *memory = NULL;
    if (pool)
        cudaMallocFromPoolAsync(&memory, bytes, pool, s);
    else
        cudaMallocAsync(&memory, bytes, s);
    cudaStreamSynchronize(s);
    return memory;
}

static inline void free_and_wait(void *memory)
{
    cudaFreeAsync(memory, s);
    cudaStreamSynchronize(s);
}

/* Returns how many bytes of the current GPU's memory are free. */
static inline size_t free_now(void)
{
    size_t bytes = 0, total;
    cudaMemGetInfo(&bytes, &total);
    return bytes;
}

/* By how many bytes free memory has fallen since it was free_at_first. */
static size_t free_at_first;

static inline long long fallen(void) { return (long long)(free_at_first - free_now()); }

static inline cudaError_t give_access(cudaMemPool_t pool, struct cudaMemLocation to, int flags)
{
    struct cudaMemAccessDesc d = {to, (enum cudaMemAccessFlags)flags};
    return cudaMemPoolSetAccess(pool, &d, 1);
}

/* Returns the access that the GPU has to the pool's memory, or 9 if the driver does not say. */
static inline int pool_access(cudaMemPool_t pool, int device)
{
    enum cudaMemAccessFlags flags = (enum cudaMemAccessFlags)9;
    struct cudaMemLocation location = {DEVICE, device};
    cudaMemPoolGetAccess(&flags, pool, &location);
    return (int)flags;
}

/* ---- times ---- */

static inline double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static inline int by_value(const void *left, const void *right)
{
    double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

/* ---- one process ---- */

/* Makes s, t and the gate for a probe that is one process, which is stopped if it hangs. */
static inline void set_up_process(void)
{
    int *memory;
    alarm(250);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped);
    open_gate();
    cudaMalloc((void **)&memory, MiB);
    cudaError_t error = load_kernels(memory);
    if (error) {
        fprintf(stderr, "no working device: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

/* Runs all cases, one after the other, with set_up_process's streams. */
static inline int run_in_one_process(void)
{
    for (const struct named_case *one = named_cases; one; one = one->next)
        one->run();
    puts("end");
    return 0;
}

/* ---- a process for a question ----
 *
 *   if (in_new_process(SECONDS)) { ...; _exit(0); }
 *   status = status_of_process(); */

static inline int in_new_process(unsigned seconds)
{
    if (fork())
        return 0;
    alarm(seconds);
    return 1;
}

static inline int status_of_process(void)
{
    int status = 0;
    wait(&status);
    return status;
}

/* Prints `what` and how the process ended, or nothing if it ended with 0. */
static inline void print_end(int status, const char *what)
{
    if (WIFSIGNALED(status))
        printf("%ssignal %d\n", what, WTERMSIG(status));
    else if (WEXITSTATUS(status))
        printf("%sexit status %d\n", what, WEXITSTATUS(status));
}

/* ---- a process for each case ----
 *
 *   probe         every case: "== CASE", its lines, "rc STATUS"
 *   probe CASE    one case, in this process
 *
 * A case may take 20 seconds. Status 139: it died of SIGSEGV; 124: it was stopped. */

/* A case that begins with `before`. */
#define CASE_AFTER(before, title)   \
    static void title##_asks(void); \
    CASE(title)                     \
    {                               \
        before();                   \
        title##_asks();             \
    }                               \
    static void title##_asks(void)

static inline int set_up_case(void)
{
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaStreamCreate(&b);
    cudaEventCreate(&ev);
    cudaEventCreate(&ev2);
    cudaHostAlloc((void **)&gate, 64, cudaHostAllocMapped);
    cudaMallocHost((void **)&host, MiB);
    cudaMalloc(&m, MiB);
    open_gate();
    cudaError_t error = load_kernels(m);
    if (error)
        printf("no working device: %s\n", cudaGetErrorName(error));
    return error != cudaSuccess;
}

static inline int run_one_case(const struct named_case *one)
{
    if (set_up_case())
        return 1;
    one->run();
    puts("end");
    return 0;
}

/* The program is started anew, by exec: so nothing of CUDA is there before the case. */
static inline void run_case_apart(char *self, const char *name)
{
    printf("== %s\n", name);
    if (in_new_process(20)) {
        execl("/proc/self/exe", self, name, (char *)NULL);
        _exit(127);
    }
    int status = status_of_process(), end = WTERMSIG(status);
    printf("rc %d\n", !WIFSIGNALED(status) ? WEXITSTATUS(status)
                      : end == SIGALRM     ? 124
                                           : 128 + end);
}

/* Runs the cases 0 to `count` - 1 of a probe, each in a process of its own. */
static inline void run_numbers_apart(char *self, int count)
{
    char number[16];
    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%d", i);
        run_case_apart(self, number);
    }
}

static inline int run_cases(int argc, char **argv)
{
    if (argc > 1)
        return run_one_case(find_case(argv[1]));
    for (const struct named_case *one = named_cases; one; one = one->next)
        run_case_apart(argv[0], one->name);
    return 0;
}

/* ---- does a call wait? ----
 *
 * A call waits for work behind a closed gate when it returns only after another thread, the
 * observer, has opened the gate:
 *
 *   observe(); result = call; waited = call_waited(); ...; end_observation();
 *
 * OBSERVE does this for one call. The observer opens the gate in end_observation, or when the call
 * is known to be blocked: in so many looks (wait_looks), 5 ms apart, each thread of the process
 * slept, or the calling one computed for 1 ms or more. A look at which a thread was ready to run,
 * and had no processor, does not count: so a busy machine changes no result. On the simulated
 * device nothing goes on while all threads sleep, and 10 looks are enough. */

static int wait_looks = 40;
static _Atomic int call_has_returned;
static pid_t caller;
static clockid_t caller_clock;
static pthread_t observer;

static inline int is_ready_to_run(const char *thread)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", thread);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0; /* it has ended */
    const char *name_end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return name_end && name_end[1] && name_end[2] == 'R';
}

static inline int is_blocked(double *used_before)
{
    struct timespec used;
    clock_gettime(caller_clock, &used);
    double used_ms = 1e3 * (double)used.tv_sec + 1e-6 * (double)used.tv_nsec;
    int computed = used_ms - *used_before >= 1, ready = 0;
    *used_before = used_ms;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *x; threads && (x = readdir(threads));) {
        pid_t id = atoi(x->d_name);
        if (id && id != gettid() && !(id == caller && computed))
            ready |= is_ready_to_run(x->d_name);
    }
    if (threads)
        closedir(threads);
    return threads && !ready;
}

static inline void *open_when_blocked(void *unused)
{
    double used = 0;
    int blocked = 0;
    for (int look = 0; !call_has_returned && blocked < wait_looks && look < 2000; look++) {
        usleep(5000);
        blocked += is_blocked(&used) && look;
    }
    open_gate();
    return NULL;
}

static inline void observe(void)
{
    call_has_returned = 0;
    caller = gettid();
    pthread_getcpuclockid(pthread_self(), &caller_clock);
    pthread_create(&observer, NULL, open_when_blocked, NULL);
}

static inline int call_waited(void) { return *gate; }

static inline void end_observation(void)
{
    call_has_returned = 1;
    pthread_join(observer, NULL);
}

static cudaError_t observed; /* what the observed call returned */

static inline const char *wait_in_words(int waited) { return waited ? "waits" : "does not wait"; }

static inline const char *end_of_call(cudaError_t result)
{
    int waited = call_waited();
    observed = result;
    end_observation();
    return wait_in_words(waited);
}

/* "waits" or "does not wait" */
#define OBSERVE(call) (observe(), end_of_call(call))

static inline void print_wait(const char *call, const char *waits)
{
    printf("%-72s %-14s %s\n", call, waits, cudaGetErrorName(observed));
}

/* The line "TEXT  waits|does not wait  RESULT" for a call behind what `pending`, a statement, puts
 * behind the gate. */
#define RECORD_WAIT(pending, call, text)    \
    do {                                    \
        cudaDeviceSynchronize();            \
        close_gate();                       \
        pending;                            \
        const char *waits_ = OBSERVE(call); \
        cudaDeviceSynchronize();            \
        cudaGetLastError();                 \
        print_wait(text, waits_);           \
    } while (0)

#endif
