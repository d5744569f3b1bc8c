/* Writes reports to stderr and to the file of SIM_REPORT. */
#include "base/hazards.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "base/summary.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* Needs the lock. `file` is NULL without SIM_REPORT. `first` is the first line of the first report
 * without its word "hazard: ", and `given_up` the first text of hazards_gave_up; both are empty if
 * there is none. */
static struct {
    os_file *file;
    char first[512];
    char given_up[512];
    unsigned printed;
} hazards;

unsigned hazards_count(void)
{
    NEEDS_LOCK();
    return hazards.printed;
}

const char *hazard_name(enum hazard kind)
{
    NEEDS_LOCK();
    static const char *const names[] = {
#define HAZARD(id, name, advice) name,
#include "base/hazards.def"
    };
    return names[kind];
}

void hazards_open(void)
{
    NEEDS_LOCK();
    if (settings.report)
        hazards.file = os_open("SIM_REPORT", settings.report, "the file of reports (SIM_REPORT)");
}

/* Flushes at once, because what comes next may kill the process. */
static void write_line(const char *text)
{
    if (!hazards.file)
        return;
    os_write(hazards.file, text, strlen(text));
    os_write(hazards.file, "\n", 1);
    os_flush(hazards.file);
}

void hazards_print(const char *report)
{
    NEEDS_LOCK();
    const char *line = report + strlen("hazard: ");
    hazards.printed++;
    if (!hazards.first[0])
        snprintf(hazards.first, sizeof hazards.first, "%.*s", (int)strcspn(line, "\n"), line);
    diag_report("%s", report);
    write_line(report);
}

void hazards_diag(const char *format, ...)
{
    NEEDS_LOCK();
    char text[1024] = "simulated device: ";
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    diag_report("%s", text);
    write_line(text);
}

void hazards_end(unsigned count)
{
    if (count == 1)
        hazards_diag("1 hazard was reported, so the exit status is 3: %s", hazards.first);
    else
        hazards_diag("%u hazards were reported, so the exit status is 3. The first: %s", count,
                     hazards.first);
}

void hazards_gave_up(const char *format, ...)
{
    NEEDS_LOCK();
    va_list arguments;
    summary.given_up++;
    if (hazards.given_up[0])
        return;
    va_start(arguments, format);
    vsnprintf(hazards.given_up, sizeof hazards.given_up, format, arguments);
    va_end(arguments);
}

bool hazards_end_given_up(void)
{
    NEEDS_LOCK();
    if (!hazards.given_up[0] || settings.any_status)
        return false;
    hazards_diag("%s, and the program ends as if all had run, so the exit status is 4. To leave "
                 "the status to the program: SIM_KERNELS=%s:allow",
                 hazards.given_up, settings.refuse_kernels ? "refuse" : "run");
    return true;
}

void hazards_close(void)
{
    NEEDS_LOCK();
    if (hazards.file)
        os_close(hazards.file);
    hazards.file = NULL;
}
