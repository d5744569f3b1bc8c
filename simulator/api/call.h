/* What every call of the program has in common: the lock, the first call's set-up, the clock,
 * faults, the last error, the journal. api/entry.c defines the functions that the program calls:
 *
 *   cudaX(...)  ->  call_enter  ->  do_cudaX(&call, ...)  ->  call_leave
 *
 * do_cudaX checks its arguments, makes the call into the layers below, and returns the error.
 *
 * call_enter takes the lock and call_leave gives it back; everything here that is called between
 * them needs it. A struct call is its entry point's and ends with it; so do pointers to it. */
#ifndef SIM_API_CALL_H
#define SIM_API_CALL_H

/* The toolkit's own header, so that a wrong signature does not compile, and its functions
 * visible. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "kernels.h"
#include "user_kernels.h"

/* How many calls this process has made: the number of the newest one, which its line in the journal
 * has. It is no CUDA call and takes no lock: a library that is loaded beside this one calls it. */
uint32_t sim_calls(void);
#pragma GCC visibility pop

#include "base/hazard_kinds.h"
#include "base/origin.h"
#include "base/handle.h"
#include "sched/event.h"
#include "sched/stream.h"

/* What holds for a call before its own checks. */
enum call_flags {
    NO_FLAGS = 0,
    /* A device without pools answers with cudaErrorNotSupported, which the documentation of
     * cudaMallocAsync lists (assumed for the others). */
    POOL = 1,
    /* "Potentially unsafe" in a stream capture (measured: probe-graphs.txt, "capture_unsafe"; the
     * documentation names cudaMalloc). */
    UNSAFE = 2,
    /* Forbidden in a capture, with a code of their own (measured: probe-graphs.txt,
     * "capture_waiting", "capture_legacy"). */
    WAITS_DEVICE = 4,
    LEGACY_COPY = 8,
    /* Its own checks look at the fault of an earlier call. */
    AFTER_FAULT = 16,
    /* Always answers: after a fault and in a forked child too. Its error is not remembered, and
     * SIM_FAIL cannot name it. */
    ALWAYS = 32,
    /* Answers also when the runtime has ended, while the process ends (measured:
     * probe-ending.txt). */
    AT_END = 64,
    /* A host that waits for something without a wait makes it again and again. */
    ASKS = 128,
};

enum call_id {
#define CALL(name, cost, flags, parameters, arguments)        CALL_##name,
#define CALL_PTSZ(name, cost, flags, parameters, arguments)   CALL_##name,
#define CALL_PTDS(name, cost, flags, parameters, arguments)   CALL_##name,
#define CALL_LAUNCH(name, cost, flags, parameters, arguments) CALL_##name,
#define CALL0(name, cost, flags)                              CALL_##name,
#define OTHER(name)
#define NVCC(name)
#include "api/calls.def"
    CALLS
};

/* The functions that do the work. */
#define EACH(...) __VA_ARGS__
#define CALL(name, cost, flags, parameters, arguments) \
    cudaError_t do_##name(struct call *call, EACH parameters);
#define CALL_PTSZ(name, cost, flags, parameters, arguments) \
    CALL(name, cost, flags, parameters, arguments)
#define CALL_PTDS(name, cost, flags, parameters, arguments) \
    CALL(name, cost, flags, parameters, arguments)
#define CALL_LAUNCH(name, cost, flags, parameters, arguments) \
    CALL(name, cost, flags, parameters, arguments)
#define CALL0(name, cost, flags) cudaError_t do_##name(struct call *call);
#define OTHER(name)
#define NVCC(name)
#include "api/calls.def"

/* Takes the lock, begins the call's line and brings the device up to date. Returns an error that
 * the call must return at once: a fault, a call from inside a host function, a forked child, the
 * failure that SIM_FAIL requires, or a stream capture that forbids it. `address` and `frame`: the
 * entry point's OS_CALL_ADDRESS and OS_CALL_FRAME. */
cudaError_t call_enter(struct call *call, enum call_id id, time_ns cost, void *address,
                       void *const *frame, bool per_thread);
/* The same for a function that is not modeled, which has a name alone. */
cudaError_t call_enter_unmodeled(struct call *call, const char *name, void *address,
                                 void *const *frame);
/* Remembers the error (unless the call is ALWAYS), writes the call's line, gives the lock back.
 * Returns the error. */
cudaError_t call_leave(struct call *call, cudaError_t e);

/* Finds the call that SIM_FAIL names; ends the process with a sentence when there is none. */
void call_read_fail(void);

/* The last error of the calling thread; cleared when `clear`. */
cudaError_t call_last_error(bool clear);

/* Returns the stream of a handle, also of the three special ones, and puts it into the call's line.
 * Returns NULL for the handle -1, to which the calls return cudaErrorInvalidResourceHandle, but
 * cudaSuccess where there is nothing to do (measured: probe-handles.txt). Any other handle that is
 * no stream ends the process with a sentence (a real driver dies of SIGSEGV there: danger.txt 12,
 * 13). */
struct stream *call_stream(struct call *call, cudaStream_t handle);
/* The event of a handle. NULL for a null handle, which the calls refuse (measured:
 * probe-answers.txt, "streams and events"); a handle that is no event ends the process with a
 * sentence. */
struct event *call_event(struct call *call, cudaEvent_t handle);
/* Ends the process with that sentence: `what` ("an event"), and the calls that destroy and make
 * one. */
void call_bad_handle(const struct call *call, const char *what, enum handle_kind kind,
                     const void *handle, const char *destroyer, const char *maker)
    __attribute__((noreturn));
/* A destroyed pool is made current for a device. Ends the process, as above. */
void call_destroyed_pool(const struct call *call) __attribute__((noreturn));
/* Ends the process after the checker's report, which is not repeated: a real driver would not
 * survive the call. */
void call_stop(const struct call *call, enum hazard kind, const char *sentence)
    __attribute__((noreturn));

/* Makes the journal's lines of what happens below (base/observer.h). */
void journal_observe(void);
/* Fields of a call's line: a stream; the allocation (0: none) that an address is in, and how far
 * behind its beginning. */
void line_stream(struct journal_line *line, const struct stream *s);
void line_allocation(struct journal_line *line, const void *address);
/* When the turn of the call's work, which takes no time, comes in its stream: the field "turn" of
 * the call's line, which is open, when that is now and thus at the call's end; else a line of its
 * own. `before`: the stream's last_seq before the work was queued; when that is still its last,
 * there is none. */
void line_turn(struct call *call, struct stream *s, uint64_t before);

/* What cudaGetErrorName and cudaGetErrorString return. They need no lock. */
const char *error_name(cudaError_t e);
const char *error_string(cudaError_t e);

#endif
