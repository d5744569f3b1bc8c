/* Reading a file of /proc (proc(5)), for the files of os/. */
#ifndef SIM_OS_PROC_H
#define SIM_OS_PROC_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "os/units.h"

/* Reads the beginning of a file as a string. Returns false when there is nothing to read. It is no
 * stream: to map memory for one could make the program wait. */
static inline bool proc_read(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, size - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* Reads a file named stat. Returns its fields behind the name in parentheses, which may hold
 * spaces; NULL when there are none. */
static inline const char *proc_read_stat(const char *path, char *text, size_t size)
{
    const char *end = proc_read(path, text, size) ? strrchr(text, ')') : NULL;
    return end ? end + 2 : NULL;
}

#endif
