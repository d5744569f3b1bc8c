/* Work that a program asks for and that is refused: a launch, a copy, a memset, an allocation, a
 * free, or a call that creates order. The first such call is reported at the end of a program that
 * ends with an error, or that has looked neither at the call's result nor at the last error.
 * <<<...>>> has no result; after other calls, the program's instructions show whether it looks
 * (os/result.c). All other failures may have been intended. All of these need the lock. */
#ifndef SIM_CHECK_FAILED_CALL_H
#define SIM_CHECK_FAILED_CALL_H

#include <stdbool.h>

#include "base/origin.h"

/* Says why the running call is refused; the text is the end of a sentence. */
void failed_call_because(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says that the running call comes from a host function, which no program may do. The call is
 * reported even if the program looks at its result. */
void failed_call_in_host_function(void);
/* Notes that the call has returned the error of this name. `meaning` is what the error means in
 * general, for want of a better reason. */
void failed_call_note(const struct call *call, const char *error, const char *meaning);
/* Notes that an earlier call was refused with this error, and that the program has gone on as if it
 * had not been. */
void failed_call_mattered(const struct origin *origin, const char *error, const char *why);
/* Returns the reason that was given last and takes it from the running call. The text is valid
 * until the next reason. */
const char *failed_call_reason(void);
/* Reports a failed launch by a kernel of this launch. `what`: the end of a sentence. */
void failed_call_in_kernel(const struct origin *origin, const char *what);
/* Notes that the program has asked for its last error. */
void failed_call_asked(void);
/* Adds the first failed call that the program has not looked at, if any, to the open report, which
 * may be its consequence. */
void failed_call_mention(void);
/* Forgets the failed calls of the process that this one was forked from. */
void failed_call_forget(void);
/* Is called when the program ends, with an error or without. */
void failed_call_report(bool with_error);

#endif
