/* The last report of a program: on stderr and in the journal, which is closed. */
#include "base/fatal.h"

#include <stdarg.h>
#include <stdio.h>

#include "os/os.h"
#include "base/journal.h"
#include "base/observer.h"

void fatal_hazard(const char *kind, const char *call, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    diag_report("hazard: %s", text);
    if (observer.hazard)
        observer.hazard(kind, 0, call, 0);
    journal_close();
    os_exit(3);
}
