/* Where reports go: to standard error, and to the file of SIM_REPORT. A program's standard error
 * may be a file that somebody throws away, such as a test runner's, which keeps what a failing test
 * printed and nothing else; so the last sentence of the process repeats the first report's first
 * line. All of these need the lock, but for hazards_end: an exit in the midst of a call comes here,
 * too, and then whoever is in that call has it. */
#ifndef SIM_BASE_HAZARDS_H
#define SIM_BASE_HAZARDS_H

/* Opens the file that settings.report names; ends the process with a sentence when it cannot. */
void hazards_open(void);
/* Prints a report, whose first line begins with "hazard: ". */
void hazards_print(const char *report);
/* Prints a sentence like diag. */
void hazards_diag(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The program ends with exit status 3, because of `count` reports: prints the last sentence. */
void hazards_end(unsigned count);
/* Closes the file. */
void hazards_close(void);

#endif
