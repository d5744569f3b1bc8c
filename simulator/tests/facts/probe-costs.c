/* Records the costs that the book opens with, with their conditions and their spread: what an
 * allocation and its free cost the host, and what they cost when other work is pending. */
#include "probe.h"

enum { MOST = 2000, LATER_US = 10000 };
static const size_t GiB = 1024 * MiB;

static cudaMemPool_t keeping, giving; /* threshold: the maximum, and 0 */

static void print_times(const char *what, double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, by_value);
    printf("%-64s median %10.3f us, least %10.3f, 90th percentile %10.3f, of %d\n", what,
           times[count / 2], times[0], times[count * 9 / 10], count);
}

/* Host microseconds of one call, `repeats` of which are timed together, `count` times; `before` and
 * `after` are not timed. */
#define COST_EACH(count, repeats, what, before, call, after)        \
    do {                                                            \
        static double times_[MOST];                                 \
        for (int i = -3; i < (count); i++) {                        \
            before;                                                 \
            double begin_ = now_us();                               \
            for (int repeat_ = 0; repeat_ < (repeats); repeat_++) { \
                call;                                               \
            }                                                       \
            double time_ = (now_us() - begin_) / (repeats);         \
            after;                                                  \
            if (i >= 0)                                             \
                times_[i] = time_;                                  \
        }                                                           \
        print_times(what, times_, count);                           \
    } while (0)
#define COST(count, what, before, call, after) COST_EACH(count, 1, what, before, call, after)

#define NOTHING                    (void)0
#define COST_OF(count, what, call) COST(count, what, NOTHING, call, NOTHING)

static int attribute(enum cudaDeviceAttr which)
{
    int value = -1;
    cudaDeviceGetAttribute(&value, which, 0);
    return value;
}

static void print_processor(void)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10)) {
            printf("condition processor %s", strchr(line, ':') + 2);
            break;
        }
    if (f)
        fclose(f);
}

CASE(conditions)
{
    static struct cudaDeviceProp properties;
    int driver = 0, runtime = 0, devices = 0;
    cudaGetDeviceProperties(&properties, 0);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaGetDeviceCount(&devices);
    printf("condition GPU %s, %d in sight\n", properties.name, devices);
    printf("condition driver %d runtime %d\n", driver, runtime);
    printf("condition highest clock %d kHz, of the memory %d kHz\n",
           attribute(cudaDevAttrClockRate), attribute(cudaDevAttrMemoryClockRate));
    print_processor();
    printf("condition processors %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
}

static void pair_in(cudaMemPool_t pool, size_t bytes)
{
    void *p;
    cudaMallocFromPoolAsync(&p, bytes, pool, s);
    cudaFreeAsync(p, s);
}

static void pair_and_synchronization(cudaMemPool_t pool, size_t bytes)
{
    pair_in(pool, bytes);
    cudaStreamSynchronize(s);
}

static void device_pair(size_t bytes)
{
    void *p;
    cudaMalloc(&p, bytes);
    cudaFree(p);
}

/* What does a pair of calls cost? A pair that takes less than a microsecond is timed alone and,
 * against the cost of the clock, a thousand at a time. */
CASE(pairs)
{
    COST_OF(MOST, "the clock alone", NOTHING);
    COST_OF(MOST, "pool, keeps its memory: 1 MiB allocated and freed", pair_in(keeping, MiB));
    COST_EACH(100, 1000, "the same, 1000 timed together", NOTHING, pair_in(keeping, MiB),
              cudaDeviceSynchronize());
    COST_EACH(100, 1000, "the same of 4 KiB, 1000 timed together", NOTHING, pair_in(keeping, 4096),
              cudaDeviceSynchronize());
    COST_OF(1000, "pool, keeps its memory: 1 GiB allocated and freed", pair_in(keeping, GiB));
    COST_OF(1000, "a synchronization of an idle stream", cudaStreamSynchronize(s));
    COST_OF(1000, "pool, keeps its memory: 1 MiB, a synchronization after each",
            pair_and_synchronization(keeping, MiB));
    COST_OF(500, "pool, threshold 0: 1 MiB, a synchronization after each",
            pair_and_synchronization(giving, MiB));
    COST_OF(1000, "pool, keeps its memory: 1 GiB, a synchronization after each",
            pair_and_synchronization(keeping, GiB));
    COST_OF(50, "pool, threshold 0: 1 GiB, a synchronization after each",
            pair_and_synchronization(giving, GiB));
    COST_OF(1000, "cudaMalloc and cudaFree of 4 KiB", device_pair(4096));
    COST_OF(1000, "cudaMalloc and cudaFree of 1 MiB", device_pair(MiB));
    COST_OF(200, "cudaMalloc and cudaFree of 64 MiB", device_pair(64 * MiB));
    COST_OF(50, "cudaMalloc and cudaFree of 1 GiB", device_pair(GiB));

    /* What does each call cost alone? */
    void *p = NULL;
    COST(1000, "cudaMallocFromPoolAsync of 1 MiB", NOTHING,
         cudaMallocFromPoolAsync(&p, MiB, keeping, s), cudaFreeAsync(p, s));
    COST(1000, "cudaFreeAsync of it", cudaMallocFromPoolAsync(&p, MiB, keeping, s),
         cudaFreeAsync(p, s), NOTHING);
    COST(1000, "cudaMalloc of 1 MiB", NOTHING, cudaMalloc(&p, MiB), cudaFree(p));
    COST(1000, "cudaFree of it", cudaMalloc(&p, MiB), cudaFree(p), NOTHING);
    COST(50, "cudaMalloc of 1 GiB", NOTHING, cudaMalloc(&p, GiB), cudaFree(p));
    COST(50, "cudaFree of it", cudaMalloc(&p, GiB), cudaFree(p), NOTHING);

    /* What does the first allocation of a new pool cost, of a pool that was warmed, and the
     * next? */
    cudaMemPool_t pool = NULL;
    COST(50, "a new pool's first 1 MiB", pool = new_pool(UINT64_MAX),
         cudaMallocFromPoolAsync(&p, MiB, pool, s), {
             free_and_wait(p);
             cudaMemPoolDestroy(pool);
         });
    COST(50, "a new pool's first 1 GiB", pool = new_pool(UINT64_MAX),
         cudaMallocFromPoolAsync(&p, GiB, pool, s), {
             free_and_wait(p);
             cudaMemPoolDestroy(pool);
         });
    COST(50, "cudaMemPoolTrimTo(0) of 1 GiB", pair_and_synchronization(keeping, GiB),
         cudaMemPoolTrimTo(keeping, 0), NOTHING);
}

/* ---- other work is pending ---- */

/* A kernel spins in t; it ends 10 ms after the call begins, when a thread opens its gate. A call
 * that takes about 10 ms has waited for it. */
static pthread_t opener;
static _Atomic int begun;

static void *open_later(void *unused)
{
    while (!begun)
        ;
    usleep(LATER_US);
    open_gate();
    return NULL;
}

static void start_work(void)
{
    cudaDeviceSynchronize();
    begun = 0;
    hold(t);
    pthread_create(&opener, NULL, open_later, NULL);
}

static void end_work(void)
{
    pthread_join(opener, NULL);
    cudaDeviceSynchronize();
}

#define BEHIND(what, before, call, after) \
    COST(                                 \
        20, what,                         \
        {                                 \
            before;                       \
            start_work();                 \
        },                                \
        {                                 \
            begun = 1;                    \
            call;                         \
        },                                \
        {                                 \
            end_work();                   \
            after;                        \
        })

CASE(behind_other_work)
{
    void *p = NULL;
    puts("a kernel in another stream ends 10 ms after the call begins");
    BEHIND("cudaMalloc of 1 MiB", NOTHING, cudaMalloc(&p, MiB), cudaFree(p));
    BEHIND("cudaFree of 1 MiB", cudaMalloc(&p, MiB), cudaFree(p), NOTHING);
    BEHIND("cudaMalloc of 1 GiB", NOTHING, cudaMalloc(&p, GiB), cudaFree(p));
    BEHIND("cudaFree of 1 GiB", cudaMalloc(&p, GiB), cudaFree(p), NOTHING);
    BEHIND("cudaMallocFromPoolAsync of 1 MiB, kept memory", NOTHING,
           cudaMallocFromPoolAsync(&p, MiB, keeping, s), cudaFreeAsync(p, s));
    BEHIND("cudaFreeAsync of 1 MiB", cudaMallocFromPoolAsync(&p, MiB, keeping, s),
           cudaFreeAsync(p, s), NOTHING);
    BEHIND("cudaMallocFromPoolAsync of 1 MiB, the pool grows", NOTHING,
           cudaMallocFromPoolAsync(&p, MiB, giving, s), cudaFreeAsync(p, s));
    BEHIND("cudaStreamSynchronize of the idle stream", NOTHING, cudaStreamSynchronize(s), NOTHING);
    BEHIND("cudaMallocHost of 1 MiB", NOTHING, cudaMallocHost(&p, MiB), cudaFreeHost(p));
    BEHIND("cudaFreeHost of 1 MiB", cudaMallocHost(&p, MiB), cudaFreeHost(p), NOTHING);
}

enum { THREADS = 8, PAIRS = 20000 };
static pthread_barrier_t barrier;
static double thread_us[THREADS];
static cudaMemPool_t pool_of[THREADS];

static void *allocate_in_thread(void *number)
{
    int i = *(int *)number;
    cudaStream_t stream;
    void *p;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    pthread_barrier_wait(&barrier);
    double begin = now_us();
    for (int n = 0; n < PAIRS; n++) {
        cudaMallocFromPoolAsync(&p, MiB, pool_of[i], stream);
        cudaFreeAsync(p, stream);
    }
    thread_us[i] = (now_us() - begin) / PAIRS;
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return NULL;
}

static void run_threads(int count, int own_pools)
{
    double rounds[5];
    for (int round = 0; round < 5; round++) {
        pthread_t threads[THREADS];
        int numbers[THREADS];
        double sum = 0;
        pthread_barrier_init(&barrier, NULL, (unsigned)count);
        for (int i = 0; i < count; i++) {
            numbers[i] = i;
            pthread_create(&threads[i], NULL, allocate_in_thread, &numbers[i]);
        }
        for (int i = 0; i < count; i++) {
            pthread_join(threads[i], NULL);
            sum += thread_us[i];
        }
        pthread_barrier_destroy(&barrier);
        rounds[round] = sum / count;
    }
    char what[96];
    snprintf(what, sizeof what, "a pair of 1 MiB in each of %d threads, %s", count,
             own_pools ? "a pool each" : "one pool");
    print_times(what, rounds, 5);
}

CASE(several_threads)
{
    for (int own_pools = 0; own_pools < 2; own_pools++) {
        for (int i = 0; i < THREADS; i++)
            pool_of[i] = own_pools ? new_pool(UINT64_MAX) : keeping;
        for (int count = 1; count <= THREADS; count *= 2)
            run_threads(count, own_pools);
    }
}

int main(void)
{
    set_up_process();
    giving = new_pool(0);
    keeping = new_pool(UINT64_MAX);
    pair_and_synchronization(keeping, GiB);
    return run_in_one_process();
}
