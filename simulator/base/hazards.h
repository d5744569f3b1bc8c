/* Prints reports to standard error and to the file of SIM_REPORT. Standard error may be lost: a
 * test runner, for example, keeps only what a failing test printed. So the last sentence of the
 * process repeats the first line of the first report.
 *
 * A program that ignores errors does not notice that a kernel did not run. So the exit status says
 * so, and the last sentence names the kernel.
 *
 * All functions here need the lock, except hazards_end, because exit may be called in the middle
 * of a call, which already has the lock. */
#ifndef SIM_BASE_HAZARDS_H
#define SIM_BASE_HAZARDS_H

#include "base/types.h"

/* The kinds of hazards. */
enum hazard {
#define HAZARD(id, name, advice) HAZARD_##id,
#include "base/hazards.def"
};

/* Returns the name of the hazard in reports and in the journal. */
const char *hazard_name(enum hazard kind);

/* Opens the file of settings.report, or ends the process with a message if that fails. */
void hazards_open(void);
/* Prints a report, which must begin with "hazard: ". */
void hazards_print(const char *report);
/* Returns the number of printed reports. */
unsigned hazards_count(void);
/* Prints a message in the form of diag. */
void hazards_diag(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the last sentence: the program ends with exit status 3 because of `count` reports. */
void hazards_end(unsigned count);
/* Keeps the first of these texts, for example "a launch of the kernel k was refused". Called after
 * a message has said why a kernel built by nvcc did not run, or which fault ended it. */
void hazards_gave_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Called when the program ends with status 0. If a kernel did not run, prints the last sentence and
 * returns true: the status has to be 4. */
bool hazards_end_given_up(void);
/* Closes the file. */
void hazards_close(void);

#endif
