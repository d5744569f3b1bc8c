/* What all calls of the program share: the lock, the setup at the first call, the clock, faults,
 * the last error, and the journal. api/entry.c defines the functions that the program calls:
 *
 *   cudaX(...)  ->  call_enter  ->  do_cudaX(&call, ...)  ->  call_leave
 *
 * do_cudaX checks its arguments, makes a call into the rooms below, and returns the error. Its
 * prototype is in a file of the same name as its own, such as pool_calls.inc (calls.awk).
 *
 * call_enter takes the lock and call_leave releases it. Everything here that is called between them
 * needs the lock. A struct call belongs to its entry point and ends with it, so pointers to it do
 * too. */
#ifndef SIM_API_CALL_H
#define SIM_API_CALL_H

/* The toolkit's own header makes a wrong signature a compile error. Its functions are exported. */
#pragma GCC visibility push(default)
#include <stdint.h>

#include "api/declarations.h"

/* Returns the number of calls that this process has made, which is the newest call's number in the
 * journal. It is no CUDA call and takes no lock, because a library that is loaded next to this one
 * calls it. */
uint32_t sim_calls(void);
#pragma GCC visibility pop

#include "base/hazards.h"
#include "base/origin.h"
#include "base/handle.h"
#include "sched/event.h"
#include "sched/stream.h"

/* A function has the parameters of NVIDIA's header, whether it needs all of them or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* What applies to a call before its own checks. */
enum call_flags {
    NO_FLAGS = 0,
    /* A device without pools returns cudaErrorNotSupported, which the documentation of
     * cudaMallocAsync lists (assumed for the others). */
    POOL = 1,
    /* "Potentially unsafe" in a stream capture (measured: probe-graphs.txt, "capture_unsafe"; the
     * documentation names cudaMalloc). */
    UNSAFE = 2,
    /* Forbidden in a capture, each with its own error (measured: probe-graphs.txt,
     * "capture_waiting", "capture_legacy"). */
    WAITS_DEVICE = 4,
    LEGACY_COPY = 8,
    /* Checks the fault of an earlier call itself. */
    AFTER_FAULT = 16,
    /* Is always served, even after a fault or in a forked child. Its error is not remembered, and
     * SIM_FAIL cannot name it. */
    ALWAYS = 32,
    /* Works even after the runtime has ended, while the process ends (measured:
     * probe-ending.txt). */
    AT_END = 64,
    /* A query: a host that polls repeats it instead of waiting. */
    ASKS = 128,
    /* A call of the driver API that needs no current context (documented: the others return
     * CUDA_ERROR_INVALID_CONTEXT). */
    ANY_CONTEXT = 256,
    /* A call of the driver API that works before cuInit (documented: the others return
     * CUDA_ERROR_NOT_INITIALIZED). */
    ANY_TIME = 512,
};

#define EXPORT __attribute__((visibility("default")))

/* Does all the work of a call that only stores a value for the program. */
#define STORE(pointer, value) \
    ((pointer) ? (*(pointer) = (value), cudaSuccess) : cudaErrorInvalidValue)
/* Does the same if `object`, which has the value, exists. Otherwise the call returns `error`. */
#define STORE_OF(object, error, pointer, value) \
    ((pointer) && !(object) ? (error) : STORE(pointer, value))

/* Is call_enter (api/entry.h) for a function that is not modeled, which has only a name. */
cudaError_t call_enter_unmodeled(struct call *call, const char *name, void *address,
                                 void *const *frame);
/* Remembers the error (unless the call is ALWAYS), writes the call's line, and releases the lock.
 * Returns the error. */
cudaError_t call_leave(struct call *call, cudaError_t e);

/* Finds the call that SIM_FAIL names. Ends the process with a sentence if there is none. */
void call_read_fail(void);

/* Returns the last error of the calling thread, and resets it if `clear`. */
cudaError_t call_last_error(bool clear);

/* Return the error's name in the API of the call, and in the driver API. */
const char *call_error_name(const struct call *call, cudaError_t e);
const char *driver_error_name(cudaError_t e);
/* Returns whether the program calls a function of the driver API. */
bool call_is_drivers(const struct call *call);

/* Says that a part of the call is not simulated, such as "sparse arrays are". Returns
 * cudaErrorNotSupported. */
cudaError_t call_not_simulated(const struct call *call, const char *what, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the figure of memory that a program asks for, of `size` bytes. With SIM_ADD it is larger,
 * and by more each time, so that no constant is right. */
uint64_t call_told(uint64_t figure, size_t size);

/* Returns the stream of a handle, including the three special ones, and adds it to the call's
 * line. Returns NULL for the handle -1, and for a stream that a reset has ended, for which calls
 * return cudaErrorInvalidResourceHandle, or cudaSuccess if there is nothing to do (measured:
 * probe-handles.txt). Any other handle that is no stream ends the process with a sentence (a real
 * driver crashes with SIGSEGV: danger.txt 12, 13). */
struct stream *call_stream(struct call *call, cudaStream_t handle);
/* Returns the event of a handle, or NULL for a null handle, which calls reject (measured:
 * probe-answers.txt, "streams and events"). A handle that is no event ends the process with a
 * sentence. */
struct event *call_event(struct call *call, cudaEvent_t handle);
/* Returns the object of a handle, or NULL for a null handle. A handle that is no object of this
 * kind ends the process with a sentence. */
void *call_object(const struct call *call, enum handle_kind kind, const void *handle);
/* Ends the process because of a bad handle. `what` is for example "an event"; the others are the
 * calls that destroy and make one. */
void call_bad_handle(const struct call *call, const char *what, enum handle_kind kind,
                     const void *handle, const char *destroyer, const char *maker)
    __attribute__((noreturn));
/* Ends the process because of what a reset has ended, such as "a stream". */
void call_ended_by_reset(const struct call *call, const char *what) __attribute__((noreturn));
/* Ends the process because a destroyed pool is made current for a device. */
void call_destroyed_pool(const struct call *call) __attribute__((noreturn));
/* Ends the process after the checker's report, which is not repeated, because a real driver would
 * not survive the call. */
void call_stop(const struct call *call, enum hazard kind, const char *sentence)
    __attribute__((noreturn));

/* What the program has asked of its devices that has no effect here. Needs the lock. */
extern struct device_wishes {
    enum cudaFuncCache cache;
} device_wishes;

/* Return the default or current pool of a device or a location to the program. */
cudaError_t device_pool(struct call *call, cudaMemPool_t *pool, int device, bool current);
cudaError_t location_pool(struct call *call, cudaMemPool_t *pool,
                          const struct cudaMemLocation *location, enum cudaMemAllocationType type,
                          bool current);

/* Starts the journal's lines about the rooms below (base/observer.h). */
void journal_observe(void);
/* Add fields to a call's line: a stream; a pool, unless it is NULL; or the allocation that contains
 * an address (0: none), and the address's offset in it. */
struct pool;
void line_stream(struct journal_line *line, const struct stream *s);
void line_pool(struct journal_line *line, const struct pool *p);
void line_allocation(struct journal_line *line, const void *address);
/* Journals when work of the call that takes no time is reached in its stream: as field "turn" of
 * the call's open line if that is already the case, otherwise as a separate line later. `before` is
 * the stream's last_seq before the work was queued. If that has not changed, there is no work. */
void line_turn(struct call *call, struct stream *s, uint64_t before);

#endif
