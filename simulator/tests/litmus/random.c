/* Random programs against the checker.
 *
 *   random streams|processes [FIRST [COUNT [LISTED]]]
 *
 * runs COUNT (1,000) seeds from FIRST (1) on, and lists the first LISTED (10) runs that do not end
 * as they should. Each seed makes a program of one process or, with "processes", of two or three.
 *
 * Where two pieces of work must be ordered, a program has an event, a synchronization, a poll, or a
 * host function for whose flag the host waits, in sleeps or in queries; in some programs one such
 * edge is left out, or a host function that merely runs is put in its place, or a call is made that
 * no order repairs. What is incorrect is decided by a graph (random_model.h), while the program
 * runs: the checker must report the first call that is incorrect, for that hazard, and be silent
 * before. It must be silent to the end, and name each leak there, where nothing is incorrect. From
 * the simulated device come only the answers of queries, whether a host function has begun, whether
 * a device had memory left, and what was written on stderr.
 *
 * A program of one process has 6 to 600 calls. Host functions are launched before and behind gates,
 * and captured, as gates are; several threads of the host make the calls, one at a time; and in
 * some programs the devices have so little memory that allocations and launches fail. Each runs
 * under one of the schedules.
 *
 * Several processes make 10 to 120 calls, one after the other in the order of the program, under
 * each of the schedules: they share pools, allocations and events, and send each other messages.
 * Programs that are correct by their messages alone are also run without that order, each process
 * as fast as it can: the checker must be silent.
 *
 * A call that would be incorrect in a way that the book says is not seen is left out of the run: a
 * touch of the host where it is not seen (page_guard.h), and a use by an old pointer whose address
 * is another allocation's now.
 *
 * Exit status 0: each run was reported, or not, as the graph says. The others are listed with their
 * seeds, without the calls that can be left out. */
#define _GNU_SOURCE
#include "random_model.h"
#include "random_process.h"
#include "random_programs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

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
static int stderr_files[PROCESSES];

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

/* ---- processes ---- */

static pid_t pids[PROCESSES];

static void socket_between(int *a, int *b)
{
    int two[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, two))
        abort();
    *a = two[0];
    *b = two[1];
}

static void start_process(const struct program *p, int me, int control, const char *schedule)
{
    pids[me] = fork();
    if (pids[me])
        return;
    controls[me] = control;
    setenv("SIM_SCHEDULE", schedule, 1);
    /* Looking up the source lines of a report takes an addr2line each, and would only name this
     * file. */
    setenv("PATH", "", 1);
    if (p->is_full)
        setenv("SIM_MEMORY", "64M", 1);
    dup2(stderr_files[me], STDERR_FILENO);
    /* A program that computes forever ends soon; one that sleeps on a busy machine, later. */
    setrlimit(RLIMIT_CPU, &(struct rlimit){20, 20});
    alarm(600);
    be_process(p, me);
}

static void start(const struct program *p, const char *schedule)
{
    int theirs[PROCESSES];
    fflush(stdout);
    memset(board, 0, sizeof *board);
    for (int a = 0; a < p->processes; a++)
        for (int b = 0; b < a; b++)
            socket_between(&sockets[a][b], &sockets[b][a]);
    for (int i = 0; i < p->processes; i++) {
        if (ftruncate(stderr_files[i], 0))
            abort();
        socket_between(&controls[i], &theirs[i]);
    }
    for (int i = 0; i < p->processes; i++)
        start_process(p, i, theirs[i], schedule);
    for (int i = 0; i < p->processes; i++)
        close(theirs[i]);
    for (int a = 0; a < p->processes; a++)
        for (int b = 0; b < p->processes; b++)
            if (a != b)
                close(sockets[a][b]);
}

static void stop(const struct program *p)
{
    for (int i = 0; i < p->processes; i++) {
        if (pids[i]) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
        close(controls[i]);
    }
}

static void command(int process, int what)
{
    if (write(controls[process], &what, sizeof what) != sizeof what)
        abort();
}

/* Judges a process that has ended. The exit status of one that has reported something is 3. */
static enum end judge_exit(int process, hazard_set hazards)
{
    int status;
    waitpid(pids[process], &status, 0);
    pids[process] = 0;
    const char *report = report_since(process, 0);
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == (report ? 3 : 0);
    return ended ? judge(report, hazards, false) : CRASHED;
}

/* Waits for the answer of a process. Returns false if it hangs, or has ended. */
static bool answer_of(int process, struct outcome *o)
{
    struct pollfd one = {.fd = controls[process], .events = POLLIN};
    int ready = poll(&one, 1, 60000);
    o->process = process;
    if (ready > 0 && read(controls[process], &o->answer, sizeof o->answer) == sizeof o->answer)
        return true;
    o->end = ready ? judge_exit(process, o->hazards) : HANGS;
    return false;
}

/* Makes a process do something, and waits for its answer. */
static bool ask(int process, int what, struct outcome *o)
{
    command(process, what);
    return answer_of(process, o);
}

/* ---- a run next to the model ---- */

/* What the model has to repeat when a function turns out to have begun before an op. */
static struct {
    bool was_left_out, has_succeeded;
    /* Bits of the functions that had begun: before the call, so that the host may know of them;
     * when the call began; and at its end. */
    uint64_t begun_before, begun_during, begun_after;
} history[OPS];

/* Bits of the functions that have begun, by these flags, since the model was told. */
static uint64_t new_functions(const volatile int *flags)
{
    uint64_t bits = 0;
    for (int f = 0; f < g.function_count; f++)
        if (flags[g.functions[f].flag] >= g.functions[f].at && !g.functions[f].begun)
            bits |= (uint64_t)1 << f;
    return bits;
}

static void begin_functions(uint64_t bits)
{
    for (int f = 0; f < g.function_count; f++)
        if (bits >> f & 1)
            function_has_begun(f);
}

static void model_op(const struct program *p, int i)
{
    begin_functions(history[i].begun_before);
    learn_of_functions();
    begin_functions(history[i].begun_during);
    if (!history[i].was_left_out)
        advance(p, &p->ops[i]);
    if (history[i].has_succeeded)
        query_succeeded(&p->ops[i]);
    begin_functions(history[i].begun_after);
}

/* Returns whether another allocation now has the address of what was freed. */
static bool is_taken(const struct op *op)
{
    bool frees = op->kind == FREE_FREED || op->kind == FREE_FREED_BY_HOST;
    char **addresses = board->addresses[0][0];
    const char *start = addresses[op->allocation], *from = frees ? start : start + op->from,
               *to = frees ? start + 1 : start + op->to;
    for (int i = 0; i < ALL_ALLOCATIONS; i++)
        if (is_alive(i) && addresses[i] < to && from < addresses[i] + g.allocations[i].bytes)
            return true;
    return false;
}

/* Returns whether a graph uses host memory that the device no longer has. A copy may still find the
 * address valid, and the bytes of registered memory exist. The memory that the graph was made for
 * counts, because by now the allocation may be other memory. */
static bool uses_hosts_memory_that_was_freed(const struct program *p, int number)
{
    const struct plan *plan = &p->plans[number];
    const enum memory *memories = g.graphs[number].memories;
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        if (t->kind > TASK_COPY)
            continue;
        if (is_stale(number, t->allocation)
            && (memories[t->allocation] == REGISTERED
                || (memories[t->allocation] == PINNED && t->kind == TASK_COPY)))
            return true;
        if (t->kind == TASK_COPY && is_stale(number, t->source)
            && (memories[t->source] == REGISTERED || memories[t->source] == PINNED))
            return true;
    }
    return false;
}

/* Returns whether the op is incorrect in a way that the book says is not seen. */
static bool is_excused(const struct program *p, const struct op *op)
{
    switch (op->kind) {
    case LOAD:
    case STORE: return !judge_touch(op, true) && judge_touch(op, false);
    case FILL_FREED:
    case SET_FREED:
    case FREE_FREED:
    case FREE_FREED_BY_HOST: return is_taken(op);
    case LAUNCH: return uses_hosts_memory_that_was_freed(p, op->plan);
    default: return false;
    }
}

static bool waits_and_queues(const struct program *p, const struct op *op)
{
    struct set s;
    return (op->kind < TRIM && awaited(op, &s)) || (op->kind == LAUNCH && p->plans[op->plan].bytes);
}

/* A report that the present op does not explain must be about something postponed. Whether that is
 * incorrect shows when nothing holds the work up; then it is not reported again. */
static bool early_report;

static bool may_be_incorrect_later(void)
{
    for (int i = 0; i < g.postponed_count; i++)
        if (!g.postponed[i].settled || g.postponed[i].by_function)
            return true;
    return false;
}

static void repeat_ops(const struct program *p, int last)
{
    model_start(p->processes, false);
    for (int k = 0; k <= last; k++)
        model_op(p, k);
}

/* Functions that began during a call that queues work without waiting began before that work, and
 * the host had already made the call. */
static void model_again(const struct program *p, int i, uint64_t functions)
{
    uint64_t at_call = new_functions(board->begun_at_call);
    history[i].begun_before |= functions & at_call;
    history[i].begun_during |= functions & ~at_call;
    repeat_ops(p, i);
}

/* Returns whether nothing is incorrect if the functions that have begun by now began before op `i`,
 * which opens a gate. The device sees the opening only when it next looks at the gate, so it may
 * take a function that began in between for an earlier one. */
static bool is_right_with_earlier_functions(const struct program *p, int i)
{
    if (p->ops[i].kind != OPEN)
        return false;
    history[i].begun_before |= history[i].begun_after | new_functions(board->begun);
    repeat_ops(p, i);
    return !judge_postponed();
}

/* Compares what the checker wrote with the graph after op number `i`. SILENT: the run goes on. */
static enum end compare(const struct program *p, int i, off_t before, int postponed,
                        struct outcome *o)
{
    const struct op *op = &p->ops[i];
    const char *reported = report_since(op->process, before);
    bool owed = judge_postponed();
    bool query = op->kind == QUERY_STREAM || op->kind == QUERY_EVENT;
    if (o->hazards && early_report)
        return UNSURE;
    if (o->hazards && !reported)
        return MISSED;
    if (o->hazards)
        return is_named(reported, o->hazards) || g.postponed_count > postponed ? REPORTED
                                                                               : OTHER_KIND;
    if (owed && !reported && !early_report) {
        /* The checker may need the work to end before it judges what was postponed. */
        ask(0, FINISH, o);
        reported = report_since(0, before);
    }
    if (owed && (reported || early_report))
        return REPORTED;
    if (owed)
        return is_right_with_earlier_functions(p, i) ? UNSURE : MISSED;
    if (reported && !may_be_incorrect_later())
        return FALSELY;
    early_report |= reported != NULL;
    /* A use that was reported early, and is undecided, may have met memory that was gone. */
    if (o->answer && !(query && o->answer == cudaErrorNotReady))
        return early_report ? UNSURE : REFUSED;
    return SILENT;
}

/* Returns whether the op can fail on a full device. Then it has queued nothing, and is not in the
 * graph. */
static bool needs_memory(const struct op *op)
{
    return op->kind == ALLOCATE || op->kind == ALLOCATE_DEVICE || op->kind == LAUNCH;
}

/* Makes the call. Returns false if the run has ended. */
static bool run_op(const struct program *p, int i, struct outcome *o)
{
    static struct state before_op;
    const struct op *op = &p->ops[i];
    o->stopped = i;
    history[i].begun_before = new_functions(board->begun);
    begin_functions(history[i].begun_before);
    learn_of_functions();
    history[i].was_left_out = !is_possible(p, op) || is_excused(p, op);
    if (history[i].was_left_out) {
        o->left_out++;
        return true;
    }
    o->performed++;
    int postponed = g.postponed_count;
    bool both = waits_and_queues(p, op);
    before_op = g;
    advance(p, op);
    o->hazards = g.hazards;
    off_t before = said_by(op->process);
    if (!ask(op->process, i, o))
        return false;
    if (p->is_full && o->answer == cudaErrorMemoryAllocation && needs_memory(op)) {
        g = before_op;
        history[i].was_left_out = true;
        o->hazards = 0;
        o->answer = cudaSuccess;
        o->refused++;
    }
    history[i].has_succeeded = (op->kind == QUERY_STREAM || op->kind == QUERY_EVENT) && !o->answer;
    if (history[i].has_succeeded)
        query_succeeded(op);
    uint64_t functions = new_functions(board->begun_at_end);
    if (functions && both) {
        o->end = UNSURE;
        return false;
    }
    if (functions && op->kind < TRIM) {
        model_again(p, i, functions);
        o->hazards = g.hazards;
    } else {
        history[i].begun_after = functions;
        begin_functions(functions);
    }
    o->end = compare(p, i, before, postponed, o);
    return !o->end;
}

/* The graph's view of FINISH: the host waits for one device after the other. What it has
 * acquired from the first comes before what a host function of the second still holds up. */
static bool judge_end(void)
{
    bool hazard = false;
    for (int d = 0; d < DEVICES; d++) {
        struct set all = all_of_device(0, d);
        for (int f = 0; f < g.function_count; f++)
            g.functions[f].begun |= has(&all, g.functions[f].node);
        hazard |= judge_postponed();
        unite(&g.host[0], &all);
    }
    return hazard;
}

/* Ends the work of all processes. SILENT: nothing was reported, and nothing had to be. */
static enum end end_work(struct outcome *o)
{
    for (int gate = 0; gate < GATES; gate++)
        advance(NULL, &(struct op){.kind = OPEN, .gate = gate});
    bool may_be = may_be_incorrect_later(), has_report = false;
    cudaError_t refused = cudaSuccess;
    for (int i = 0; i < g.processes && !has_report && !refused; i++) {
        if (!ask(i, FINISH, o))
            return o->end;
        has_report = report_since(i, 0);
        refused = o->answer;
    }
    if (judge_end())
        return has_report ? REPORTED : MISSED;
    for (int i = 0; has_report && may_be && i < g.postponed_count; i++)
        if (g.postponed[i].by_function)
            return UNSURE;
    return has_report ? FALSELY : refused ? REFUSED : SILENT;
}

static bool leaks(int process)
{
    for (int b = 0; b < ALL_ALLOCATIONS; b++)
        if (has_pointer(process, b) && g.allocations[b].memory != REGISTERED)
            return true;
    return false;
}

/* Ends all processes, whose work is over, so only what the checker says at exit remains. */
static void end_all(struct outcome *o)
{
    for (int i = 0; i < g.processes && o->end <= REPORTED; i++) {
        hazard_set leak = leaks(i) ? ONLY(LEAK) : 0;
        command(i, EXIT);
        enum end end = judge_exit(i, leak);
        o->process = i;
        o->hazards |= leak;
        o->end = end ? end : o->end;
    }
}

/* Runs the program up to the first call that is incorrect or reported or, `freely`, all processes
 * at once, each as fast as it can. */
static struct outcome run_once(const struct program *p, const char *schedule, bool freely)
{
    struct outcome o = {.end = SILENT};
    bool goes_on = true;
    memset(history, 0, sizeof history);
    early_report = false;
    model_start(p->processes, freely);
    model_addresses = board->addresses[0][0];
    start(p, schedule);
    for (int i = 0; goes_on && i < p->processes; i++)
        goes_on = answer_of(i, &o);
    for (int i = 0; goes_on && i < p->count; i++)
        if (freely)
            advance(p, &p->ops[i]);
        else
            goes_on = run_op(p, i, &o);
    for (int i = 0; goes_on && freely && i < p->processes; i++)
        command(i, RUN_ALL);
    for (int i = 0; goes_on && freely && i < p->processes; i++) {
        goes_on = answer_of(i, &o);
        if (goes_on)
            o.end = judge(report_since(i, 0), 0, o.answer);
        goes_on &= !o.end;
    }
    if (goes_on) {
        o.stopped = p->count;
        o.hazards = 0;
        o.end = end_work(&o);
        if (!o.end)
            end_all(&o);
    }
    stop(p);
    model_addresses = NULL;
    return o;
}

/* ---- listing ---- */

static char *name_of(int allocation)
{
    static char names[4][16];
    static int next;
    char *name = names[next++ % 4];
    if (allocation == ORDINARY)
        strcpy(name, "ordinary");
    else if (allocation >= ALLOCATIONS)
        snprintf(name, sizeof names[0], "g%d", allocation - ALLOCATIONS);
    else
        snprintf(name, sizeof names[0], "%c", 'a' + allocation);
    return name;
}

/* Prints the words with what the op has. */
static void list(const char *words, const struct op *op, int branch)
{
    const char *stream = slots[op->stream].name;
    const char *imported = op->imported ? "imported " : "";
    size_t bytes = op->to - op->from;
    for (const char *c = words; *c; c++) {
        if (*c != '%') {
            putchar(*c);
            continue;
        }
        switch (*++c) {
        case 'a': printf("%s%s", imported, name_of(op->allocation)); break;
        case 'r':
            printf("%s%s + %zu, %zu", imported, name_of(op->allocation), op->from, bytes);
            break;
        case '@': printf("%zu", op->from); break;
        case 'c':
            printf("%s%s + %zu, %s%s + %zu, %zu", imported, name_of(op->allocation), op->from,
                   op->source_imported ? "imported " : "", name_of(op->source), op->source_from,
                   bytes);
            break;
        case 'n': printf("%zu", op->to); break;
        case 's': printf("%s", stream); break;
        case 'p': printf("%s", pools[op->pool].name); break;
        case 'e':
            printf("%sevent %d.%d", is_shared(op->event) ? "shared " : "", op->device, op->event);
            break;
        case 'f': printf("flag %d", op->event); break;
        case 'g': printf("gate %d", op->gate); break;
        case 'G': printf("graph %d", op->plan); break;
        case 'P': printf("process %d", op->other); break;
        case 'd': printf("%d", op->device); break;
        case 'D': printf("%d", slots[op->stream].device); break;
        case 'o': printf("%d", branch); break;
        }
    }
    puts("");
}

#define WORDS(name, words) words,

static void list_plan(const struct program *p, int number)
{
    static const char *const words[] = {TASKS(WORDS)};
    const struct plan *plan = &p->plans[number];
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        printf("         device %d, branch %d: ", plan->device, t->branch);
        list(words[t->kind],
             &(struct op){.allocation = t->allocation,
                          .from = t->from,
                          .to = t->kind == TASK_ALLOCATE ? plan->bytes : t->to,
                          .source = t->source,
                          .source_from = t->source_from,
                          .event = flag_of_task(number, i),
                          .gate = t->gate},
             t->other);
    }
}

static void list_op(const struct program *p, const struct op *op)
{
    static const char *const words[] = {KINDS(WORDS)};
    if (p->processes > 1)
        printf("%*sprocess %d: ", 4 * op->process, "", op->process);
    list(words[op->kind], op, 0);
    if (op->kind == MAKE_GRAPH)
        list_plan(p, op->plan);
}

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
            struct outcome o = run_once(&smaller, schedule, false);
            if (o.end == found->end && o.hazards == found->hazards
                && o.stopped == found->stopped - (p->count - smaller.count)) {
                *p = smaller;
                *found = o;
            }
            i = from - 1 < last_to_leave_out(p, found) ? from - 1 : last_to_leave_out(p, found);
        }
    *found = run_once(p, schedule, false);
}

/* For each kind of end: the number of runs; and the number of mismatches whose programs are
 * listed. */
static unsigned total[ENDS], reported[HAZARDS], mismatches, listed, performed, left_out, refused;

/* Counts a run. For a mismatch, prints how it ran, and lists its program. */
static void account(const struct program *p, struct outcome o, const char *schedule, unsigned seed,
                    bool freely)
{
    static struct program smaller;
    char text[2048];
    total[o.end]++;
    performed += (unsigned)o.performed;
    left_out += (unsigned)o.left_out;
    refused += (unsigned)o.refused;
    for (int k = 0; k < HAZARDS; k++)
        reported[k] += o.end == REPORTED && o.hazards >> k & 1;
    if (o.end <= UNSURE)
        return;
    printf("seed %u, SIM_SCHEDULE=%s%s%s: %s", seed, schedule, freely ? ", freely" : "",
           p->is_full ? ", on full devices" : "", ends[o.end]);
    if (o.end == REFUSED)
        printf(" (%s)", cudaGetErrorName(o.answer));
    for (int k = 0; k < HAZARDS; k++)
        if (o.hazards >> k & 1)
            printf(", %s", hazard_names[k]);
    puts("");
    if (mismatches++ >= listed)
        return;
    smaller = *p;
    if (!freely && o.end != HANGS)
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

int main(int argc, char **argv)
{
    static struct program program;
    bool has_several = argc > 1 && !strcmp(argv[1], "processes");
    unsigned first = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    unsigned count = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1000;
    unsigned runs = 0, free_runs = 0;
    listed = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 10;
    if (argc < 2 || (!has_several && strcmp(argv[1], "streams") != 0)) {
        fprintf(stderr, "Call it as: random streams|processes [FIRST [COUNT [LISTED]]]\n");
        return 2;
    }
    for (int i = 0; i < PROCESSES; i++) {
        stderr_files[i] = memfd_create("stderr", 0);
        fcntl(stderr_files[i], F_SETFL, O_APPEND);
    }
    signal(SIGPIPE, SIG_IGN);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned seed = first; seed < first + count; seed++) {
        char random[32];
        snprintf(random, sizeof random, "random:%u", seed);
        const char *const schedules[] = {random, "measured", "instant", "late"};
        make_program(&program, seed, has_several);
        for (unsigned k = 0; k < 4; k++) {
            if (k != seed % 4 && !has_several)
                continue;
            runs++;
            account(&program, run_once(&program, schedules[k], false), schedules[k], seed, false);
            if (!program.by_messages || k != seed % 4)
                continue;
            free_runs++;
            account(&program, run_once(&program, schedules[k], true), schedules[k], seed, true);
        }
    }
    printf("%u programs, run %u times, of %u calls (%u left out, %u without memory), and %u times "
           "freely: %u silent and %u reported, as the graph says; %u undecided; %u others\n",
           count, runs, performed, left_out, refused, free_runs, total[SILENT], total[REPORTED],
           total[UNSURE], mismatches);
    for (int k = 0; k < HAZARDS; k++)
        if (reported[k])
            printf("%5u %s\n", reported[k], hazard_names[k]);
    /* Some of many programs are correct and some are not; otherwise this compares nothing. */
    return mismatches || (count >= 100 && (!total[SILENT] || !total[REPORTED]));
}
