/* The process as a whole: its first call, its end, a fork, and explanations of bad addresses. */
#include "api/own_process.h"

#include "api/call.h"
#include "base/fatal.h"
#include "base/hazards.h"
#include "base/settings.h"
#include "base/summary.h"
#include "check/checker.h"
#include "check/conflict.h"
#include "check/failed_call.h"
#include "check/page_guard.h"
#include "check/report.h"
#include "ipc/ipc_memory.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "os/os.h"
#include "module/registry.h"
#include "run/user_kernel.h"
#include "sched/engine.h"
#include "sched/host_idle.h"
#include "sched/virtual_time.h"

struct process process;

/* The program's argument of exit, or 0. Only the thread that ends the process uses this. */
static int exit_status;

/* ---- faults ---- */

/* Says why the program may not touch the address, if it is one of the simulation's. This is not
 * counted as a hazard, because a program with its own signal handler may continue. */
static void diag_touch(const struct address_info *a, const void *address, bool in_call)
{
    char freed[256];
    if (a->kind != ADDRESS_ALLOCATED && !in_call
        && checker_freed_text(address, freed, sizeof freed))
        hazards_diag("the host touched %p, which is in %s.", address, freed);
    else if (!a->heap && in_call)
        hazards_diag(
            "the device was to touch %p for the program, where the host has no memory: was it "
            "freed?",
            address);
    else if (!a->heap && pinned_has_free_pages(address, 1))
        hazards_diag("the host touched %p, which is an address of pinned memory where nothing is "
                     "allocated: was it freed?",
                     address);
    else if (a->heap && a->heap->host_visible)
        hazards_diag("the host touched %p, which is an address of a host or managed pool, or of "
                     "cudaMallocManaged, where nothing is allocated.",
                     address);
    else if (a->kind == ADDRESS_ALLOCATED)
        hazards_diag(
            "the host touched %p, which is memory of device %d (allocation %u, %zu bytes): copy it "
            "with cudaMemcpy, or let a kernel do the work.",
            address, a->heap->device, a->range->id, a->range->requested);
    else if (a->heap)
        hazards_diag(
            "the host touched %p, which is an address of device %d where nothing is allocated.",
            address, a->heap->device);
}

/* The process dies of an instruction of the program. */
static void diag_place(const void *address, void *site)
{
    struct os_source_loc place = {.site = site}, *places[] = {&place};
    os_source_lines(places, 1);
    hazards_diag("the program died because it touched %p at %s.", address, place.text);
}

/* Ends the process because its time is over, and says where this thread is. It does not wait for
 * the lock, which another thread may hold forever. */
static void on_time_over(void *site, const char *call)
{
    bool in_call = lock_is_held();
    if (!in_call && !lock_try_acquire())
        return;
    struct os_source_loc place = {.site = site}, *places[] = {&place};
    os_source_lines(places, 1);
    diag("the program was stopped%s%s at %s.", call ? " in " : "",
         call && !*call ? "a call"
         : call         ? call
                        : "",
         place.text);
    journal_flush(true);
    if (!in_call)
        lock_release();
}

/* The program itself may have closed the page of registered memory: then each try fails. */
static bool tries_again(const void *address)
{
    static _Thread_local const void *last;
    static _Thread_local unsigned times;
    times = address == last ? times + 1 : 0;
    last = address;
    return times < 100;
}

/* Called when an instruction has touched a closed or invalid address. This runs in a signal
 * handler. A load or store of the program holds no lock of ours or of the allocator, so any
 * function may be called. If a library touched a bad address that the program passed to it, the
 * process ends, and only the journal is saved. */
static bool on_bad_address(const void *address, void *site, bool in_program)
{
    /* A call of the runtime touched the address when it stored its answer where the program wants
     * it. */
    bool in_call = lock_is_held();
    if (!in_call)
        lock_acquire();
    struct address_info a = memory_find(address);
    if (in_call && (a.heap || a.kind == ADDRESS_PINNED))
        user_kernel_touched(address);
    bool resume = page_guard_touched(address, in_call ? NULL : site);
    /* Another thread has already handled it. */
    resume |= a.kind == ADDRESS_PINNED && (!a.pinned->registered || tries_again(address));
    if (!resume) {
        diag_touch(&a, address, in_call);
        if (in_program && !in_call)
            diag_place(address, site);
        journal_flush(in_call || in_program);
    }
    if (!in_call)
        lock_release();
    return resume;
}

/* The child's lines are dropped, and a line that another thread was making has no owner. */
static void in_child(void)
{
    process.forked = process.started;
    journal_on = false;
    failed_call_forget();
}

/* Reports a call that failed in the forked child without the program's notice, and ends the process
 * then. */
static void end_child(void)
{
    const unsigned before = report_count();
    if (!process.call_failed_in_child || !lock_try_acquire())
        return;
    failed_call_report(exit_status && registry_has_kernels());
    if (report_count() > before) {
        hazards_diag("1 hazard was reported, so the exit status of this forked process is 3.");
        os_exit(3);
    }
    lock_release();
}

/* The first call registers this handler, so functions that the program registered earlier, such as
 * destructors of global objects, run after it. */
static void begin_to_end(int status)
{
    exit_status = status;
    __atomic_store_n(&process.unloading, true, __ATOMIC_RELAXED);
}

static void ignore_leak(struct shadow_ref ref) { (void)ref; }

/* Runs after all that the program does at its end. No leaks are reported if the program ends
 * because of an error, or after a fault, since no free works any more, or if its frees came too
 * late, which a sentence has said. */
__attribute__((destructor)) static void at_end(void)
{
    if (process.forked)
        end_child();
    if (!process.started || process.forked)
        return;
    /* exit was called in a signal handler, in the middle of a call: the state is inconsistent, and
     * the lock is held. */
    bool in_call = !lock_try_acquire();
    if (in_call && report_count()) {
        hazards_end(report_count());
        os_exit(3);
    }
    if (in_call)
        return;
    host_idle_finish_others_unlocking();
    engine_run_all_unlocking();
    if (conflicts_postponed)
        checker_judge_postponed();
    void (*visit_live)(struct shadow_ref) =
        exit_status || device_sticky_error || process.freed_too_late ? ignore_leak : checker_leaked;
    size_t live = memory_for_each_live(visit_live);
    failed_call_report(exit_status && registry_has_kernels());
    report_at_end();
    summary_print(report_count(), visit_live == ignore_leak ? 0 : live);
    struct journal_line line;
    line_begin(&line, virtual_now, "exit");
    line_number(&line, "live", live);
    line_number(&line, "hazards", report_count());
    size_t descriptors = ipc_pool_count_open();
    if (descriptors)
        line_number(&line, "descriptors", descriptors);
    line_write(&line);
    journal_close();
    bool given_up = !exit_status && !report_count() && hazards_end_given_up();
    if (report_count())
        hazards_end(report_count());
    hazards_close();
    if (report_count() || given_up)
        os_exit(given_up ? 4 : 3);
    lock_release();
}

/* A graded run is sealed before the program has done anything. */
__attribute__((constructor)) static void at_load(void) { settings_seal(); }

void process_start(void)
{
    static const char *const schedules[] = {"measured", "instant", "late", "random"};
    os_fatal_status = 2; /* A wrong setting is no mistake of the program. */
    settings_read();
    call_read_fail();
    os_thread_index();
    journal_open();
    hazards_open();
    os_fatal_status = 1;
    if (journal_on)
        journal_observe();
    struct journal_line line;
    line_begin(&line, 0, "start");
    line_number(&line, "journal", 1);
    line_number(&line, "devices", (uint64_t)settings.devices);
    line_number(&line, "memory", settings.memory);
    line_text(&line, "schedule", schedules[settings.schedule]);
    line_number(&line, "driver", (uint64_t)settings.driver_version);
    if (*settings.given)
        line_text(&line, "settings", settings.given);
    line_write(&line);
    os_on_bad_address(on_bad_address);
    os_on_time_over(on_time_over);
    os_after_fork(in_child);
    os_at_exit(begin_to_end);
    process.started = true;
}
