/* The cost of an allocation and its free on the simulated device, next to the cost on a real one
 * and that of glibc's malloc and free for the same sizes in the same order; the cost of a memset of
 * a part of an allocation; and the time of a kernel built by nvcc, with a million threads of 20
 * instructions each.
 *
 *   bench            the lower quartile of nine rounds. Each measures every line in four new
 *                    processes: as it is, with glibc, without the checker, and with a journal
 *   bench ROUNDS     the same with this many rounds
 *
 * All figures are processor time of the process, including the system's time for it. The journal
 * goes to a file next to this program, which is removed, so its column includes the time of the
 * system for writing a file of 430 MB a round.
 *
 * The real device's figures are those of simulator/tests/facts/one-gpu.txt, "timing" (H200, driver
 * 580.159.04, threshold max, no synchronization), with one allocation at a time. The budgets: with
 * few live allocations half of its 0.76 us, and with 100,000 all of it; with several sizes at most
 * 4 times what glibc takes, and with 100,000 at most 1.5 times. With a journal each takes at most
 * twice as long. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "kernels.h"
#include "nvcc_by_hand.h"

#define KiB         ((size_t)1 << 10)
#define MiB         ((size_t)1 << 20)
#define MANY        100000
#define MOST_ROUNDS 1000
/* This many pairs write the journal's first 20 MB. */
#define ONCE 50000
#define SEED 88172645463325252u

static cudaStream_t s, t;
static cudaMemPool_t pool;
static void *block[MANY];
static uint64_t state;

static double now_us(void)
{
    struct timespec t0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    return 1e6 * (double)t0.tv_sec + 1e-3 * (double)t0.tv_nsec;
}

static uint32_t pick(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % n;
}

static void need(cudaError_t e)
{
    if (!e)
        return;
    fprintf(stderr, "bench: %s\n", cudaGetErrorName(e));
    exit(1);
}

/* Sizes of several classes: most small, some of a few MiB. */
static size_t size(size_t fixed)
{
    static const size_t classes[] = {1, 512, 4096, 10000, 65536, 100000, 1 * MiB, 2 * MiB + 1};
    return fixed ? fixed : classes[pick(8)];
}

/* Returns the microseconds for one free and one allocation with `live` allocations. Each pair
 * replaces one taken at random. */
static double pairs(size_t live, size_t fixed, int count)
{
    for (size_t i = 0; i < live; i++)
        need(cudaMallocFromPoolAsync(&block[i], size(fixed), pool, s));
    double start = now_us();
    for (int i = 0; i < count; i++) {
        size_t victim = pick((uint32_t)live);
        cudaFreeAsync(block[victim], s);
        cudaMallocFromPoolAsync(&block[victim], size(fixed), pool, s);
    }
    double each = (now_us() - start) / count;
    for (size_t i = 0; i < live; i++)
        need(cudaFreeAsync(block[i], s));
    need(cudaStreamSynchronize(s));
    return each;
}

/* Does the same with malloc and free. */
static double pairs_of_glibc(size_t live, size_t fixed, int count)
{
    for (size_t i = 0; i < live; i++)
        block[i] = malloc(size(fixed));
    double start = now_us();
    for (int i = 0; i < count; i++) {
        size_t victim = pick((uint32_t)live);
        free(block[victim]);
        block[victim] = malloc(size(fixed));
    }
    double each = (now_us() - start) / count;
    for (size_t i = 0; i < live; i++)
        free(block[i]);
    return each;
}

/* Returns the microseconds for one step of a program that does everything: two streams, events,
 * memsets, and synchronizations. */
static double walk(int steps)
{
    cudaEvent_t e;
    size_t live = 0;
    need(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    double start = now_us();
    for (int i = 0; i < steps; i++) {
        uint32_t what = pick(100);
        if (what < 40 && live < 10000)
            need(cudaMallocFromPoolAsync(&block[live++], size(0), pool, s));
        else if (what < 80 && live) {
            size_t victim = pick((uint32_t)live);
            need(cudaFreeAsync(block[victim], s));
            block[victim] = block[--live];
        } else if (what < 94 && live)
            need(cudaMemsetAsync(block[pick((uint32_t)live)], 1, 1, s));
        else if (what < 97) {
            need(cudaEventRecord(e, s));
            need(cudaStreamWaitEvent(t, e, 0));
        } else if (what < 99)
            cudaStreamQuery(t);
        else
            need(cudaStreamSynchronize(s));
    }
    double each = (now_us() - start) / steps;
    while (live)
        need(cudaFreeAsync(block[--live], s));
    need(cudaDeviceSynchronize());
    need(cudaEventDestroy(e));
    return each;
}

/* Returns the microseconds for one memset of a part of an allocation. Nothing waits, so all of them
 * still matter to the checker. */
static double parts(int count, size_t bytes)
{
    char *whole;
    need(cudaMallocFromPoolAsync((void **)&whole, (size_t)count * bytes, pool, s));
    double start = now_us();
    for (int i = 0; i < count; i++)
        need(cudaMemsetAsync(whole + (size_t)i * bytes, 1, bytes, s));
    double each = (now_us() - start) / count;
    need(cudaFreeAsync(whole, s));
    need(cudaStreamSynchronize(s));
    return each;
}

static const struct {
    const char *name;
    size_t live, fixed;
    int count;
    const char *real;
    double budget;
    double budget_glibc; /* the limit as a multiple of glibc's time; 0: none */
} lines[] = {
    {"1 KiB, one live", 1, 1024, 50000, "0.77", 0.38, 0},
    {"1 MiB, one live", 1, MiB, 50000, "0.76", 0.38, 0},
    {"64 MiB, one live", 1, 64 * MiB, 50000, "1.26", 0.38, 0},
    {"1 GiB, one live", 1, 1024 * MiB, 50000, "0.76", 0.38, 0},
    {"1 KiB, 10 live", 10, 1024, 50000, "0.76", 0.38, 0},
    {"several sizes, 10 live", 10, 0, 50000, "0.76", 0.38, 4},
    {"1 KiB, 100000 live", MANY, 1024, 50000, "0.76", 0.76, 0},
    {"several sizes, 100000 live", MANY, 0, 50000, "0.76", 0.76, 1.5},
    {"memset: 100 parts", 0, 4096, 100, "", 0, 0},
    {"memset: 20000 parts", 0, 4096, 20000, "", 0, 0},
    {"one random step", 0, 0, 250000, "", 1.5, 0},
};
#define LINES (sizeof lines / sizeof *lines)

/* Measures all lines in this process, which must be new, because the first call decides whether
 * there is a journal. One-time work counts in no line: starting addr2line for the journal, or what
 * a file system does for the first megabytes of a file. */
static void measure(double *figures)
{
    uint64_t all = UINT64_MAX;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice};
    need(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    need(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    for (size_t i = 0; i < LINES; i++) {
        state = SEED;
        need(cudaMemPoolCreate(&pool, &props));
        need(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
        if (i == 0)
            pairs(1, KiB, ONCE);
        figures[i] = lines[i].live  ? pairs(lines[i].live, lines[i].fixed, lines[i].count)
                   : lines[i].fixed ? parts(lines[i].count, lines[i].fixed)
                                    : walk(lines[i].count);
        need(cudaDeviceSynchronize());
        need(cudaMemPoolDestroy(pool));
    }
}

static void measure_glibc(double *figures)
{
    for (size_t i = 0; i < LINES; i++) {
        state = SEED;
        figures[i] =
            lines[i].live ? pairs_of_glibc(lines[i].live, lines[i].fixed, lines[i].count) : 0;
    }
}

/* The results of each round. */
struct column {
    double round[MOST_ROUNDS][LINES];
    int rounds;
};

/* Runs another round in a new process. */
static void run(void (*what)(double *), const char *variable, const char *value,
                struct column *column)
{
    double *figures = column->round[column->rounds++];
    size_t size = sizeof *column->round;
    int ends[2], status = 0;
    if (pipe(ends))
        exit(1);
    pid_t child = fork();
    if (!child) {
        setenv(variable, value, 1);
        what(figures);
        ssize_t written = write(ends[1], figures, size);
        exit(written == (ssize_t)size ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], figures, size);
    close(ends[0]);
    waitpid(child, &status, 0);
    if (got != (ssize_t)size || status) {
        fprintf(stderr, "bench: a round ended with status %d\n", status);
        exit(1);
    }
}

static int by_size(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

/* The lower quartile: the median includes other load of the machine, and the minimum is luck,
 * because with 100,000 live allocations one process takes 0.15 us for a pair, and the next one
 * 0.28. */
static double lower_quartile(const struct column *column, size_t line)
{
    double figures[MOST_ROUNDS];
    for (int i = 0; i < column->rounds; i++)
        figures[i] = column->round[i][line];
    qsort(figures, (size_t)column->rounds, sizeof *figures, by_size);
    return figures[column->rounds / 4];
}

static const char *verdict(size_t i, double plain, double journal, double glibc)
{
    if (plain > lines[i].budget)
        return "missed";
    if (lines[i].budget_glibc && plain > lines[i].budget_glibc * glibc)
        return "missed beside glibc";
    return journal > 2 * plain ? "journal more than doubles it" : "met";
}

/* ---- a kernel that nvcc built ---- */

/* The PTX that nvcc generates for: if (i < n) y[i] = a * x[i] + y[i]. */
static const char axpy_ptx[] =
    ".version 9.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry axpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)\n{\n"
    ".reg .pred %p<2>;\n.reg .f32 %f<5>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [y];\nld.param.u64 %rd2, [x];\nld.param.f32 %f1, [a];\n"
    "ld.param.u32 %r2, [n];\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n"
    "mov.u32 %r5, %tid.x;\nmad.lo.s32 %r1, %r3, %r4, %r5;\nsetp.ge.s32 %p1, %r1, %r2;\n"
    "@%p1 bra END;\ncvta.to.global.u64 %rd3, %rd2;\nmul.wide.s32 %rd4, %r1, 4;\n"
    "add.s64 %rd5, %rd3, %rd4;\nld.global.f32 %f2, [%rd5];\ncvta.to.global.u64 %rd6, %rd1;\n"
    "add.s64 %rd7, %rd6, %rd4;\nld.global.f32 %f3, [%rd7];\n"
    "fma.rn.f32 %f4, %f2, %f1, %f3;\nst.global.f32 [%rd7], %f4;\nEND: ret;\n}\n";

/* Its address stands for the kernel. */
static const char axpy;

/* Returns the processor seconds of one launch, the least of five. */
static double kernel_seconds(void)
{
    enum { THREADS = 1 << 20 };
    float *x, *y, a = 2;
    int n = THREADS;
    double least = 1e9;
    void **binary = register_ptx(axpy_ptx), *arguments[] = {&y, &x, &a, &n};
    dim3 grid = {THREADS / 256, 1, 1}, threads = {256, 1, 1};
    __cudaRegisterFunction(binary, &axpy, NULL, "axpy", -1, 0, 0, 0, 0, 0);
    need(cudaMalloc((void **)&x, THREADS * sizeof *x));
    need(cudaMalloc((void **)&y, THREADS * sizeof *y));
    need(cudaMemset(x, 0, THREADS * sizeof *x));
    need(cudaMemset(y, 0, THREADS * sizeof *y));
    for (int round = 0; round < 5; round++) {
        double begin = now_us();
        need(cudaLaunchKernel(&axpy, grid, threads, arguments, 0, 0));
        need(cudaDeviceSynchronize());
        double seconds = 1e-6 * (now_us() - begin);
        least = seconds < least ? seconds : least;
    }
    need(cudaFree(x));
    need(cudaFree(y));
    return least;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "bench: expected a number of rounds from 1 to %d, not \"%s\"\n",
                MOST_ROUNDS, argv[1]);
        return 2;
    }
    static struct column plain, unchecked, journal, glibc;
    char path[4096];
    snprintf(path, sizeof path, "%s.journal", argv[0]);
    /* Measures in turns, so that a busy moment of the machine affects all of them. */
    for (int r = 0; r < rounds; r++) {
        run(measure, "SIM_CHECK", "on", &plain);
        run(measure_glibc, "SIM_CHECK", "on", &glibc);
        run(measure, "SIM_CHECK", "off", &unchecked);
        run(measure, "SIM_JOURNAL", path, &journal);
        unlink(path);
    }
    printf("Processor microseconds for one free and one allocation (lower quartile of %d)\n\n",
           rounds);
    printf("%-28s %9s %8s %8s %8s %8s %8s %8s\n", "", "simulated", "glibc", "times", "no check",
           "journal", "H200", "budget");
    for (size_t i = 0; i < LINES; i++) {
        double each = lower_quartile(&plain, i), with_journal = lower_quartile(&journal, i),
               of_glibc = lower_quartile(&glibc, i);
        printf("%-28s %9.3f ", lines[i].name, each);
        if (lines[i].live)
            printf("%8.3f %8.2f ", of_glibc, each / of_glibc);
        else
            printf("%8s %8s ", "", "");
        printf("%8.3f %8.3f %8s ", lower_quartile(&unchecked, i), with_journal, lines[i].real);
        if (lines[i].budget)
            printf("%8.2f  %s", lines[i].budget, verdict(i, each, with_journal, of_glibc));
        puts("");
    }
    double kernel = kernel_seconds();
    printf("\nA kernel of 1,048,576 threads, 20 instructions each: %.3f s (%.0f million a second), "
           "budget 0.5 s: %s\n",
           kernel, 20 * 1.048576 / kernel, kernel <= 0.5 ? "met" : "missed");
    return 0;
}
