/* The clock of a process: three epochs for each of its slots (sched/vector_clock.h), in a file in
 * memory. Every process that has met one of its epochs maps the file. A process has one clock,
 * whatever it shares, from the first thing that it shares until it ends.
 *
 *   the file
 *   +-----------------------+---------------------+---------------------+----
 *   | whose it is, whether  | slot 0: acquired,   | slot 1: acquired,   |
 *   | its device has failed | reached, awaited    | reached, awaited    |  ...
 *   +-----------------------+---------------------+---------------------+----
 *
 * acquired: the host of some process has acquired the slot's work up to here. Each host raises it
 * when it acquires something, in its own clock and in others'. The simulation
 * cannot see messages, so what one host has acquired happens before everything that any process
 * does later (assumed: no correct program is reported).
 *
 * reached: the device has reached this point of the slot's stream, where an interprocess event was
 * recorded. Only the process itself raises it.
 *
 * awaited: some process has waited for a record that this work precedes, so what that process does
 * later may come after the work. The waiting process raises it.
 *
 * A clock is named by its process and the number of the file there, and each epoch that is sent
 * contains that name. The work of a process that has ended is over (assumed).
 *
 * A clock that this process has met is kept until the end. All functions here need the lock. */
#ifndef SIM_IPC_PROCESS_CLOCK_H
#define SIM_IPC_PROCESS_CLOCK_H

#include "base/types.h"
#include "sched/vector_clock.h"

struct process_clock;

/* What others need to open the clock. */
struct clock_name {
    uint64_t process;
    /* The number of the file in that process. */
    int32_t file;
};

/* Makes a file in memory for something that is shared, such as "an interprocess event". Returns -1,
 * after a message, if the process has too many files open. */
int ipc_file_new(const char *what);
/* Makes this process's clock at its first call. Returns false, after a message, without a file for
 * it. */
bool process_clock_start(void);
/* Returns this process's clock, which must have been started. */
struct process_clock *process_clock_own(void);
/* Returns the clock of a process, never NULL, and opens it the first time. If its file cannot be
 * opened, all work of the process counts as over; one message says so if the process is alive. */
struct process_clock *process_clock_of(struct clock_name name);
struct clock_name process_clock_name(const struct process_clock *clock);
/* Returns the clock's number in this process, counted from 0. */
uint32_t process_clock_index(const struct process_clock *clock);

/* Adds the slot to this process's clock. Called before an epoch of the slot is published, so that
 * others find the slot there. */
void process_clock_add_slot(uint32_t slot);
/* Returns whether the clock has the slot and can be read. */
bool process_clock_has(struct process_clock *clock, uint32_t slot);
/* Records that some host has acquired the slot's work up to `epoch`. */
void process_clock_raise(struct process_clock *clock, uint32_t slot, uint64_t epoch);
/* Returns the epoch up to which some host has acquired the slot's work, or UINT64_MAX if another
 * process's clock cannot be read. */
uint64_t process_clock_acquired(struct process_clock *clock, uint32_t slot);
/* Records that this process's device has reached `epoch` of the slot. */
void process_clock_reach(uint32_t slot, uint64_t epoch);
/* Records that some process has waited for the slot's work up to `epoch`. */
void process_clock_await(struct process_clock *clock, uint32_t slot, uint64_t epoch);
/* Returns the epoch up to which another process has waited for this process's slot. */
uint64_t process_clock_awaited(uint32_t slot);
bool process_clock_reached(struct process_clock *clock, uint32_t slot, uint64_t epoch);

/* Until the release, the epochs that the process reached are kept even after it has ended. */
void process_clock_use(struct process_clock *clock);
void process_clock_release(struct process_clock *clock);
/* Returns whether the process has ended. Slow while the process is alive. */
bool process_clock_is_over(struct process_clock *clock);
/* Returns whether the process's device has failed, so that it will reach no more records. */
bool process_clock_has_failed(const struct process_clock *clock);

/* ---- vector clocks ---- */

/* Each slot of another process has a slot here, so that a vector clock (sched/vector_clock.h) can
 * contain epochs of its work. When this host acquires work, it raises the clocks of the processes
 * that own the work. A vector clock belongs to the caller. */

/* An epoch as processes send it: all work of this slot of this process up to `epoch`. */
struct remote_epoch {
    struct clock_name of;
    uint64_t epoch;
    uint32_t slot;
};

/* Epochs that are not over, because others need not be sent. */
struct remote_epochs {
    const struct remote_epoch *list;
    uint32_t count;
};

/* Called before this process shares anything. Returns false, after a message, on failure. */
bool remote_clock_start(void);
/* Returns the epoch up to which a vector clock includes the work of a slot of any process. */
uint64_t remote_clock_epoch(const struct vector_clock *vc, struct process_clock *clock,
                            uint32_t slot);
/* Returns what a vector clock includes and no host has acquired. Valid until the next call. */
struct remote_epochs remote_clock_export(const struct vector_clock *vc);
/* Joins the epochs that another process sent into a vector clock. */
void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs,
                         uint32_t count);

#endif
