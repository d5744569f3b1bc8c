/* Work that a program asks for and that is refused: a launch, a copy, a memset, an allocation, a
 * free, or a call that makes order. The first such call is reported at the end if the program ends
 * with an error, or if it has not looked at the result, nor asked for the last error: <<<...>>> has
 * no result, and behind another call the program's instructions show it (os/result.c). Otherwise
 * the call may have been tried on purpose. All of these need the lock. */
#ifndef SIM_CHECK_FAILED_CALL_H
#define SIM_CHECK_FAILED_CALL_H

#include <stdbool.h>

#include "base/origin.h"

/* Says why the call that is running is refused, as the end of a sentence. */
void failed_call_because(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The call has returned this error, or NULL: one of the driver API. */
void failed_call_note(const struct call *call, const char *error);
/* Returns the reason that was said last, which belongs to no call then; good until the next. */
const char *failed_call_reason(void);
/* Reports a launch that a kernel of this launch has made. `what`: the end of a sentence. */
void failed_call_in_kernel(const struct origin *origin, const char *what);
/* The program has asked for its last error. */
void failed_call_asked(void);
/* The program ends, with an error or without. */
void failed_call_report(bool with_error);

#endif
