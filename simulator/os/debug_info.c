/* From a return address to a line of the program's source, by the tool that comes with the
 * compiler's own package: addr2line. It takes milliseconds, for one location as for several. */
#define _GNU_SOURCE
#include "os/os.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/seal.h"

/* Returns the path of a program in the folders of `search`, or NULL. */
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

/* Runs addr2line for some locations of one file: a line of the answer for each. Returns false when
 * it is not there. */
static bool run_addr2line(const char *file, const uintptr_t *offsets, size_t n, char *answer,
                          size_t size)
{
    int ends[2];
    char where[OS_SOURCE_LOC_MAX][32], path[512];
    const char *search = getenv("PATH"), *program;
    search = search ? search : "/usr/bin:/bin";
    snprintf(path, sizeof path, "PATH=%s", search);
    program = find_program("addr2line", search);
    char *arguments[OS_SOURCE_LOC_MAX + 4] = {"addr2line", "-e", (char *)file},
                                        *environment[] = {path, NULL};
    for (size_t i = 0; i < n; i++) {
        snprintf(where[i], sizeof where[i], "%#lx", (unsigned long)offsets[i]);
        arguments[3 + i] = where[i];
    }
    if (!program || pipe2(ends, O_CLOEXEC))
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    /* What it complains of goes nowhere: a graded run opens nothing for writing. */
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_RDONLY, 0);
    pid_t child;
    int failed = posix_spawn(&child, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; !failed && length < size - 1
                      && (got = read(ends[0], answer + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    close(ends[0]);
    answer[length] = '\0';
    if (!failed)
        waitpid(child, NULL, 0);
    return !failed;
}

/* Writes the file and the line so that an editor opens it from here: the path below the current
 * directory, the relative path that the compiler was given (-fdebug-prefix-map), or else the last
 * folder and the file. Returns false when the answer names no place. */
static bool shorten(char *line, char *text, size_t size)
{
    char *more = strstr(line, " (discriminator "), here[1024];
    if (more)
        *more = '\0';
    if (!*line || *line == '?' || strstr(line, ":?") || !strcmp(line, ":0"))
        return false;
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    char *start = line, *slash = strrchr(line, '/');
    while (!strncmp(start, "./", 2))
        start += 2;
    if (length > 1 && !strncmp(line, here, length) && line[length] == '/')
        start = line + length + 1;
    else if (*line == '/') {
        *slash = '\0';
        char *folder = strrchr(line, '/');
        *slash = '/';
        if (folder)
            start = folder + 1;
    }
    snprintf(text, size, "%s", start);
    return true;
}

/* Keeps file and line of an answer that shorten has taken. */
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

/* Returns the path of the file that dladdr has found. The program's name as it was called may not
 * lead there from this folder. */
static const char *path_of(const Dl_info *found, char *self, size_t size)
{
    if (!access(found->dli_fname, R_OK))
        return found->dli_fname;
    ssize_t length = readlink("/proc/self/exe", self, size - 1);
    self[length > 0 ? length : 0] = '\0';
    return self;
}

/* Writes the text of some locations in one file, which dladdr has found. */
static void look_up(const Dl_info *found, struct os_source_loc **locs, size_t n)
{
    const ElfW(Ehdr) *header = found->dli_fbase;
    uintptr_t base = header->e_type == ET_EXEC ? 0 : (uintptr_t)header, offsets[OS_SOURCE_LOC_MAX];
    for (size_t i = 0; i < n; i++)
        offsets[i] = (uintptr_t)locs[i]->site - 1 - base;
    char self[1024], answer[OS_SOURCE_LOC_MAX * 1024];
    const char *last = strrchr(found->dli_fname, '/'), *from = path_of(found, self, sizeof self);
    if (!run_addr2line(from, offsets, n, answer, sizeof answer))
        answer[0] = '\0';
    char *next = answer;
    for (size_t i = 0; i < n; i++) {
        char *line = strsep(&next, "\n"), nothing[1] = "";
        if (shorten(line ? line : nothing, locs[i]->text, sizeof locs[i]->text))
            keep_place(line, locs[i]);
        else
            snprintf(locs[i]->text, sizeof locs[i]->text,
                     "%.180s+%#lx (compile with -g to see the line)", last ? last + 1 : from,
                     (unsigned long)offsets[i]);
    }
}

void os_source_lines(struct os_source_loc **locs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct os_source_loc *together[OS_SOURCE_LOC_MAX];
        size_t same = 0;
        Dl_info first, other;
        if (locs[i]->text[0])
            continue;
        if (!locs[i]->site || !dladdr(locs[i]->site, &first) || !first.dli_fname) {
            snprintf(locs[i]->text, sizeof locs[i]->text, "an unknown place");
            continue;
        }
        for (size_t k = i; k < n; k++)
            if (!locs[k]->text[0] && dladdr(locs[k]->site, &other)
                && other.dli_fbase == first.dli_fbase)
                together[same++] = locs[k];
        look_up(&first, together, same);
    }
}

/* Returns whether the file may be what the code at `site` was compiled from. */
static bool is_source_of(int file, void *site)
{
    Dl_info found;
    struct stat source, program;
    char self[1024];
    if (!dladdr(site, &found) || !found.dli_fname || fstat(file, &source)
        || stat(path_of(&found, self, sizeof self), &program) || !S_ISREG(source.st_mode))
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
    bool is_there = is_source_of(file, loc->site);
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
