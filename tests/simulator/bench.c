/* What one allocation and its free cost on the simulated device, beside what they cost on a real
 * one; and a memset of a part of a block.
 *
 *   bench                    the table: every line five times, the median; then the same with a journal, and the random walk
 *   bench ROUNDS             the same with this many rounds
 *
 * The real device's figures are those of tests/hardware/facts/one-gpu.txt, "timing" (H200, driver
 * 580.159.04, threshold max, no synchronise), which has one block at a time. The budget is half of
 * its 0.76 us. */
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

#define MiB    ((size_t)1 << 20)
#define BUDGET 0.38
#define MANY   100000

static int rounds = 5;
static cudaStream_t s, t;
static cudaMemPool_t pool;
static void *block[MANY];
static uint64_t state = 88172645463325252u;

static double now_us(void)
{
    struct timespec t0;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    return 1e6 * (double)t0.tv_sec + 1e-3 * (double)t0.tv_nsec;
}

static uint32_t pick(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
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

/* Microseconds for one free and one allocation with `live` blocks; each pair replaces a block taken
 * at random. */
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

/* Microseconds for one step of a program that does everything: two streams, events, memsets,
 * synchronises. */
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

/* Microseconds for one memset of a part of a block; nothing is waited for, so that each of them
 * stays of interest to the checker. */
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
} lines[] = {
    {"1 KiB, one block", 1, 1024, 200000, "0.77"},
    {"1 MiB, one block", 1, MiB, 200000, "0.76"},
    {"64 MiB, one block", 1, 64 * MiB, 200000, "1.26"},
    {"1 GiB, one block", 1, 1024 * MiB, 200000, "0.76"},
    {"1 KiB, 10 live", 10, 1024, 200000, "0.76"},
    {"several sizes, 10 live", 10, 0, 200000, "0.76"},
    {"1 KiB, 100000 live", MANY, 1024, 200000, "0.76"},
    {"several sizes, 100000 live", MANY, 0, 200000, "0.76"},
    {"memset: 100 parts of a block", 0, 4096, 100, ""},
    {"memset: 20000 parts", 0, 4096, 20000, ""},
    {"one random step", 0, 0, 1000000, ""},
};
#define LINES (sizeof lines / sizeof *lines)

/* All lines in this process, which is a new one: whether there is a journal is decided at the first
 * call. */
static void measure(double *answers)
{
    uint64_t all = UINT64_MAX;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice};
    need(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    need(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    for (size_t i = 0; i < LINES; i++) {
        need(cudaMemPoolCreate(&pool, &props));
        need(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
        answers[i] = lines[i].live  ? pairs(lines[i].live, lines[i].fixed, lines[i].count)
                   : lines[i].fixed ? parts(lines[i].count, lines[i].fixed)
                                    : walk(lines[i].count);
        need(cudaDeviceSynchronize());
        need(cudaMemPoolDestroy(pool));
    }
}

/* The medians of `rounds` processes. */
static void run(const char *variable, const char *value, double *medians)
{
    double *all = calloc((size_t)rounds * LINES, sizeof *all),
           *column = calloc((size_t)rounds, sizeof *column);
    for (int r = 0; r < rounds; r++) {
        int ends[2];
        if (pipe(ends))
            exit(1);
        pid_t child = fork();
        if (!child) {
            double answers[LINES];
            setenv(variable, value, 1);
            measure(answers);
            ssize_t written = write(ends[1], answers, sizeof answers);
            exit(written == (ssize_t)sizeof answers ? 0 : 1);
        }
        close(ends[1]);
        int status = 0;
        ssize_t got = read(ends[0], all + (size_t)r * LINES, LINES * sizeof *all);
        close(ends[0]);
        waitpid(child, &status, 0);
        if (got != (ssize_t)(LINES * sizeof *all) || status) {
            fprintf(stderr, "bench: a round ended with status %d\n", status);
            exit(1);
        }
    }
    for (size_t i = 0; i < LINES; i++) {
        for (int r = 0; r < rounds; r++)
            column[r] = all[(size_t)r * LINES + i];
        qsort(column, (size_t)rounds, sizeof *column, by_value);
        medians[i] = column[rounds / 2];
    }
    free(all);
    free(column);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = atoi(argv[1]);
    if (rounds < 1 || rounds > 1000) {
        fprintf(stderr, "bench: expected a number of rounds from 1 to 1000, not \"%s\"\n", argv[1]);
        return 2;
    }
    double plain[LINES], unchecked[LINES], journal[LINES];
    run("SIM_CHECK", "on", plain);
    run("SIM_CHECK", "off", unchecked);
    run("SIM_JOURNAL", "/dev/null", journal);
    printf("Host microseconds for one free and one allocation (medians of %d)\n\n", rounds);
    printf("%-30s %10s %12s %14s %8s %8s\n", "", "simulated", "checker off", "with journal", "H200",
           "budget");
    for (size_t i = 0; i < LINES; i++) {
        printf("%-30s %10.3f %12.3f %14.3f %8s ", lines[i].name, plain[i], unchecked[i], journal[i],
               lines[i].real);
        if (lines[i].live)
            printf("%8.2f  %s", BUDGET,
                   plain[i] > BUDGET           ? "missed"
                   : journal[i] > 2 * plain[i] ? "journal more than doubles it"
                                               : "met");
        puts("");
    }
    printf("\nA million random steps: %.1f s\n", plain[LINES - 1]);
    return 0;
}
