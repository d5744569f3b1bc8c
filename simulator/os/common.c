/* What os/ and os/web/ share: the environment, messages, and the end of a process. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "os/write.h"

size_t os_page_bytes = 4096;

/* ---- the environment ---- */

const char *os_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *os_environment_entry(size_t at) { return environ ? environ[at] : NULL; }

/* ---- messages ---- */

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char line[4608];
    int used = snprintf(line, sizeof line - 1, "%s", prefix);
    int more = vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2)
        length = sizeof line - 2;
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
    os_exit(1);
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
