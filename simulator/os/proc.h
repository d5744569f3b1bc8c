/* Reads files of /proc (proc(5)), for os/ alone. */
#ifndef SIM_OS_PROC_H
#define SIM_OS_PROC_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "os/units.h"

/* Reads the beginning of a file as a string. Returns false if there is nothing to read. Uses no
 * stdio, because mapping memory for a stream could make the program wait. */
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

/* Reads a stat file. Returns the fields after the name, which may contain spaces, or NULL. */
static inline const char *proc_read_stat(const char *path, char *text, size_t size)
{
    const char *end = proc_read(path, text, size) ? strrchr(text, ')') : NULL;
    return end ? end + 2 : NULL;
}

#endif
