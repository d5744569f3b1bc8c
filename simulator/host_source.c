/* From a return address to a line of the program's source, by the tool that comes with the compiler's own package: addr2line. */
#define _GNU_SOURCE
#include "host.h"

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

/* Runs addr2line; false when it is not there or knows nothing. */
static bool ask(const char *file, uintptr_t offset, char *answer, size_t size)
{
    int ends[2];
    char where[32], path[512];
    const char *search = getenv("PATH");
    snprintf(where, sizeof where, "%#lx", (unsigned long)offset);
    snprintf(path, sizeof path, "PATH=%s", search ? search : "/usr/bin:/bin");
    char *arguments[] = { "addr2line", "-e", (char *)file, where, NULL }, *environment[] = { path, NULL };
    if (pipe2(ends, O_CLOEXEC)) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int failed = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; !failed && length < size - 1 && (n = read(ends[0], answer + length, size - 1 - length)) > 0;) length += (size_t)n;
    close(ends[0]);
    if (failed) return false;
    waitpid(child, NULL, 0);
    answer[length] = '\0';
    answer[strcspn(answer, " \n")] = '\0';
    return length && answer[0] != '?' && !strstr(answer, ":?") && strcmp(answer, ":0");
}

void host_source_line(const void *site, char *place, size_t size)
{
    Dl_info information;
    char answer[1024];
    if (!site || !dladdr(site, &information) || !information.dli_fname) {
        snprintf(place, size, "an unknown place");
        return;
    }
    const ElfW(Ehdr) *header = information.dli_fbase;
    uintptr_t offset = (uintptr_t)site - 1 - (header->e_type == ET_EXEC ? 0 : (uintptr_t)information.dli_fbase);
    const char *from = information.dli_fname;
    char self[1024];
    if (access(from, R_OK)) {          /* the program's name as it was called may not lead there from this folder */
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = '\0';
        from = self;
    }
    const char *last = strrchr(from, '/');
    if (!ask(from, offset, answer, sizeof answer)) {
        snprintf(place, size, "%s+%#lx (compile with -g to see the line)", last ? last + 1 : from, (unsigned long)offset);
        return;
    }
    /* the last folder and the file: lessons/03_stream_order.c:41 */
    char *slash = strrchr(answer, '/'), *start = answer;
    if (slash) {
        *slash = '\0';
        char *folder = strrchr(answer, '/');
        *slash = '/';
        if (folder) start = folder + 1;
    }
    snprintf(place, size, "%s", start);
}
