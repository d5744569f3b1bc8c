/* Reads the SIM_ variables, with one message for each way to get a value wrong. */
#include "base/settings.h"

#include <driver_types.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "os/seal.h"

struct settings settings;

/* Reads a number, without spaces or a sign. Returns what follows it, or NULL if there is none. */
static const char *read_digits(const char *text, unsigned long long *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno || *text < '0' || *text > '9' ? NULL : end;
}

/* Returns which of the words it is, or their number. Unset (NULL) counts as the first. */
static unsigned read_word(const char *text, const char *const *words, unsigned count)
{
    unsigned n = 0;
    while (text && n < count && strcmp(text, words[n]))
        n++;
    return n;
}

/* Reads a whole number between low and high. */
static uint64_t read_number(const char *name, uint64_t fallback, uint64_t low, uint64_t high,
                            const char *example)
{
    const char *text = os_environment(name);
    unsigned long long value;
    if (!text)
        return fallback;
    const char *end = read_digits(text, &value);
    if (!end || *end || value < low || value > high)
        os_fatal("%s is \"%s\"; expected a whole number from %llu to %llu, for example %s=%s.",
                 name, text, (unsigned long long)low, (unsigned long long)high, name, example);
    return value;
}

/* Reads a number of bytes, with a suffix K, M, G, or T for powers of 1024. */
static size_t read_bytes(const char *name, size_t fallback, size_t low, size_t high,
                         const char *example)
{
    static const char units[] = "KMGT";
    const char *text = os_environment(name);
    unsigned long long value;
    unsigned shift = 0;
    if (!text)
        return fallback;
    const char *end = read_digits(text, &value);
    if (end && *end && strchr(units, *end))
        shift = 10 * (unsigned)(strchr(units, *end++) - units + 1);
    if (!end || *end || value > (UINT64_MAX >> shift) || value << shift < low
        || value << shift > high)
        os_fatal("%s is \"%s\"; expected bytes, or a number with K, M, G or T, from %zu to %zu "
                 "bytes, for example %s=%s.",
                 name, text, low, high, name, example);
    return (size_t)(value << shift);
}

static bool read_yes_or_no(const char *name, bool fallback, const char *no, const char *yes)
{
    const char *text = os_environment(name);
    const unsigned n = read_word(text, (const char *const[]){no, yes}, 2);
    if (n == 2)
        os_fatal("%s is \"%s\"; expected %s or %s.", name, text, yes, no);
    return text ? n : fallback;
}

static void read_kernels(void)
{
    static const char *const words[] = {"run", "run:allow", "refuse", "refuse:allow"};
    const char *text = os_environment("SIM_KERNELS");
    const unsigned n = read_word(text, words, 4);
    if (n == 4)
        os_fatal("SIM_KERNELS is \"%s\"; expected run, refuse, run:allow or refuse:allow: the "
                 "kernels that nvcc built run, or none does. Where one does not, or a fault ends "
                 "it, a program that ends with status 0 ends with 4, or with :allow "
                 "with its own status.",
                 text);
    settings.refuse_kernels = n > 1;
    settings.any_status = n % 2;
}

/* SIM_CHECK: words, separated by commas. */
static void read_check(void)
{
    const char *text = os_environment("SIM_CHECK"), *word = text;
    const struct {
        const char *name;
        bool *field, value;
    } words[] = {{"on", &settings.check, true},      {"off", &settings.check, false},
                 {"leaks", &settings.leaks, true},   {"strict", &settings.strict, true},
                 {"no-init", &settings.init, false}, {"no-race", &settings.race, false},
                 {"no-sync", &settings.sync, false}};
    settings.check = settings.init = settings.race = settings.sync = true;
    while (word) {
        const size_t length = strcspn(word, ",");
        bool known = false;
        for (size_t n = 0; n < sizeof words / sizeof *words; n++)
            if (strlen(words[n].name) == length && !strncmp(word, words[n].name, length)) {
                *words[n].field = words[n].value;
                known = true;
            }
        if (!known || (!settings.check && strcmp(text, "off")))
            os_fatal(
                "SIM_CHECK is \"%s\"; expected on, off, or some of these words, with commas: "
                "leaks (what is alive at the program's end is reported), strict (asynchronous "
                "copies of ordinary memory order nothing), and, to leave a check out, no-init, "
                "no-race, no-sync. For example SIM_CHECK=leaks,no-race.",
                text);
        word = word[length] ? word + length + 1 : NULL;
    }
}

static void read_schedule(void)
{
    static const char *const words[] = {"measured", "instant", "late"};
    const char *text = os_environment("SIM_SCHEDULE");
    unsigned long long seed;
    settings.schedule = (enum schedule)read_word(text, words, SCHEDULE_RANDOM);
    if (settings.schedule != SCHEDULE_RANDOM)
        return;
    const char *end = strncmp(text, "random:", 7) ? NULL : read_digits(text + 7, &seed);
    if (end && !*end) {
        settings.seed = seed;
        return;
    }
    os_fatal("SIM_SCHEDULE is \"%s\"; expected measured, instant, late or random:SEED with a whole "
             "number as the seed, for example SIM_SCHEDULE=random:1.",
             text);
}

static void read_peers(void)
{
    static const char *const words[] = {"on", "off", "lower"};
    static const enum peers peers[] = {PEERS_ALL, PEERS_NONE, PEERS_LOWER, PEERS_ALL};
    const char *text = os_environment("SIM_PEERS");
    const unsigned n = read_word(text, words, 3);
    settings.peers = peers[n];
    if (n == 3)
        os_fatal("SIM_PEERS is \"%s\"; expected on, off or lower: each device reaches the memory "
                 "of all others, of none, or of those with lower numbers.",
                 text);
}

bool settings_reaches(int device, int other)
{
    return settings.peers == PEERS_ALL ? device != other
                                       : settings.peers == PEERS_LOWER && device > other;
}

static void read_fail(void)
{
    const char *text = os_environment("SIM_FAIL");
    if (!text)
        return;
    size_t length = strcspn(text, ":");
    unsigned long long at;
    const char *end = text[length] ? read_digits(text + length + 1, &at) : NULL;
    if (!end || *end || !length || length >= sizeof settings.fail_call || !at || at > 1000000000)
        os_fatal("SIM_FAIL is \"%s\"; expected CALL:N, for example SIM_FAIL=cudaMallocAsync:2 "
                 "makes the second cudaMallocAsync fail.",
                 text);
    memcpy(settings.fail_call, text, length);
    settings.fail_at = (unsigned)at;
}

/* The first ones change what is simulated. The last one is for graders, and no message names it. */
static const char *const names[] = {
    "SIM_CHECK",      "SIM_DEVICES", "SIM_EXPLAIN",      "SIM_FAIL",     "SIM_DRIVER_VERSION",
    "SIM_MEMORY",     "SIM_PEERS",   "SIM_HANDLE_TYPES", "SIM_SCHEDULE", "SIM_SEGMENT",
    "SIM_POOLS",      "SIM_KERNELS", "SIM_IDLE",         "SIM_ADD",      "SIM_FILL",
    "SIM_CHECK_LAWS", "SIM_COLUMNS", "SIM_JOURNAL",      "SIM_REPORT",   "SIM_SUMMARY",
    "SIM_THREADS",    "SIM_SEAL"};
#define NAMES     (sizeof names / sizeof *names)
#define SIMULATED 15

/* Ends the program at an unknown name, because a misspelled variable would silently do nothing. */
static void refuse_unknown(void)
{
    const char *entry;
    char expected[512] = "SIM_CHECK";
    for (size_t at = 0; (entry = os_environment_entry(at)); at++) {
        size_t length = strcspn(entry, "="), known = 0;
        if (strncmp(entry, "SIM_", 4))
            continue;
        for (size_t i = 0; i < NAMES; i++)
            known += strlen(names[i]) == length && !strncmp(entry, names[i], length);
        for (size_t i = 1; i < NAMES - 1 && !known; i++)
            strcat(strcat(expected, i == NAMES - 2 ? " or " : ", "), names[i]);
        if (!known)
            os_fatal("there is no variable %.*s; expected %s. To remove it: unset %.*s",
                     (int)length, entry, expected, (int)length, entry);
    }
}

/* Keeps the variables that are set. They have been read and checked, so they fit. */
static void keep_given(void)
{
    size_t used = 0;
    for (size_t i = 0; i < SIMULATED; i++) {
        const char *value = os_environment(names[i]);
        if (value)
            used += (size_t)snprintf(settings.given + used, sizeof settings.given - used, "%s%s=%s",
                                     used ? " " : "", names[i], value);
        if (used >= sizeof settings.given)
            os_fatal("%s is \"%s\", which is too long.", names[i], value);
    }
}

void settings_read(void)
{
    if (settings.devices)
        return;
    refuse_unknown();
    settings.devices = (int)read_number("SIM_DEVICES", 2, 1, MAX_DEVICES, "2");
    /* Measured (probe-answers.txt): totalGlobalMem of an H200. */
    settings.memory = read_bytes("SIM_MEMORY", 150109880320u, 64 * MiB, 1024 * GiB, "8G");
    settings.segment = read_number("SIM_SEGMENT", 32, 2, 1024, "64") * MiB;
    settings.driver_version = (int)read_number("SIM_DRIVER_VERSION", 13000, 5000, 99990, "12040");
    /* Documented: pools exist since CUDA 11.2. */
    settings.pools =
        read_yes_or_no("SIM_POOLS", true, "off", "on") && settings.driver_version >= 11020;
    /* Measured (one-gpu.txt): 1 (file descriptor) + 8 (fabric). */
    settings.handle_types = (int)read_number("SIM_HANDLE_TYPES", 9, 0, 15, "1");
    if (settings.driver_version < DRIVER_WITH_FABRIC_HANDLES)
        settings.handle_types &= ~cudaMemHandleTypeFabric;
    read_peers();
    read_check();
    settings.idle = read_yes_or_no("SIM_IDLE", true, "off", "on");
    settings.add = (int)read_number("SIM_ADD", 0, 0, 1000000000, "1");
    settings.fill = (int)read_number("SIM_FILL", NO_FILL, 0, 255, "171");
    settings.check_laws = read_yes_or_no("SIM_CHECK_LAWS", false, "0", "1");
    settings.threads = (unsigned)read_number(
        "SIM_THREADS", os_environment("SIM_SEAL") ? 1 : os_cores(), 1, MAX_THREADS, "2");
    read_kernels();
    settings.explain = read_yes_or_no("SIM_EXPLAIN", false, "0", "1");
    settings.summary = read_yes_or_no("SIM_SUMMARY", false, "off", "on");
    os_columns = read_number("SIM_COLUMNS", settings.summary ? 100 : 0, 0, 10000, "100");
    settings.journal = os_environment("SIM_JOURNAL");
    settings.report = os_environment("SIM_REPORT");
    read_schedule();
    read_fail();
    keep_given();
}

void settings_seal(void)
{
    const char *seal = os_environment("SIM_SEAL");
    if (!seal)
        return;
    settings_read();
    if (settings.report)
        os_fatal("SIM_REPORT is \"%s\"; a graded run has no file of reports. To remove it: unset "
                 "SIM_REPORT",
                 settings.report);
    seal_close(seal, &settings, sizeof settings, settings.given);
}
