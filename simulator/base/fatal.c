/* Prints the last report of a program, to stderr and to the journal, and ends the process. */
#include "base/fatal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "base/hazards.h"
#include "base/journal.h"
#include "base/observer.h"
#include "base/origin.h"
#include "base/summary.h"

_Thread_local void *fatal_site;

void fatal_hazard(enum hazard kind, const char *call, const char *format, ...)
{
    NEEDS_LOCK();
    char text[1024];
    int length = snprintf(text, sizeof text, "hazard: %s. ", hazard_name(kind));
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof text - (size_t)length, format, arguments);
    va_end(arguments);
    struct os_source_loc place = {.site = fatal_site, .call = call}, *places[] = {&place};
    char report[1536];
    size_t first_line = strcspn(text, "\n");
    report[0] = '\0';
    if (call && fatal_site) {
        os_source_lines(places, 1);
        snprintf(report, sizeof report, "%.*s\n  called     at %s%s", (int)first_line, text,
                 place.text, text + first_line);
    }
    hazards_print(report[0] ? report : text);
    struct origin nothing = {0}, origin = {.call = call};
    if (observer.hazard)
        observer.hazard(&(struct observed_hazard){hazard_name(kind), 0, &nothing, &origin, false});
    fatal_end();
}

void fatal_end(void)
{
    NEEDS_LOCK();
    journal_close();
    summary_print(hazards_count(), 0);
    hazards_close();
    os_exit(3);
}
