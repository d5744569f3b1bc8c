/* Where reports go: to standard error, and to the file of SIM_REPORT. A program's standard error
 * may be a file that somebody throws away, such as a test runner's, which keeps what a failing test
 * printed and nothing else; so the last sentence of the process repeats the first report's first
 * line. A program that looks at no error does not notice that a kernel did not run: then the exit
 * status says so, and the last sentence which kernel it was.
 *
 * All of these need the lock, but for hazards_end: an exit in the midst of a call comes here, too,
 * and then whoever is in that call has it. */
#ifndef SIM_BASE_HAZARDS_H
#define SIM_BASE_HAZARDS_H

#include "base/types.h"

/* Opens the file that settings.report names; ends the process with a sentence when it cannot. */
void hazards_open(void);
/* Prints a report, whose first line begins with "hazard: ". */
void hazards_print(const char *report);
/* Prints a sentence like diag. */
void hazards_diag(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The program ends with exit status 3, because of `count` reports: prints the last sentence. */
void hazards_end(unsigned count);
/* A kernel that nvcc built did not run, or a fault has ended it; a sentence has said why. `what`:
 * "a launch of the kernel k was refused". The first is kept. */
void hazards_gave_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The program ends with status 0: returns whether that has to be 4, because of what was given up,
 * and prints the last sentence then. */
bool hazards_end_given_up(void);
/* Closes the file. */
void hazards_close(void);

#endif
