/* Finds the source line of a return address with addr2line, which comes with the compiler. One run
 * of addr2line takes milliseconds, whether for one address or many. */
#define _GNU_SOURCE
#include "os/os.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/needs_lock.h"
#include "os/result.h"
#include "os/seal.h"

/* ---- sites with callers ---- */

/* The farthest that a caller's frame may begin above a frame (assumed: a function that only passes
 * a call on has a small frame). So nothing is read but the thread's stack. */
#define FRAME_MAX 4096
#define SITES_MAX 4096 /* Assumed: a program that is compiled without -O has fewer calls. */

/* Needs the lock. Invariant: each site is there once, less than SITE_PROBES after its hash. */
#define SITE_PROBES 8
static struct os_code sites[SITES_MAX + SITE_PROBES];

static bool is_in_table(const void *site)
{
    return (uintptr_t)site - (uintptr_t)sites < sizeof sites;
}

struct os_code os_code_of(void *site)
{
    NEEDS_LOCK();
    return is_in_table(site) ? *(struct os_code *)site : (struct os_code){.address = site};
}

static bool is_same(const struct os_code *a, const struct os_code *b)
{
    return a->address == b->address && !memcmp(a->callers, b->callers, sizeof a->callers);
}

/* Returns the site's entry in the table, or its address if there is no room. */
static void *table_entry(const struct os_code *site)
{
    uintptr_t hash = (uintptr_t)site->address;
    for (size_t i = 0; i < OS_CALLERS && site->callers[i]; i++)
        hash = hash * 31 + (uintptr_t)site->callers[i];
    struct os_code *first = &sites[(hash ^ hash >> 12) % SITES_MAX];
    for (struct os_code *s = first; s < first + SITE_PROBES; s++) {
        if (!s->address)
            *s = *site;
        if (is_same(s, site))
            return s;
    }
    return site->address;
}

/* Reads of supposed frames may hit anything on the stack, which sanitizers would report. */
#define READS_FRAMES __attribute__((no_sanitize("address", "thread")))

/* A frame begins with the address of its caller's frame and the return address. Returns the
 * caller's frame, or NULL if it cannot be one. */
READS_FRAMES static inline void *const *caller_of(void *const *frame)
{
    uintptr_t above = (uintptr_t)*frame - (uintptr_t)frame;
    return above - 16 < FRAME_MAX && above % 16 == 0 ? *frame : NULL;
}

READS_FRAMES static __attribute__((noinline)) void *site_with_callers(void *address,
                                                                      void *const *frame)
{
    struct os_code site = {.address = address};
    for (size_t i = 0; i < OS_CALLERS && (frame = caller_of(frame)); i++)
        site.callers[i] = frame[1];
    return table_entry(&site);
}

READS_FRAMES void *os_call_site(void *address, void *const *frame)
{
    return caller_of(frame) ? site_with_callers(address, frame) : address;
}

bool os_call_sites_same_address(void *a, void *b)
{
    return os_code_of(a).address == os_code_of(b).address;
}

bool os_site_ignores_result(void *site)
{
    return site && os_code_ignores_result(os_code_of(site).address);
}

/* ---- addr2line ---- */

/* Searches the folders of `search` for a program. Returns its path, or NULL. */
static const char *find_program(const char *name, const char *search)
{
    for (const char *from = search; *from; from += *from == ':') {
        size_t length = strcspn(from, ":");
        const char *path = seal_path("%.*s/%s", (int)length, from, name);
        if (length && !access(path, X_OK))
            return path;
        from += length;
    }
    return NULL;
}

/* For each location: the call's own address, and those of its callers. */
#define ADDRESSES_MAX (OS_SOURCE_LOC_MAX * (1 + OS_CALLERS))

/* Runs addr2line for `n` addresses of one file. For each, the answer has a line with the address,
 * followed by two lines, name and place, for each function there: first the inlined ones, from the
 * innermost, and then the function that contains them. Returns false if addr2line is missing. Needs
 * the lock. */
static bool run_addr2line(const char *file, const uintptr_t *offsets, size_t n, char *answer,
                          size_t size)
{
    int ends[2];
    /* Static, because a thread of the program may have a small stack. */
    static char where[ADDRESSES_MAX][32], *arguments[ADDRESSES_MAX + 5];
    char path[512];
    const char *search = getenv("PATH"), *program;
    search = search ? search : "/usr/bin:/bin";
    snprintf(path, sizeof path, "PATH=%s", search);
    program = find_program("addr2line", search);
    char *const begin[] = {"addr2line", "-afi", "-e", (char *)file}, *environment[] = {path, NULL};
    memcpy(arguments, begin, sizeof begin);
    for (size_t i = 0; i < n; i++) {
        snprintf(where[i], sizeof where[i], "%#lx", (unsigned long)offsets[i]);
        arguments[4 + i] = where[i];
    }
    arguments[4 + n] = NULL;
    if (!program || pipe2(ends, O_CLOEXEC))
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    /* Discard its complaints. Read-only, because a graded run opens nothing for writing. */
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_RDONLY, 0);
    pid_t child;
    int failed = posix_spawn(&child, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t length = 0;
    while (!failed && length < size - 1) {
        ssize_t got = read(ends[0], answer + length, size - 1 - length);
        if (got > 0)
            length += (size_t)got;
        else if (got == 0 || errno != EINTR) /* retry after a signal of the program */
            break;
    }
    close(ends[0]);
    answer[length] = '\0';
    while (!failed && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return !failed;
}

/* ---- frames that only pass a call on ---- */

/* Returns whether the place is in a header of the system, C++, CUDA, or the workbook. */
static bool is_in_header(const char *place)
{
    static const char *const folders[] = {"/usr/include/", "/include/c++/", "/lib/gcc/"};
    static const char *const files[] = {"cuda_runtime.h:", "user_kernels.h:"};
    const char *slash = strrchr(place, '/'), *name = slash ? slash + 1 : place;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strstr(place, folders[i]))
            return true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!strncmp(name, files[i], strlen(files[i])))
            return true;
    return false;
}

/* Returns whether the file, with or without a line, is a header of the program or a library. */
static bool is_header(const char *place)
{
    static const char *const endings[] = {"h",   "hh",  "hpp", "hxx", "h++",
                                          "cuh", "inl", "ipp", "tpp", "tcc"};
    const char *slash = strrchr(place, '/'), *name = slash ? slash + 1 : place;
    const char *dot = strrchr(name, '.');
    if (!dot)
        return true; /* <vector> */
    size_t length = strcspn(dot + 1, ":");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strlen(endings[i]) == length && !strncmp(dot + 1, endings[i], length))
            return true;
    return false;
}

/* Returns whether the function is a template, or a member of a class or namespace. Several lines
 * may call one. */
static bool is_helper(const char *function)
{
    char *name = NULL;
    unsigned long length = strncmp(function, "_Z", 2) ? 0 : strtoul(function + 2, &name, 10);
    return !strncmp(function, "_ZN", 3) || (length && length < strlen(name) && name[length] == 'I');
}

/* Returns whether the name is `prefix` and `call`. In a C++ symbol the length precedes the name. */
static bool is_named(const char *function, const char *prefix, const char *call)
{
    char name[128], in_symbol[152];
    snprintf(name, sizeof name, "%s%s", prefix, call);
    snprintf(in_symbol, sizeof in_symbol, "%zu%s", strlen(name), name);
    return !strcmp(function, name) || (!strncmp(function, "_Z", 2) && strstr(function, in_symbol));
}

static bool passes_on(const char *function, const char *place, const char *call)
{
    return is_in_header(place) || is_named(function, "", call)
        || is_named(function, "launch_", call);
}

/* Leaves a path as the compiler was given it (-fdebug-prefix-map), but writes a file below the
 * current directory without that directory, and a header elsewhere or a missing file as its last
 * folder and name. */
void os_source_path(const char *path, char *text, size_t size)
{
    char here[1024];
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    const char *start = path;
    while (!strncmp(start, "./", 2))
        start += 2;
    if (length > 1 && !strncmp(path, here, length) && path[length] == '/')
        start = path + length + 1;
    else if (*path == '/' && (is_header(path) || access(path, R_OK))) {
        const char *at = strrchr(path, '/');
        while (at > path && at[-1] != '/')
            at--;
        start = at > path + 1 ? at : path;
    }
    snprintf(text, size, "%s", start);
}

/* Writes the file and the line so that an editor opens them from the current directory. Returns
 * false if the answer names no place. */
static bool shorten(char *line, char *text, size_t size)
{
    char *more = strstr(line, " (discriminator "), *colon;
    if (more)
        *more = '\0';
    /* nvcc deletes its own intermediate file. */
    if (!*line || *line == '?' || strstr(line, ".cudafe1.") || strstr(line, ":?")
        || !strcmp(line, ":0"))
        return false;
    colon = strrchr(line, ':');
    if (colon)
        *colon = '\0';
    os_source_path(line, text, size);
    size_t length = strlen(text);
    if (colon) {
        *colon = ':';
        snprintf(text + length, size - length, "%s", colon);
    }
    return true;
}

/* Stores the file and line from an answer that shorten accepted. */
static void keep_place(const char *line, struct os_source_loc *loc)
{
    const char *colon = strrchr(line, ':');
    size_t length = colon ? (size_t)(colon - line) : 0;
    if (!length || length >= sizeof loc->file)
        return;
    memcpy(loc->file, line, length);
    loc->file[length] = '\0';
    loc->line = (unsigned)strtoul(colon + 1, NULL, 10);
}

/* A file with code, and the address at which it begins in its process. */
struct module {
    uintptr_t base;
    char path[1024];
};

/* Finds the module of an address in another process. Returns false if that is not known. */
static bool find_module_of(int process, uintptr_t address, struct module *m)
{
    char name[64], line[1200], path[1024];
    unsigned long from, to, offset;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%d/maps", process);
    FILE *maps = fopen(name, "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %1023[^\n]", &from, &to, &offset, path) != 4)
            continue;
        if (!offset)
            m->base = from;
        found = address >= from && address < to;
    }
    if (maps)
        fclose(maps);
    snprintf(m->path, sizeof m->path, "%s", found ? path : "");
    return found;
}

/* `process` 0: this one. The name under which the program was started may not be valid from the
 * current folder. */
static bool find_module(int process, const void *address, struct module *m)
{
    Dl_info found;
    if (process)
        return find_module_of(process, (uintptr_t)address, m);
    if (!dladdr(address, &found) || !found.dli_fname)
        return false;
    m->base = (uintptr_t)found.dli_fbase;
    snprintf(m->path, sizeof m->path, "%s", found.dli_fname);
    if (!access(m->path, R_OK))
        return true;
    ssize_t length = readlink("/proc/self/exe", m->path, sizeof m->path - 1);
    m->path[length > 0 ? length : 0] = '\0';
    return true;
}

/* Returns what is to be subtracted from the addresses of a module's code. */
static uintptr_t start_of(const struct module *m)
{
    ElfW(Ehdr) header = {.e_type = ET_DYN};
    int file = open(m->path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, &header, sizeof header) < 0)
        header.e_type = ET_DYN;
    if (file >= 0)
        close(file);
    return header.e_type == ET_EXEC ? 0 : m->base;
}

static struct os_code code_of(const struct os_source_loc *loc)
{
    return loc->process ? *(const struct os_code *)loc->site : os_code_of(loc->site);
}

static bool is_address(const char *line) { return line && !strncmp(line, "0x", 2); }

/* What is looked for among the frames of a location, the innermost first. */
enum wanted {
    /* A frame that does more than pass the call on. Until then the location has the innermost
     * one. */
    WANTED_PLACE,
    /* A frame outside of the headers of the program and of libraries, because the location is in a
     * header, in a template, or in a member of a class. */
    WANTED_CALLER,
    WANTED_NOTHING
};

static enum wanted take_place(const char *function, const char *place, const char *text,
                              struct os_source_loc *loc)
{
    bool passes = passes_on(function, place, loc->call);
    if (passes && loc->text[0])
        return WANTED_PLACE;
    snprintf(loc->text, sizeof loc->text, "%s", text);
    keep_place(place, loc);
    if (passes)
        return WANTED_PLACE;
    return is_header(place) || is_helper(function) ? WANTED_CALLER : WANTED_NOTHING;
}

/* Takes the frames of one address from addr2line's answer. Returns which frame is still wanted. */
static enum wanted take_frames(char **next, struct os_source_loc *loc, enum wanted wanted)
{
    if (is_address(*next))
        strsep(next, "\n");
    while (*next && **next && !is_address(*next)) {
        char *function = strsep(next, "\n"), *place = strsep(next, "\n"), text[256];
        if (wanted == WANTED_NOTHING || !place || !shorten(place, text, sizeof text))
            continue;
        if (wanted == WANTED_PLACE) {
            wanted = take_place(function, place, text, loc);
        } else if (!is_header(place)) {
            size_t length = strlen(loc->text);
            snprintf(loc->text + length, sizeof loc->text - length, ", called from %s", text);
            loc->is_called_from = true;
            wanted = WANTED_NOTHING;
        }
    }
    return wanted;
}

/* Stores the offsets of the addresses of a location that are in the module. Returns their number.
 * The call's own address is always among them. */
static size_t offsets_of(const struct os_source_loc *loc, const struct module *m, uintptr_t start,
                         uintptr_t *offsets)
{
    struct os_code code = code_of(loc);
    struct module other;
    size_t n = 0;
    offsets[n++] = (uintptr_t)code.address - 1 - start;
    for (size_t i = 0; i < OS_CALLERS && code.callers[i]; i++) {
        if (!find_module(loc->process, code.callers[i], &other) || other.base != m->base)
            break;
        offsets[n++] = (uintptr_t)code.callers[i] - 1 - start;
    }
    return n;
}

/* Writes the text of locations in one module. Needs the lock. */
static void look_up(const struct module *m, struct os_source_loc **locs, size_t n)
{
    static char answer[1 << 20];
    static uintptr_t offsets[ADDRESSES_MAX];
    const uintptr_t start = start_of(m);
    size_t counts[OS_SOURCE_LOC_MAX], count = 0;
    for (size_t i = 0; i < n; i++) {
        counts[i] = offsets_of(locs[i], m, start, offsets + count);
        count += counts[i];
    }
    const char *last = strrchr(m->path, '/');
    if (!run_addr2line(m->path, offsets, count, answer, sizeof answer))
        answer[0] = '\0';
    char *next = answer;
    for (size_t i = 0; i < n; i++) {
        enum wanted wanted = take_frames(&next, locs[i], WANTED_PLACE);
        locs[i]->depends_on_callers = locs[i]->text[0] && wanted != WANTED_NOTHING;
        for (size_t k = 1; k < counts[i]; k++)
            wanted = take_frames(&next, locs[i], wanted);
        if (!locs[i]->text[0])
            snprintf(locs[i]->text, sizeof locs[i]->text, "%.180s+%#lx", last ? last + 1 : m->path,
                     (unsigned long)((uintptr_t)code_of(locs[i]).address - 1 - start));
    }
}

static bool find_module_of_loc(const struct os_source_loc *loc, struct module *m)
{
    return loc->site && find_module(loc->process, code_of(loc).address, m);
}

void os_source_lines(struct os_source_loc **locs, size_t n)
{
    NEEDS_LOCK();
    /* Static, because a thread of the program may have a small stack. */
    static struct module first, other;
    for (size_t i = 0; i < n; i++) {
        struct os_source_loc *together[OS_SOURCE_LOC_MAX];
        size_t same = 0;
        if (locs[i]->text[0])
            continue;
        if (!find_module_of_loc(locs[i], &first)) {
            snprintf(locs[i]->text, sizeof locs[i]->text, "an unknown place");
            locs[i]->depends_on_callers = false;
            continue;
        }
        for (size_t k = i; k < n; k++)
            if (!locs[k]->text[0] && locs[k]->process == locs[i]->process
                && find_module_of_loc(locs[k], &other) && other.base == first.base)
                together[same++] = locs[k];
        look_up(&first, together, same);
    }
}

/* Returns whether the code at `site` may have been compiled from this version of the file. */
static bool is_source_of(int file, const void *site)
{
    struct module m;
    struct stat source, program;
    if (!find_module(0, site, &m) || fstat(file, &source) || stat(m.path, &program)
        || !S_ISREG(source.st_mode))
        return false;
    const struct timespec *a = &source.st_mtim, *b = &program.st_mtim;
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec <= b->tv_nsec);
}

bool os_source_read(const struct os_source_loc *loc, char *source, size_t size)
{
    char piece[4096];
    unsigned line = 1;
    size_t used = 0;
    int file = loc->file[0] ? open(loc->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (file < 0)
        return false;
    bool is_there = is_source_of(file, os_code_of(loc->site).address);
    for (ssize_t got; is_there && used < size - 1 && (got = read(file, piece, sizeof piece)) > 0;)
        for (ssize_t i = 0; i < got && used < size - 1; i++) {
            if (line >= loc->line)
                source[used++] = piece[i];
            line += piece[i] == '\n';
        }
    close(file);
    source[used] = '\0';
    return used;
}
