/* What every call of the program has in common: the lock, the first call's set-up, the clock,
 * faults, the last error, the journal.
 *
 *   cudaError_t cudaX(...)
 *   {
 *       cudaError_t e = call_begin("cudaX", COST_X);
 *       if (!e) e = ...checks, one call into the layers below...;
 *       return call_end(e);
 *   } */
#ifndef SIM_API_CALL_H
#define SIM_API_CALL_H

#include <driver_types.h>

#include "base/handle.h"
#include "sched/stream.h"

/* Where the call stands in the program. A function that the program calls says AT(...) around the
 * one that does the work, or CALL(name, cost) for call_begin when it does the work itself. */
extern _Thread_local void *call_site __attribute__((tls_model("initial-exec")));
#define AT(work)         (call_site = __builtin_return_address(0), (work))
#define CALL(name, cost) AT(call_begin(name, cost))

/* Takes the lock and brings the device up to date. Returns an error that the call must answer with
 * at once: a fault, a call from inside a host function, a forked child, the failure that SIM_FAIL
 * asks for, or a stream capture that forbids it. */
cudaError_t call_begin(const char *name, time_ns cost);
/* The same for a call that answers also after a fault (cudaGetLastError and the like). */
void call_begin_always(const char *name, time_ns cost);
/* Remembers the error, writes the journal's line, gives the lock back. Returns the error. */
cudaError_t call_end(cudaError_t e);
/* Gives the lock back; no line, no last error. */
void call_end_quietly(void);
/* The name of the call on its way. */
const char *call_name(void);

/* The last error of the calling thread; cleared when `clear`. */
cudaError_t call_last_error(bool clear);

/* The stream of a handle, also of the three special ones; `per_thread`: what 0 means. Journals it.
 * A handle that is no stream ends the process with a sentence (a real driver dies of SIGSEGV there:
 * danger.txt 12, 13). */
struct stream *call_stream(cudaStream_t handle, bool per_thread);
/* Ends the process with that sentence: `what` ("an event"), and the calls that destroy and make
 * one. */
void call_bad_handle(const char *what, enum handle_kind kind, const void *handle,
                     const char *destroyer, const char *maker) __attribute__((noreturn));
/* A destroyed pool is made current for a device. Ends the process, as above. */
void call_destroyed_pool(const char *name) __attribute__((noreturn));
/* Ends the process after the checker's report, which is not repeated: a real driver would not
 * survive the call. */
void fatal_stop(const char *kind, const char *sentence) __attribute__((noreturn));

/* The names that the CUDA header knows. */
const char *error_name(cudaError_t e);
const char *error_string(cudaError_t e);

#endif
