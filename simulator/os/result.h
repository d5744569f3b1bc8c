/* Finds out whether a program ignores the result of a call. Needs no lock. */
#ifndef SIM_OS_RESULT_H
#define SIM_OS_RESULT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the instructions after a call overwrite its result before anything reads it.
 * Returns false in doubt, and on processors other than x86-64. */
bool os_code_ignores_result(const void *code);

#endif
