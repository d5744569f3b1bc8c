/* What every call has in common, and the process's beginning and end. */
#define _GNU_SOURCE
#include "api/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/host_idle.h"
#include "graph/capture.h"
#include "check/checker.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "base/fatal.h"
#include "check/page_guard.h"
#include "os/os.h"
#include "base/journal.h"
#include "mem/memory.h"
#include "check/report.h"
#include "base/settings.h"
#include "mem/address_map.h"
#include "sched/engine.h"

static bool ready, forked;
static _Thread_local bool has_line; /* the call on its way has a line */
static _Thread_local const char *current_name = "";
static unsigned fail_count;
static _Thread_local cudaError_t last_error;
_Thread_local void *call_site;

/* ---- beginning and end ---- */

/* Why the program may not touch the address, if that is ours to know. */
static void diag_touch(const struct address_info *a, const void *address, bool in_call)
{
    if (!a->heap && in_call)
        diag("the device was to touch %p for the program, where the host has no memory: was it "
             "freed?",
             address);
    else if (a->heap && a->heap->host_visible)
        diag("the host touched %p, which is an address of a host or managed pool, or of "
             "cudaMallocManaged, where nothing is allocated.",
             address);
    else if (a->kind == ADDRESS_ALLOCATED)
        diag("the host touched %p, which is memory of device %d (block %u, %zu bytes): copy it "
             "with cudaMemcpy, or let a kernel do the work.",
             address, a->heap->device, a->range->id, a->range->requested);
    else if (a->heap)
        diag("the host touched %p, which is an address of device %d where nothing is allocated.",
             address, a->heap->device);
}

/* The program touched an address that it may not. This runs in a signal handler, in the midst of a
 * load or store of the program, which holds no lock of ours or of the allocator: what it needs may
 * be called. */
static bool on_bad_address(const void *address, void *site)
{
    /* A call that writes an answer to where the program wants it. */
    bool in_call = lock_is_held();
    if (!in_call)
        lock_acquire();
    bool resume = page_guard_touched(address, in_call ? NULL : site);
    struct address_info a = memory_find(address);
    /* Another thread was faster. */
    resume |= a.kind == ADDRESS_PINNED && !a.pinned->registered;
    if (!resume)
        diag_touch(&a, address, in_call);
    if (!in_call)
        lock_release();
    return resume;
}

static void in_child(void) { forked = ready; }

static int exit_status;

static void remember_status(int status, void *unused)
{
    (void)unused;
    exit_status = status;
}

static void ignore_leak(struct shadow_ref ref) { (void)ref; }

/* After all that the program itself does at its end. A program that ends because of an error, or
 * after a fault, when no free works any more, is not accused of what it leaves. */
__attribute__((destructor)) static void at_end(void)
{
    if (!ready || forked)
        return;
    /* Exit in a signal handler, in the midst of a call: nothing is as it should be, and the lock is
     * taken. */
    bool in_call = !lock_try_acquire();
    if (in_call && report_count())
        os_exit(3);
    if (in_call)
        return;
    host_idle_finish_others();
    engine_run_all();
    void (*visit_live)(struct shadow_ref) =
        exit_status || device_sticky_error() ? ignore_leak : checker_leaked;
    size_t live = memory_for_each_live(visit_live);
    journal_did("exit");
    journal_number("live", live);
    journal_number("hazards", report_count());
    journal_did_end(time_now());
    journal_close();
    if (report_count())
        os_exit(3);
    lock_release();
}

static void allocation_entry(void)
{
    settings_read();
    os_thread_index();
    journal_open();
    journal_did("start");
    static const char *const schedules[] = {"measured", "instant", "late", "random"};
    journal_number("journal", 1);
    journal_number("devices", (uint64_t)settings.devices);
    journal_number("memory", settings.memory);
    journal_text("pace", schedules[settings.schedule]);
    journal_number("driver", (uint64_t)settings.driver_version);
    journal_did_end(0);
    os_on_bad_address(on_bad_address);
    os_after_fork(in_child);
    on_exit(remember_status, NULL);
    ready = true;
}

/* ---- each call ---- */

/* Does a thread of the program make the call? Not a host function, which is on a thread of ours,
 * nor a forked child, which has no other. */
static bool is_program_thread(void) { return !forked && !engine_in_host_function(); }

void call_begin_always(const char *name, time_ns cost)
{
    if (is_program_thread())
        host_idle_call_arrives();
    lock_acquire();
    if (!ready)
        allocation_entry();
    if (is_program_thread())
        host_idle_call_begins();
    current_name = name;
    has_line = true;
    checker_set_call(name, call_site);
    journal_call(name);
    time_charge(cost);
    /* The work on its way is the parent's to do, also to memory that both share. */
    if (forked)
        return;
    if (engine_is_busy())
        engine_catch_up();
    if (page_guard_paused)
        page_guard_resume();
    if (engine_function_ended())
        pools_synchronized();
}

/* Chosen: a driver without pools answers every call about them with cudaErrorNotSupported, which
 * cudaMallocAsync's documentation lists. */
static bool lacks_pools(const char *name)
{
    return settings.driver_version < 11020
        && (strstr(name, "MemPool") || strstr(name, "FromPoolAsync")
            || !strcmp(name, "cudaMallocAsync") || !strcmp(name, "cudaFreeAsync"));
}

cudaError_t call_begin(const char *name, time_ns cost)
{
    if (engine_in_host_function()) {
        /* The lock may be held by the call that waits for this function. */
        lock_acquire();
        has_line = false;
        return cudaErrorNotPermitted;
    }
    call_begin_always(name, cost);
    if (forked)
        return cudaErrorInitializationError;
    if (lacks_pools(name))
        return cudaErrorNotSupported;
    if (settings.fail_at && !strcmp(name, settings.fail_call) && ++fail_count == settings.fail_at)
        return cudaErrorMemoryAllocation;
    if (device_sticky_error())
        return device_sticky_error();
    return capture_count ? capture_check_call(name) : cudaSuccess;
}

static void leave_call(void)
{
    if (is_program_thread())
        host_idle_call_ends();
    lock_release();
}

cudaError_t call_end(cudaError_t e)
{
    /* measured: cudaErrorNotReady is an answer, not an error to remember */
    if (e && e != cudaErrorNotReady)
        last_error = e;
    if (journal_on && has_line)
        journal_call_end(error_name(e));
    leave_call();
    return e;
}

void call_end_quietly(void)
{
    journal_drop();
    leave_call();
}

const char *call_name(void) { return current_name; }

cudaError_t call_last_error(bool clear)
{
    cudaError_t e = device_sticky_error() ? device_sticky_error() : last_error;
    if (clear)
        last_error = cudaSuccess;
    return e;
}

/* ---- handles, and what no program survives ---- */

void fatal_stop(const char *kind, const char *sentence)
{
    if (!settings.check)
        fatal_hazard(kind, current_name, "%s. %s", kind, sentence);
    diag("the program ends here: %s", sentence);
    journal_drop();
    journal_close();
    os_exit(3);
}

void call_bad_handle(const char *what, enum handle_kind kind, const void *handle,
                     const char *destroyer, const char *maker)
{
    bool destroyed = handle_state(kind, handle) == HANDLE_DESTROYED;
    fatal_hazard("bad handle", current_name,
                 "%s was given %s that %s. A real driver may crash here.\n  To do: call %s %s.",
                 current_name, what, destroyed ? "is destroyed" : "was never created",
                 destroyed ? destroyer : maker,
                 destroyed ? "after its last use" : "before its first use");
}

void call_destroyed_pool(const char *name)
{
    fatal_hazard("bad handle", current_name,
                 "%s was given a pool that is destroyed. A real driver answers cudaSuccess and "
                 "dies of SIGSEGV at the next allocation.\n"
                 "  To do: make another pool current, or destroy this one later.",
                 name);
}

struct stream *call_stream(cudaStream_t handle, bool per_thread)
{
    struct stream *s;
    if (handle == cudaStreamLegacy || (!handle && !per_thread))
        s = stream_legacy(device_current());
    else if (handle == cudaStreamPerThread || !handle)
        s = stream_per_thread(device_current());
    else
        s = handle_object(HANDLE_STREAM, handle);
    if (!s)
        call_bad_handle("a stream", HANDLE_STREAM, handle, "cudaStreamDestroy", "cudaStreamCreate");
    stream_journal(s);
    return s;
}
