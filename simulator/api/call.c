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
static _Thread_local bool journalled;  /* the call on its way has a line */
static _Thread_local const char *name_now = "";
static unsigned fail_count;
static _Thread_local cudaError_t last_error;
_Thread_local void *call_site;

/* ---- beginning and end ---- */

/* Why the program may not touch the address, if that is ours to know. */
static void tell_touch(const struct place *p, const void *address, bool ours)
{
    if (!p->heap && ours)
        host_say("the device was to touch %p for the program, where the host has no memory: was it freed?", address);
    else if (p->heap && p->heap->shared)
        host_say("the host touched %p, which is an address of a host or managed pool, or of cudaMallocManaged, where nothing is allocated.", address);
    else if (p->kind == PLACE_BLOCK)
        host_say("the host touched %p, which is memory of device %d (block %u, %zu bytes): copy it with cudaMemcpy, or let a kernel do the work.", address, p->heap->device, p->chunk->id, p->chunk->asked);
    else if (p->heap)
        host_say("the host touched %p, which is an address of device %d where nothing is allocated.", address, p->heap->device);
}

/* The program touched an address that it may not. This runs in a signal handler, in the midst of a load or store of the program, which holds no lock of ours
 * or of the allocator: what it needs may be called. */
static bool judge(const void *address, void *site)
{
    bool ours = host_has_lock();       /* a call that writes an answer to where the program wants it */
    if (!ours) host_lock();
    bool go_on = guard_touched(address, ours ? NULL : site);
    struct place p = memory_find(address);
    go_on |= p.kind == PLACE_PINNED && !p.pinned->registered;        /* another thread was faster */
    if (!go_on) tell_touch(&p, address, ours);
    if (!ours) host_unlock();
    return go_on;
}

static void in_child(void) { forked = ready; }

static int exit_status;

static void remember_status(int status, void *unused)
{
    (void)unused;
    exit_status = status;
}

static void leave_alone(struct watched b) { (void)b; }

/* After all that the program itself does at its end. A program that ends because of an error, or after a fault, when no free works
 * any more, is not accused of what it leaves. */
__attribute__((destructor)) static void at_end(void)
{
    if (!ready || forked) return;
    bool inside = !host_try_lock();    /* exit in a signal handler, in the midst of a call: nothing is as it should be, and the lock is taken */
    if (inside && report_count()) host_exit(3);
    if (inside) return;
    away_let_others_finish();
    timeline_run_on();
    void (*left)(struct watched) = exit_status || device_faulted() ? leave_alone : checker_leaked;
    size_t live = memory_each_live(left);
    journal_did("exit");
    journal_number("live", live);
    journal_number("hazards", report_count());
    journal_did_end(clock_now());
    journal_close();
    if (report_count()) host_exit(3);
    host_unlock();
}

static void start(void)
{
    settings_read();
    host_thread();
    journal_open();
    journal_did("start");
    static const char *const paces[] = { "measured", "instant", "late", "random" };
    journal_number("journal", 1);
    journal_number("devices", (uint64_t)settings.devices);
    journal_number("memory", settings.memory);
    journal_text("pace", paces[settings.pace]);
    journal_number("driver", (uint64_t)settings.driver_version);
    journal_did_end(0);
    host_on_bad_address(judge);
    host_after_fork(in_child);
    on_exit(remember_status, NULL);
    ready = true;
}

/* ---- each call ---- */

/* Does a thread of the program make the call? Not a host function, which is on a thread of ours, nor a forked child, which has no other. */
static bool is_of_program(void) { return !forked && !timeline_in_host_function(); }

void call_begin_always(const char *name, time_ns cost)
{
    if (is_of_program()) away_caller_comes();
    host_lock();
    if (!ready) start();
    if (is_of_program()) away_call_begins();
    name_now = name;
    journalled = true;
    checker_call(name, call_site);
    journal_call(name);
    clock_charge(cost);
    if (forked) return;                /* the work on its way is the parent's to do, also to memory that both share */
    if (timeline_busy()) timeline_catch_up();
    if (guard_paused) guard_renew();
    if (timeline_function_ended()) pools_synchronized();
}

/* Chosen: a driver without pools answers every call about them with cudaErrorNotSupported, which cudaMallocAsync's documentation lists. */
static bool lacks_pools(const char *name)
{
    return settings.driver_version < 11020
        && (strstr(name, "MemPool") || strstr(name, "FromPoolAsync") || !strcmp(name, "cudaMallocAsync") || !strcmp(name, "cudaFreeAsync"));
}

cudaError_t call_begin(const char *name, time_ns cost)
{
    if (timeline_in_host_function()) {
        /* The lock may be held by the call that waits for this function. */
        host_lock();
        journalled = false;
        return cudaErrorNotPermitted;
    }
    call_begin_always(name, cost);
    if (forked) return cudaErrorInitializationError;
    if (lacks_pools(name)) return cudaErrorNotSupported;
    if (settings.fail_at && !strcmp(name, settings.fail_call) && ++fail_count == settings.fail_at) return cudaErrorMemoryAllocation;
    if (device_faulted()) return device_faulted();
    return capture_count ? capture_guard(name) : cudaSuccess;
}

static void leave(void)
{
    if (is_of_program()) away_call_ends();
    host_unlock();
}

cudaError_t call_end(cudaError_t e)
{
    /* measured: cudaErrorNotReady is an answer, not an error to remember */
    if (e && e != cudaErrorNotReady) last_error = e;
    if (journal_on && journalled) journal_call_end(error_name(e));
    leave();
    return e;
}

void call_end_quietly(void)
{
    journal_drop();
    leave();
}

const char *call_name(void) { return name_now; }

cudaError_t call_last_error(bool clear)
{
    cudaError_t e = device_faulted() ? device_faulted() : last_error;
    if (clear) last_error = cudaSuccess;
    return e;
}

/* ---- handles, and what no program survives ---- */

void call_stop(const char *kind, const char *sentence)
{
    if (!settings.check) end_hazard(kind, name_now, "%s. %s", kind, sentence);
    host_say("the program ends here: %s", sentence);
    journal_drop();
    journal_close();
    host_exit(3);
}

void call_bad_handle(const char *what, enum handle_kind kind, const void *handle, const char *destroyer, const char *maker)
{
    bool gone = handle_state(kind, handle) == HANDLE_GONE;
    end_hazard("bad handle", name_now, "%s was given %s that %s. A real driver may crash here.\n  To do: call %s %s.", name_now, what,
                gone ? "is destroyed" : "was never created", gone ? destroyer : maker, gone ? "after its last use" : "before its first use");
}

void call_gone_pool(const char *name)
{
    end_hazard("bad handle", name_now, "%s was given a pool that is destroyed. A real driver answers cudaSuccess and dies of SIGSEGV at the next allocation.\n"
                "  To do: make another pool current, or destroy this one later.", name);
}

struct stream *call_stream(cudaStream_t handle, bool per_thread)
{
    struct stream *s;
    if (handle == cudaStreamLegacy || (!handle && !per_thread)) s = stream_legacy(device_current());
    else if (handle == cudaStreamPerThread || !handle) s = stream_per_thread(device_current());
    else s = handle_object(HANDLE_STREAM, handle);
    if (!s) call_bad_handle("a stream", HANDLE_STREAM, handle, "cudaStreamDestroy", "cudaStreamCreate");
    stream_journal(s);
    return s;
}
