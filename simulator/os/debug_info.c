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
#include <sys/wait.h>
#include <unistd.h>

/* Runs addr2line for some locations of one file: a line of the answer for each. Returns false when
 * it is not there. */
static bool run_addr2line(const char *file, const uintptr_t *offsets, size_t n, char *answer,
                          size_t size)
{
    int ends[2];
    char where[OS_SOURCE_LOC_MAX][32], path[512];
    const char *search = getenv("PATH");
    snprintf(path, sizeof path, "PATH=%s", search ? search : "/usr/bin:/bin");
    char *arguments[OS_SOURCE_LOC_MAX + 4] = {"addr2line", "-e", (char *)file},
                                        *environment[] = {path, NULL};
    for (size_t i = 0; i < n; i++) {
        snprintf(where[i], sizeof where[i], "%#lx", (unsigned long)offsets[i]);
        arguments[3 + i] = where[i];
    }
    if (pipe2(ends, O_CLOEXEC))
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int failed = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environment);
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
 * folder and the file. Returns false when the line of an answer says nothing. */
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

/* Writes the text of some locations in one file, which dladdr has found. */
static void look_up(const Dl_info *found, struct os_source_loc **locs, size_t n)
{
    const ElfW(Ehdr) *header = found->dli_fbase;
    uintptr_t base = header->e_type == ET_EXEC ? 0 : (uintptr_t)header, offsets[OS_SOURCE_LOC_MAX];
    for (size_t i = 0; i < n; i++)
        offsets[i] = (uintptr_t)locs[i]->site - 1 - base;
    const char *from = found->dli_fname, *last = strrchr(from, '/');
    char self[1024], answer[OS_SOURCE_LOC_MAX * 1024];
    /* The program's name as it was called may not lead there from this folder. */
    if (access(from, R_OK)) {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 0] = '\0';
        from = self;
    }
    if (!run_addr2line(from, offsets, n, answer, sizeof answer))
        answer[0] = '\0';
    char *next = answer;
    for (size_t i = 0; i < n; i++) {
        char *line = strsep(&next, "\n"), nothing[1] = "";
        if (!shorten(line ? line : nothing, locs[i]->text, sizeof locs[i]->text))
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
