/* What os/ and os/web/ share: the environment, messages, and the end of a process. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "os/write.h"

size_t os_page_bytes = 4096;

void *os_copy(const void *from, size_t bytes) { return memcpy(os_allocate(bytes), from, bytes); }

/* ---- the environment ---- */

const char *os_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *os_environment_entry(size_t at) { return environ ? environ[at] : NULL; }

/* ---- messages ---- */

size_t os_columns;
int os_fatal_status = 1;

/* Breaks the line that begins at `start`, at spaces after its first word, and indents the rest like
 * a report's details. Returns the new length of the text. A path or a name that is longer than a
 * line stays whole. */
static size_t break_line(char *text, size_t start, size_t length, size_t size)
{
    static const char indent[] = "\n             ";
    const size_t added = sizeof indent - 2; /* one replaces the space */
    size_t first_word = start + strspn(text + start, " ");
    for (size_t at = first_word, space = 0; at < length && text[at] != '\n'; at++) {
        if (text[at] == ' ')
            space = at;
        if (at < start + os_columns || !space || length + added > size)
            continue;
        memmove(text + space + 1 + added, text + space + 1, length - space - 1);
        memcpy(text + space, indent, added + 1);
        length += added;
        start = space + 1;
        at = space + added;
        space = 0;
    }
    return length;
}

static size_t break_lines(char *text, size_t length, size_t size)
{
    for (size_t start = 0; start < length; start++)
        if (start == 0 || text[start - 1] == '\n')
            length = break_line(text, start, length, size);
    return length;
}

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char line[6144];
    int used = snprintf(line, sizeof line - 1, "%s", prefix);
    int more = vsnprintf(line + used, 4608 - (size_t)used, format, arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > 4608 - 1)
        length = 4608 - 1;
    if (os_columns)
        length = break_lines(line, length, sizeof line - 1);
    line[length++] = '\n';
    write_all(STDERR_FILENO, line, length);
}

void diag(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("simulated device: ", format, arguments);
    va_end(arguments);
}

void diag_report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

/* ---- the end ---- */

void os_fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("simulated device: ", format, arguments);
    va_end(arguments);
    os_exit(os_fatal_status);
}

#ifdef COVERAGE
void __gcov_dump(void);
#endif

void os_exit(int status)
{
    fflush(NULL);
#ifdef COVERAGE
    __gcov_dump(); /* _exit would skip this */
#endif
    _exit(status);
}

/* ---- the lock is held ---- */

#ifdef ASSERT_LOCK
void assert_lock_is_held(const char *function)
{
    if (!lock_is_held())
        os_fatal("%s was called without the lock, which it needs.", function);
}
#endif
