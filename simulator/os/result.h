/* Does a program look at the result of a call? Needs no lock. */
#ifndef SIM_OS_RESULT_H
#define SIM_OS_RESULT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the instructions behind a call overwrite its result before anything reads it. In
 * doubt, and on other processors than x86-64, it does not. */
bool os_code_ignores_result(const void *code);

#endif
