/* The cost of an allocation and its free on the simulated device, next to the cost on a real one
 * and that of glibc's malloc and free for the same sizes in the same order; and the time of kernels
 * beside that of the same loops of C.
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
 * twice as long. A kernel takes at most 4 times what C takes. */
#define _GNU_SOURCE
#include "kernels.h"
#include "measure.h"
#include "nvcc_by_hand.h"

#define MANY        100000
#define MOST_ROUNDS 1000
/* This many pairs write the journal's first 20 MB. */
#define ONCE 50000

static cudaStream_t s, t;
static cudaMemPool_t pool;
static void *block[MANY];

/* Returns a size: the fixed one, or one of several. */
static size_t size(size_t fixed) { return fixed ? fixed : some_size(); }

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

/* Returns the microseconds for one free and one malloc of glibc with `live` blocks. */
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
    {"one random step", 0, 0, 250000, "", 1.5, 0},
};
#define LINES (sizeof lines / sizeof *lines)

/* Measures all lines in this process, which must be new, because the first call decides whether
 * there is a journal. One-time work counts in no line: starting addr2line for the journal, or what
 * a file system does for the first megabytes of a file. */
static void measure(int unused)
{
    (void)unused;
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
        result.figures[i] = lines[i].live ? pairs(lines[i].live, lines[i].fixed, lines[i].count)
                                          : walk(lines[i].count);
        need(cudaDeviceSynchronize());
        need(cudaMemPoolDestroy(pool));
    }
}

static void measure_glibc(int unused)
{
    (void)unused;
    for (size_t i = 0; i < LINES; i++) {
        state = SEED;
        result.figures[i] =
            lines[i].live ? pairs_of_glibc(lines[i].live, lines[i].fixed, lines[i].count) : 0;
    }
}

/* The results of each round. */
struct column {
    struct result round[MOST_ROUNDS];
    int rounds;
};

/* Runs another round in a new process. */
static void run(void (*what)(int), const char *variable, const char *value, struct column *column)
{
    setenv(variable, value, 1);
    struct result *r = &column->round[column->rounds++];
    *r = measure_once(what, 0, 3600);
    unsetenv(variable);
    if (!*r->failure)
        return;
    fprintf(stderr, "bench: a round failed: %s\n", r->failure);
    exit(1);
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
        figures[i] = column->round[i].figures[line];
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

/* ---- kernels, and the same loops of C ---- */

/* simulator/tests/unit/kernels/costs.cu has the kernels. C has no halves, therefore the loop of C
 * has floats there. */
enum { THREADS = 1 << 14, MANY_THREADS = 1 << 20, SIDE = 256, TURNS = 1000 };

static float *first, *second, *third;

static void arithmetic(void)
{
    for (unsigned i = 0; i < THREADS; i++) {
        float x = 1e-3f * (float)i, sum = 1;
        for (int n = 0; n < TURNS; n++) {
            x = x * 0.999f + sum;
            sum = sum * 1.0001f + x * 1e-6f;
        }
        third[i] = x + sum;
    }
}

static void memory(void)
{
    for (unsigned i = 0; i < MANY_THREADS; i++)
        third[i] = 2 * first[i] + second[i];
}

static void divergent(void)
{
    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t x = i + 1;
        unsigned steps = 0;
        for (; x != 1 && steps < TURNS; steps++)
            x = x & 1 ? 3 * x + 1 : x / 2;
        third[i] = (float)steps;
    }
}

static void shared(void)
{
    for (size_t row = 0; row < SIDE; row++)
        for (size_t column = 0; column < SIDE; column++) {
            float sum = 0;
            for (size_t k = 0; k < SIDE; k++)
                sum += first[row * SIDE + k] * second[k * SIDE + column];
            third[row * SIDE + column] = sum;
        }
}

/* For floats and doubles. */
#define SUMS(type)                               \
    for (unsigned i = 0; i < THREADS; i++) {     \
        const type x = ((const type *)first)[i]; \
        type sum = x;                            \
        for (int n = 0; n < TURNS; n++)          \
            sum = sum * x + x;                   \
        ((type *)third)[i] = sum;                \
    }
static void doubles(void) { SUMS(double) }
static void halves(void) { SUMS(float) }

/* The address of a line stands for the kernel. */
static const struct cost {
    const char *name;
    void (*in_c)(void);
    dim3 grid, block;
    /* Of the arguments y, turns, a, b, and the side of a matrix: those that the kernel has. */
    const char *arguments;
} costs[] = {
    {"arithmetic", arithmetic, {THREADS / 256, 1, 1}, {256, 1, 1}, "yt"},
    {"memory", memory, {MANY_THREADS / 256, 1, 1}, {256, 1, 1}, "aby"},
    {"divergent", divergent, {THREADS / 256, 1, 1}, {256, 1, 1}, "yt"},
    {"shared", shared, {SIDE / 16, SIDE / 16, 1}, {16, 16, 1}, "abys"},
    {"doubles", doubles, {THREADS / 256, 1, 1}, {256, 1, 1}, "ayt"},
    {"halves", halves, {THREADS / 256, 1, 1}, {256, 1, 1}, "ayt"},
};
#define COSTS (sizeof costs / sizeof *costs)

static void launch(const struct cost *c, float **memory_of)
{
    int turns = TURNS, side = SIDE;
    void *all[4];
    for (size_t n = 0; c->arguments[n]; n++)
        all[n] = c->arguments[n] == 'a' ? (void *)&memory_of[0]
               : c->arguments[n] == 'b' ? (void *)&memory_of[1]
               : c->arguments[n] == 'y' ? (void *)&memory_of[2]
               : c->arguments[n] == 't' ? (void *)&turns
                                        : (void *)&side;
    need(cudaLaunchKernel(c, c->grid, c->block, all, 0, 0));
    need(cudaDeviceSynchronize());
}

static void register_costs(void)
{
    static char text[1 << 16];
    FILE *file = fopen("build/kernels/costs.ptx", "r");
    if (!file || !fread(text, 1, sizeof text - 1, file)) {
        fprintf(stderr, "bench: build/kernels/costs.ptx cannot be read; type make bench, which "
                        "makes it\n");
        exit(1);
    }
    fclose(file);
    void **binary = register_ptx(text);
    for (size_t n = 0; n < COSTS; n++)
        __cudaRegisterFunction(binary, (const char *)&costs[n], NULL, costs[n].name, -1, 0, 0, 0, 0,
                               0);
}

/* Measures the kernels and the loops in milliseconds, the least of five turns each. */
static void measure_costs(int unused)
{
    double *figures = result.figures;
    (void)unused;
    const size_t bytes = MANY_THREADS * sizeof(float);
    float *on_device[3], **in_c[] = {&first, &second, &third};
    register_costs();
    for (size_t n = 0; n < 3; n++) {
        *in_c[n] = calloc(1, bytes);
        need(cudaMalloc((void **)&on_device[n], bytes));
        need(cudaMemset(on_device[n], 0, bytes));
    }
    for (size_t n = 0; n < COSTS; n++) {
        figures[2 * n] = figures[2 * n + 1] = 1e9;
        for (int turn = 0; turn < 5; turn++) {
            double begin = now_us();
            launch(&costs[n], on_device);
            const double simulated = 1e-3 * (now_us() - begin);
            begin = now_us();
            costs[n].in_c();
            const double of_c = 1e-3 * (now_us() - begin);
            figures[2 * n] = simulated < figures[2 * n] ? simulated : figures[2 * n];
            figures[2 * n + 1] = of_c < figures[2 * n + 1] ? of_c : figures[2 * n + 1];
        }
    }
    for (size_t n = 0; n < 3; n++) {
        need(cudaFree(on_device[n]));
        free(*in_c[n]);
    }
}

static void print_costs(void)
{
    static struct column column;
    run(measure_costs, "SIM_THREADS", "1", &column);
    printf("\nMilliseconds for a kernel on one core, and for the same loop of C (-O2)\n\n"
           "%-28s %9s %8s %8s %8s\n",
           "", "simulated", "C", "times", "budget");
    for (size_t n = 0; n < COSTS; n++) {
        const double each = column.round[0].figures[2 * n],
                     of_c = column.round[0].figures[2 * n + 1];
        printf("%-28s %9.2f %8.2f %8.2f %8.2f  %s\n", costs[n].name, each, of_c, each / of_c, 4.0,
               each <= 4 * of_c ? "met" : "missed");
    }
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
        printf("%8.2f  %s\n", lines[i].budget, verdict(i, each, with_journal, of_glibc));
    }
    print_costs();
    return 0;
}
