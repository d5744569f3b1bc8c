/* What all calls share: entering, leaving, and the errors that precede a call's own checks. */
#include "api/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/context.h"
#include "api/entry.h"
#include "api/own_process.h"
#include "base/errors.h"
#include "base/fatal.h"
#include "base/hazards.h"
#include "base/settings.h"
#include "base/summary.h"
#include "check/checker.h"
#include "check/conflict.h"
#include "check/driver_words.h"
#include "check/failed_call.h"
#include "check/page_guard.h"
#include "graph/capture.h"
#include "mem/device.h"
#include "mem/pool.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/engine.h"
#include "sched/happens_before.h"
#include "sched/host_function.h"
#include "sched/host_idle.h"
#include "sched/virtual_time.h"

/* The flags of calls.def, for those of the driver API that do the same. */
enum {
#define CALL(streams, name, cost, flags, ...) FLAGS_##name = flags,
#include "calls.inc"
};

/* calls.def and driver_calls.def, indexed by enum call_id. */
static const struct {
    const char *name;
    unsigned flags;
} calls[] = {
#define CALL(streams, name, cost, flags, ...) {#name, flags},
#include "calls.inc"
#define TWIN(streams, name, version, since, flags, twin, ...) {#name, (flags) | FLAGS_##twin},
#define OWN(streams, name, version, since, cost, flags, ...)  {#name, flags},
#include "driver_calls.inc"
};

/* SIM_FAIL=CALL:N with the call's id. The lock protects the count. */
static struct {
    enum call_id id;
    unsigned count;
} fail = {CALLS, 0};

static _Thread_local cudaError_t last_error;

/* The call of number 1. Needs the lock. */
static struct origin first_call;

uint32_t sim_calls(void) { return __atomic_load_n(&summary.calls, __ATOMIC_RELAXED); }

void call_read_fail(void)
{
    if (!settings.fail_at)
        return;
    while (fail.id > 0 && strcmp(calls[fail.id - 1].name, settings.fail_call))
        fail.id--;
    if (!fail.id-- || calls[fail.id].flags & ALWAYS)
        os_fatal("SIM_FAIL is \"%s:%u\"; %s is no call that can fail. Expected CALL:N, for example "
                 "SIM_FAIL=cudaMallocAsync:2 makes the second cudaMallocAsync fail.",
                 settings.fail_call, settings.fail_at, settings.fail_call);
}

static __attribute__((noinline)) void begin_line(struct call *call)
{
    line_begin_call(&call->line, virtual_now, call->origin.site, call->origin.call,
                    call->origin.number);
    int thread = os_thread_index();
    if (thread)
        line_number(&call->line, "thread", (uint64_t)thread);
}

/* A thread that repeats a query, from the same place in the program as its last call, seems to wait
 * for a host function. */
static void notice_asking(void *site, bool asks)
{
    static _Thread_local void *last_site;
    host_functions.awaited = asks && site == last_site;
    last_site = site;
}

/* Takes the lock and brings the device up to date. A call by a host function (on a thread of ours)
 * or in a forked child (which has no other thread) says nothing about whether the host is idle. */
static void begin(struct call *call, const char *name, time_ns cost, void *address,
                  void *const *frame, bool per_thread, bool asks)
{
    if (host_idle_left_busy && !process.forked)
        host_idle_call_arrives();
    lock_acquire();
    if (!process.started)
        process_start();
    void *site = os_call_site(address, frame);
    if (host_functions.queued)
        notice_asking(site, asks);
    if (!in_host_function && !process.forked)
        host_idle_call_begins_unlocking();
    call->origin = (struct origin){.call = name, .site = site, .number = summary.calls + 1};
    __atomic_store_n(&summary.calls, call->origin.number, __ATOMIC_RELAXED);
    if (call->origin.number == 1)
        first_call = call->origin;
    fatal_site = call->origin.site;
    call->per_thread = per_thread;
    call->has_lost_event = false;
    call->made.graph = 0;
    call->made.node = call->made.launch = 0;
    call->acquired = host_acquired.version;
    line_close(&call->line);
    if (journal_on)
        begin_line(call);
    virtual_now += cost;
    /* The pending work is the parent's, even on memory that both share. */
    if (process.forked)
        return;
    if (host_acquired.functions_begun)
        host_learns_of_functions();
    if (engine_status.busy_streams)
        engine_catch_up_unlocking();
    if (page_guard_paused)
        page_guard_resume();
    if (conflicts_postponed)
        checker_judge_postponed();
    if (engine_status.function_ended) {
        engine_status.function_ended = false;
        pools_synchronized();
    }
}

/* For a call from inside a host function. The call that waits for the function may hold the lock,
 * and this call has no line. */
static cudaError_t begin_in_host_function(struct call *call, const char *name, void *address,
                                          void *const *frame)
{
    lock_acquire();
    line_close(&call->line);
    call->origin = (struct origin){.call = name, .site = os_call_site(address, frame)};
    call->has_lost_event = false;
    failed_call_in_host_function();
    return cudaErrorNotPermitted;
}

/* What a program writes as <<<...>>> is __cudaLaunchKernel in the code of nvcc 13, and
 * cudaLaunchKernel in that of older ones. */
static bool is_to_fail(enum call_id id)
{
    return id == fail.id || (id == CALL___cudaLaunchKernel && fail.id == CALL_cudaLaunchKernel);
}

/* Returns the error with which an unfinished capture forbids the call. */
static cudaError_t check_capture(unsigned flags)
{
    if (flags & WAITS_DEVICE)
        return capture_check_device_wait();
    if (flags & LEGACY_COPY)
        return capture_check_legacy_copy();
    return flags & UNSAFE ? capture_check_unsafe() : cudaSuccess;
}

/* Rejects a call when the process is ending and the runtime has ended before it. Measured
 * (probe-ending.txt): this happens in exit handlers that are older than the first call, and in
 * destructors, for 18 of 23 calls. A younger handler is served, and so is any handler in a process
 * that has made no call before. Assumed: the same for calls that were not recorded. */
static cudaError_t refuse_at_end(const char *name)
{
    static bool reported;
    bool is_harmless = strstr(name, "Destroy") || strstr(name, "etDevice");
    if (!is_harmless && !reported)
        diag("%s was called while the process ends, after the CUDA runtime has ended: it returns "
             "cudaErrorCudartUnloading and does nothing. So late are the destructors of global "
             "objects, and what was given to atexit before the first CUDA call.",
             name);
    reported |= !is_harmless;
    process.freed_too_late |= !strncmp(name, "cudaFree", 8);
    return cudaErrorCudartUnloading;
}

/* Returns the error of a call of the driver API that has no context. A call of the runtime makes
 * one, unless it needs no device. */
static cudaError_t check_context(enum call_id id, unsigned flags)
{
    if (id < CALL_cuInit) {
        if (!(flags & AT_END))
            context_used_by_runtime();
        return cudaSuccess;
    }
    if (flags & ANY_TIME)
        return cudaSuccess;
    if (!context_is_initialized())
        return cudaErrorInitializationError;
    if (flags & ANY_CONTEXT || context_current())
        return cudaSuccess;
    return context_is_destroyed() ? cudaErrorContextIsDestroyed : cudaErrorDeviceUninitialized;
}

cudaError_t call_enter(struct call *call, enum call_id id, time_ns cost, void *address,
                       void *const *frame, unsigned ways)
{
    unsigned flags = calls[id].flags | (ways & HAS_CONTEXT ? ANY_CONTEXT : 0);
    /* The driver API does not set the runtime's last error (documented for the runtime's). */
    call->forgets_error = flags & ALWAYS || id >= CALL_cuInit;
    call->is_counted = !in_host_function && !(flags & ALWAYS);
    /* What nvcc's code calls for <<<...>>> is __cudaLaunchKernel. */
    call->is_launch = id == CALL___cudaLaunchKernel;
    const char *name = calls[id].name + (call->is_launch ? strlen("__") : 0);
    if (in_host_function && !(flags & ALWAYS))
        return begin_in_host_function(call, name, address, frame);
    begin(call, name, cost, address, frame, ways & PER_THREAD, flags & ASKS);
    if (flags & ALWAYS)
        return cudaSuccess;
    if (process.forked)
        return cudaErrorInitializationError;
    if (process.unloading && !(flags & AT_END))
        return refuse_at_end(calls[id].name);
    cudaError_t e = check_context(id, flags);
    if (e)
        return e;
    if (flags & POOL && !settings.pools)
        return cudaErrorNotSupported;
    if (is_to_fail(id) && ++fail.count == settings.fail_at)
        return cudaErrorMemoryAllocation;
    if (device_sticky_error)
        return flags & AFTER_FAULT ? cudaSuccess : device_sticky_error;
    return capture_count ? check_capture(flags) : cudaSuccess;
}

cudaError_t call_enter_unmodeled(struct call *call, const char *name, void *address,
                                 void *const *frame)
{
    call->forgets_error = strncmp(name, "cuda", strlen("cuda")) != 0;
    call->is_counted = false;
    if (in_host_function)
        return begin_in_host_function(call, name, address, frame);
    begin(call, name, 0, address, frame, false, false);
    if (process.forked)
        return cudaErrorInitializationError;
    if (process.unloading)
        return cudaErrorCudartUnloading;
    return device_sticky_error;
}

/* Writes the call's line, with the results of the rooms below. */
static __attribute__((noinline)) void end_line(struct call *call, cudaError_t e)
{
    if (call->made.graph)
        line_number(&call->line, "graph", (uint64_t)call->made.graph);
    if (call->made.node)
        line_number(&call->line, "node", call->made.node);
    if (call->made.launch)
        line_number(&call->line, "launch", call->made.launch);
    if (host_acquired.version != call->acquired)
        line_number(&call->line, "acquired", 1);
    line_write_call(&call->line, virtual_now, e ? call_error_name(call, e) : NULL);
}

/* The call has given a stream more than the device accepts, so it waits until there is room. */
static __attribute__((noinline)) void wait_for_room_unlocking(const struct call *call)
{
    struct stream *s = stream_without_room;
    stream_without_room = NULL;
    if (!process.forked)
        engine_wait_for_room_unlocking(s, call->origin.call);
}

/* Has the program asked for something impossible? Other errors are answers about the device or its
 * state: too little memory, a function that it lacks, work that is not over. */
static bool is_mistake(cudaError_t e)
{
    switch (e) {
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidSymbol:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorNotPermitted:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDeviceUninitialized:
    case cudaErrorCooperativeLaunchTooLarge: return true;
    default:
        return e >= cudaErrorStreamCaptureUnsupported && e <= cudaErrorStreamCaptureWrongThread;
    }
}

/* Says once why calls of a forked child fail. A free there is no mistake: destructors make them. */
static void explain_fork(const struct call *call, const char *error)
{
    static const char *const frees[] = {"Free", "Destroy", "Unload", "Unregister", "Reset"};
    for (size_t n = 0; n < sizeof frees / sizeof *frees; n++)
        if (strstr(call->origin.call, frees[n]))
            return;
    struct os_source_loc first = {.site = first_call.site, .call = first_call.call},
                         now = {.site = call->origin.site, .call = call->origin.call},
                         *places[] = {&first, &now};
    if (!process.call_failed_in_child) {
        os_source_lines(places, 2);
        diag("%s at %s returns %s, as all calls do in a process that was forked after the first "
             "CUDA call (%s at %s). To do: fork before that call, or call exec in the child.",
             call->origin.call, now.text, error, first_call.call, first.text);
    }
    process.call_failed_in_child = true;
    failed_call_because("the process was forked after the first CUDA call");
}

static void note_error(const struct call *call, cudaError_t e)
{
    const char *name = call_error_name(call, e);
    if (!call->forgets_error)
        last_error = e;
    const bool is_of_child = process.forked && call->is_counted;
    if (is_of_child)
        explain_fork(call, name);
    if (is_mistake(e) || is_of_child)
        failed_call_note(call, name, error_string(e));
    if (!call->is_counted || summary.failed++)
        return;
    summary.first_failed = call->origin.call;
    summary.first_failed_site = call->origin.site;
    summary.first_error = name;
}

cudaError_t call_leave(struct call *call, cudaError_t e)
{
    if (stream_without_room)
        wait_for_room_unlocking(call);
    /* Measured (probe-reset.txt, "old_event"; kernels-reset.txt). */
    if (call->has_lost_event)
        e = strstr(call->origin.call, "WaitEvent") ? cudaErrorDeviceUninitialized
                                                   : cudaErrorContextIsDestroyed;
    /* Measured (probe-answers.txt, "last error"): cudaErrorNotReady is not remembered as an
     * error. */
    if (e && e != cudaErrorNotReady)
        note_error(call, e);
    if (line_is_open(&call->line))
        end_line(call, e);
    if (!in_host_function && !process.forked)
        host_idle_call_ends();
    lock_release();
    return e;
}

cudaError_t call_last_error(bool clear)
{
    /* A lost device is an error of each call, and a reset clears it (measured: probe-reset.txt,
     * "after_fault"). */
    bool faulted = device_sticky_error && device_sticky_error != cudaErrorDevicesUnavailable;
    cudaError_t e = faulted ? device_sticky_error : last_error;
    if (last_error)
        failed_call_asked();
    if (clear)
        last_error = cudaSuccess;
    return e;
}

bool call_is_drivers(const struct call *call)
{
    return strncmp(call->origin.call, "cuda", strlen("cuda")) != 0;
}

const char *call_error_name(const struct call *call, cudaError_t e)
{
    return call_is_drivers(call) ? driver_error_name(e) : error_name(e);
}

cudaError_t call_not_simulated(const struct call *call, const char *what, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, what);
    vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    diag("%s: %s not simulated: it returns %s.", call->origin.call, text,
         call_error_name(call, cudaErrorNotSupported));
    return cudaErrorNotSupported;
}

uint64_t call_told(uint64_t figure, size_t size)
{
    NEEDS_LOCK();
    static uint64_t more;
    if (size == sizeof(int))
        return figure + (uint64_t)settings.add;
    more += (uint64_t)settings.add << 20;
    return figure + more;
}

/* ---- handles, and fatal mistakes ---- */

void call_stop(const struct call *call, enum hazard kind, const char *sentence)
{
    if (!settings.check)
        fatal_hazard(kind, call->origin.call, "%s", sentence);
    hazards_diag("the program ends here: %s", sentence);
    fatal_end();
}

void call_bad_handle(const struct call *call, const char *what, enum handle_kind kind,
                     const void *handle, const char *destroyer, const char *maker)
{
    char text[1024];
    bool destroyed = handle_state(kind, handle) == HANDLE_DESTROYED;
    struct os_source_loc place = {.call = destroyer}, *places[] = {&place};
    place.site = destroyed ? handle_destroyed_at(handle) : NULL;
    if (place.site)
        os_source_lines(places, 1);
    snprintf(text, sizeof text,
             "%s was given %s that %s. A real driver may crash here.%s%s\n  To do:     call %s %s.",
             call->origin.call, what, destroyed ? "is destroyed" : "was never created",
             place.site ? "\n  destroyed  at " : "", place.text, destroyed ? destroyer : maker,
             destroyed ? "after its last use" : "before its first use");
    driver_words(text, sizeof text);
    fatal_hazard(HAZARD_BAD_HANDLE, call->origin.call, "%s", text);
}

void *call_object(const struct call *call, enum handle_kind kind, const void *handle)
{
    static const struct {
        const char *what, *destroyer, *maker;
    } words[HANDLE_KINDS] = {
        [HANDLE_STREAM] = {"a stream", "cudaStreamDestroy", "cudaStreamCreate"},
        [HANDLE_EVENT] = {"an event", "cudaEventDestroy", "cudaEventCreate"},
        [HANDLE_GRAPH] = {"a graph", "cudaGraphDestroy", "cudaGraphCreate"},
        [HANDLE_GRAPH_EXEC] = {"an executable graph", "cudaGraphExecDestroy",
                               "cudaGraphInstantiate"},
        [HANDLE_GRAPH_NODE] = {"a node of a graph", "cudaGraphDestroy",
                               "the function that adds it"},
        [HANDLE_ARRAY] = {"an array", "cudaFreeArray", "cudaMallocArray"},
        [HANDLE_MEMORY] = {"memory", "cuMemRelease", "cuMemCreate"},
    };
    void *object = handle ? handle_object(kind, handle) : NULL;
    if (handle && !object)
        call_bad_handle(call, words[kind].what, kind, handle, words[kind].destroyer,
                        words[kind].maker);
    return object;
}

void call_destroyed_pool(const struct call *call)
{
    fatal_hazard(HAZARD_BAD_HANDLE, call->origin.call,
                 "%s was given a pool that is destroyed. A real driver returns cudaSuccess and "
                 "dies of SIGSEGV at the next allocation.\n"
                 "  To do:     make another pool current, or destroy this one later.",
                 call->origin.call);
}

void call_ended_by_reset(const struct call *call, const char *what)
{
    fatal_hazard(HAZARD_BAD_HANDLE, call->origin.call,
                 "%s was given %s that cudaDeviceReset has ended. A real driver crashes here.\n"
                 "  To do:     make it anew after cudaDeviceReset.",
                 call->origin.call, what);
}

struct stream *call_stream(struct call *call, cudaStream_t handle)
{
    struct stream *s;
    if (handle == (cudaStream_t)-1)
        return NULL;
    if (handle == cudaStreamLegacy || (!handle && !call->per_thread))
        s = stream_legacy(device_current());
    else if (handle == cudaStreamPerThread || !handle)
        s = stream_per_thread(device_current());
    else
        s = call_object(call, HANDLE_STREAM, handle);
    /* Measured (probe-reset.txt, "old_stream", "old_stream_used"; kernels-reset.txt): a launch
     * crashes there, and other calls return an error (assumed: also unrecorded ones). */
    if (s->id && s->id <= device_last_reset(s->device)->stream) {
        if (strstr(call->origin.call, "aunch"))
            call_ended_by_reset(call, "a stream");
        return NULL;
    }
    if (line_is_open(&call->line))
        line_stream(&call->line, s);
    return s;
}
