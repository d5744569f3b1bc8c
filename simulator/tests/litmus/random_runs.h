/* What random.c and ipc_random.c share: the dice, how a run ended, what was reported, and the
 * listing of a run that did not end as it should, without the calls that can be left out. Included
 * after a model, which has struct program and names of hazards. */
#ifndef RANDOM_RUNS_H
#define RANDOM_RUNS_H

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- making a program ---- */

static uint64_t dice;
static int roll(int sides)
{
    dice ^= dice >> 12;
    dice ^= dice << 25;
    dice ^= dice >> 27;
    return (int)((dice * 0x2545F4914F6CDD1Du >> 33) % (uint64_t)sides);
}

static void take_dice(unsigned seed)
{
    dice = seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    roll(2);
}

/* Returns one of the listed kinds, each as likely as it is often listed. */
#define ONE_OF(...) \
    ((const int[]){__VA_ARGS__})[roll((int)(sizeof(const int[]){__VA_ARGS__} / sizeof(int)))]

/* The percentage of edges that are left out; the first one ends the program. */
static int careless;
static bool is_over;

/* ---- how a run ended ---- */

/* UNSURE: the graph leaves open whether a host function began before or after the work that a call
 * queued. The kinds after it are mismatches. */
enum end { SILENT, REPORTED, UNSURE, MISSED, FALSELY, OTHER_KIND, REFUSED, HANGS, CRASHED, ENDS };
static const char *const ends[ENDS] = {"silent, as the graph says",
                                       "reported, as the graph says",
                                       "undecided",
                                       "not reported, but it is incorrect",
                                       "reported, but it is correct",
                                       "reported for another hazard",
                                       "a call returned an error",
                                       "it does not go on",
                                       "it did not end well"};

struct outcome {
    enum end end;
    /* The op at which it ended, or the number of ops if after the last; and what was expected of
     * it. */
    int stopped;
    hazard_set hazards;
    cudaError_t answer;
    /* The process whose stderr has the report. */
    int process;
    /* The calls that were made, that could not be made, and that failed for lack of memory. */
    int performed, left_out, refused;
};

/* Files in memory: what each process of a run writes to stderr. */
static int stderr_files[3];

static off_t said_by(int process) { return lseek(stderr_files[process], 0, SEEK_END); }

/* Returns the first report of a process since `before`, without "hazard: ", or NULL. */
static const char *report_since(int process, off_t before)
{
    static char text[4096];
    ssize_t n = pread(stderr_files[process], text, sizeof text - 1, before);
    text[n > 0 ? n : 0] = '\0';
    char *report = strstr(text, "hazard: ");
    return report ? report + strlen("hazard: ") : NULL;
}

static bool is_named(const char *report, hazard_set hazards)
{
    for (int k = 0; k < HAZARDS; k++) {
        const char *name = hazard_names[k];
        size_t length = strlen(name);
        if (hazards >> k & 1 && !strncmp(report, name, length) && report[length] == '.')
            return true;
    }
    return false;
}

/* Compares what was reported with the graph. SILENT: the run goes on. */
static enum end judge(const char *report, hazard_set hazards, bool refused)
{
    if (report && hazards)
        return is_named(report, hazards) ? REPORTED : OTHER_KIND;
    if (report || hazards)
        return report ? FALSELY : MISSED;
    return refused ? REFUSED : SILENT;
}

/* ---- listing ---- */

static void list_op(const struct program *p, const struct op *op);
static struct outcome run_once(const struct program *p, const char *schedule);

/* The last op that can be left out. */
static int last_to_leave_out(const struct program *p, const struct outcome *o)
{
    return o->stopped == p->count ? p->count - 1 : p->count - 2;
}

/* Leaves out what can be left out, from halves down to single ops, as long as the run ends in the
 * same way at the same op. */
static void minimize(struct program *p, struct outcome *found, const char *schedule)
{
    static struct program smaller;
    if (found->stopped < p->count)
        p->count = found->stopped + 1;
    for (int size = p->count / 2; size; size = size == 1 ? 0 : size / 2)
        for (int i = last_to_leave_out(p, found); i >= 0;) {
            int from = i - size + 1 < 0 ? 0 : i - size + 1;
            smaller = *p;
            memmove(&smaller.ops[from], &smaller.ops[i + 1],
                    (size_t)(p->count - i - 1) * sizeof *p->ops);
            smaller.count -= i + 1 - from;
            struct outcome o = run_once(&smaller, schedule);
            if (o.end == found->end && o.hazards == found->hazards
                && o.stopped == found->stopped - (p->count - smaller.count)) {
                *p = smaller;
                *found = o;
            }
            i = from - 1 < last_to_leave_out(p, found) ? from - 1 : last_to_leave_out(p, found);
        }
    *found = run_once(p, schedule);
}

/* For each kind of end: the number of runs; and the number of mismatches whose programs are
 * listed. */
static unsigned total[ENDS], reported[HAZARDS], mismatches, listed;

/* Counts a run. For a mismatch, prints `how` it ran, and lists its program. */
static void account(const struct program *p, struct outcome o, const char *schedule, unsigned seed,
                    const char *how, bool can_run_again)
{
    static struct program smaller;
    char text[2048];
    total[o.end]++;
    for (int k = 0; k < HAZARDS; k++)
        reported[k] += o.end == REPORTED && o.hazards >> k & 1;
    if (o.end <= UNSURE)
        return;
    printf("seed %u, SIM_SCHEDULE=%s%s: %s", seed, schedule, how, ends[o.end]);
    if (o.end == REFUSED)
        printf(" (%s)", cudaGetErrorName(o.answer));
    for (int k = 0; k < HAZARDS; k++)
        if (o.hazards >> k & 1)
            printf(", %s", hazard_names[k]);
    puts("");
    if (mismatches++ >= listed)
        return;
    smaller = *p;
    if (can_run_again && o.end != HANGS)
        minimize(&smaller, &o, schedule);
    for (int i = 0; i < smaller.count; i++) {
        printf("  %c %3d  ", i == o.stopped ? '>' : ' ', i);
        list_op(&smaller, &smaller.ops[i]);
    }
    if (o.stopped == smaller.count)
        puts("  > the program ends");
    ssize_t n = pread(stderr_files[o.process], text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    printf("process %d:\n%s\n", o.process, text);
}

/* Reads [FIRST [COUNT [LISTED]]], and makes the files. */
static void begin_all(int argc, char **argv, unsigned *first, unsigned *count)
{
    for (size_t i = 0; i < sizeof stderr_files / sizeof *stderr_files; i++) {
        stderr_files[i] = memfd_create("stderr", 0);
        fcntl(stderr_files[i], F_SETFL, O_APPEND);
    }
    *first = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    *count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : *count;
    listed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10;
}

#endif
