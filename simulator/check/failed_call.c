/* Which calls have failed without the program's notice. */
#include "check/failed_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "check/report.h"
#include "os/needs_lock.h"
#include "os/os.h"

struct failed {
    struct origin origin;
    const char *error;
    char why[256];
    /* The call is a launch by <<<...>>>, or comes from a host function. */
    bool is_launch, is_forbidden;
};

/* Needs the lock. `first` is the first failed call. `ignored` is the first failed call whose result
 * and error the program has not looked at. Both are empty without a name. `why` is about the
 * running call. */
static struct {
    struct failed first, ignored;
    char why[256];
    bool is_forbidden;
} failed;

void failed_call_because(const char *format, ...)
{
    NEEDS_LOCK();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failed.why, sizeof failed.why, format, arguments);
    va_end(arguments);
}

void failed_call_in_host_function(void)
{
    NEEDS_LOCK();
    failed_call_because("a host function must not make CUDA calls");
    failed.is_forbidden = true;
}

/* Returns whether a program that has made this call depends on it. Queries and settings are often
 * only tried. */
static bool is_work(const char *call)
{
    static const char *const begins[] = {
        "Memcpy",           "Memset",      "Launch",          "GraphAdd", "GraphInstantiate",
        "GraphLaunch",      "EventRecord", "StreamWaitEvent", "Malloc",   "Free",
        "StreamEndCapture", "MemAlloc",    "MemFree",         "MemMap",   "MemSetAccess"};
    const char *name = call + strlen(strncmp(call, "cuda", 4) ? "cu" : "cuda");
    for (size_t n = 0; n < sizeof begins / sizeof *begins; n++)
        if (!strncmp(name, begins[n], strlen(begins[n])))
            return true;
    return false;
}

static void keep(struct failed *kept, const struct origin *origin, const char *error,
                 const char *why)
{
    if (kept->origin.call)
        return;
    *kept = (struct failed){.origin = *origin, .error = error};
    kept->origin.stream = -2;
    kept->origin.slot = HOST_SLOT;
    strcpy(kept->why, why);
}

void failed_call_mattered(const struct origin *origin, const char *error, const char *why)
{
    NEEDS_LOCK();
    if (os_site_ignores_result(origin->site))
        keep(&failed.ignored, origin, error, why);
}

void failed_call_note(const struct call *call, const char *error, const char *meaning)
{
    NEEDS_LOCK();
    const bool is_forbidden = failed.is_forbidden;
    failed.is_forbidden = false;
    if (!is_forbidden && report_is_of_call(call->origin.number)) {
        failed.why[0] = '\0';
        return;
    }
    /* A failed free without a reason may be of a null pointer, which would free nothing anyway. */
    const bool may_matter = failed.why[0] || strncmp(call->origin.call, "cudaFree", 8) != 0;
    const bool is_ignored = call->is_launch || is_forbidden
                         || (may_matter && os_site_ignores_result(call->origin.site));
    struct failed *kept =
        is_ignored && !failed.ignored.origin.call ? &failed.ignored : &failed.first;
    if (is_work(call->origin.call) && !kept->origin.call) {
        keep(kept, &call->origin, error, failed.why[0] ? failed.why : meaning);
        kept->is_launch = call->is_launch;
        kept->is_forbidden = is_forbidden;
    }
    failed.why[0] = '\0';
}

const char *failed_call_reason(void)
{
    NEEDS_LOCK();
    static char reason[sizeof failed.why];
    strcpy(reason, failed.why);
    failed.why[0] = '\0';
    return reason;
}

void failed_call_in_kernel(const struct origin *origin, const char *what)
{
    NEEDS_LOCK();
    if (!settings.check || !report_begin(HAZARD_FAILED_CALL, origin, origin))
        return;
    report_text("A kernel of %s launches %s.", origin->call, what);
    report_origin("launched", origin);
    report_note("the thread has not asked for the error, which cudaGetLastError() returns.");
    report_advice("look at cudaGetLastError() after a launch, also in a kernel.");
    report_end(0);
}

void failed_call_asked(void)
{
    NEEDS_LOCK();
    if (failed.ignored.is_forbidden)
        return;
    if (!failed.first.origin.call)
        failed.first = failed.ignored;
    failed.ignored.origin.call = NULL;
}

void failed_call_forget(void)
{
    NEEDS_LOCK();
    failed.first.origin.call = failed.ignored.origin.call = NULL;
}

void failed_call_mention(void)
{
    NEEDS_LOCK();
    if (failed.ignored.origin.call)
        report_origin("failed", &failed.ignored.origin);
}

void failed_call_report(bool with_error)
{
    NEEDS_LOCK();
    const struct failed *f =
        with_error && failed.first.origin.call ? &failed.first : &failed.ignored;
    if (!settings.check || !f->origin.call
        || !report_begin(HAZARD_FAILED_CALL, &f->origin, &f->origin))
        return;
    report_text("%s returned %s and did nothing: %s.", f->origin.call, f->error, f->why);
    report_origin("called", &f->origin);
    if (f == &failed.ignored && !f->is_forbidden)
        report_note(
            f->is_launch
                ? "the program has not asked for the error, which cudaGetLastError() returns."
                : "the program has not looked at the result.");
    report_advice(f->is_forbidden
                      ? "let a thread of the host make the call, when the function has told it to."
                  : f != &failed.ignored
                      ? "correct what the first sentence says: the program has ended with an error."
                  : f->is_launch ? "look at cudaGetLastError() after each launch."
                                 : "look at what each call returns.");
    report_end(0);
}
