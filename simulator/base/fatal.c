/* The last report of a program: on stderr and in the journal, which is closed. */
#include "base/fatal.h"

#include <stdarg.h>
#include <stdio.h>

#include "sched/virtual_time.h"
#include "os/os.h"
#include "base/journal.h"

void fatal_hazard(const char *kind, const char *call, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    diag_report("hazard: %s", text);
    journal_did("hazard");
    journal_text("kind", kind);
    if (call)
        journal_text("call", call);
    journal_did_end(time_now());
    journal_close();
    os_exit(3);
}
