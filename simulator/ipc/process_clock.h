/* The clock of a process: two epochs for each of its slots (sched/vector_clock.h), in a file in
 * memory that every process maps which has met one of its epochs. A process has one clock, whatever
 * it shares, from the first thing on that it shares until it ends.
 *
 *   the file
 *   +-----------------------+---------------------+---------------------+----
 *   | whose it is, whether  | slot 0:             | slot 1:             |
 *   | its device has failed | acquired, reached   | acquired, reached   |  ...
 *   +-----------------------+---------------------+---------------------+----
 *
 * acquired: the host of some process has acquired the slot's work up to here. Each host raises it
 * whenever it acquires something, in its own clock and in others' (ipc/remote_clock.h). How
 * messages travel is not seen, so what one host has acquired happens before whatever any process
 * does from then on (assumed: no correct program is reported).
 *
 * reached: the device has come to here in the slot's stream, where an interprocess event was
 * recorded. The process itself raises it.
 *
 * A clock is named by its process and the number that its file has there; these travel with each
 * epoch. What a process that has ended left behind is over (assumed).
 *
 * All of these need the lock. A clock stays for good once it is met. */
#ifndef SIM_IPC_PROCESS_CLOCK_H
#define SIM_IPC_PROCESS_CLOCK_H

#include "base/types.h"

struct process_clock;

/* What others need to open it. */
struct clock_name {
    uint64_t process;
    /* The number of the file in that process. */
    int32_t file;
};

/* Makes this process's clock, if it has none. Returns false, with a sentence, when there is no file
 * for it. */
bool process_clock_start(void);
/* Returns this process's clock, which was started. */
struct process_clock *process_clock_own(void);
/* Returns the clock of a process, opened when it is first met. Never NULL: where the file cannot be
 * opened, nothing is known, and all that the process does counts as over. That is said once, when
 * the process is alive. */
struct process_clock *process_clock_of(struct clock_name name);
struct clock_name process_clock_name(const struct process_clock *clock);
/* Returns its number here: they are given out from 0 up. */
uint32_t process_clock_index(const struct process_clock *clock);

/* This process's clock gets the slot, so that others find it there: before an epoch of it is
 * published. */
void process_clock_add_slot(uint32_t slot);
/* Returns whether the clock has the slot, and can be read. */
bool process_clock_has(struct process_clock *clock, uint32_t slot);
/* Some host has acquired the slot's work up to `epoch`. */
void process_clock_raise(struct process_clock *clock, uint32_t slot, uint64_t epoch);
/* Returns up to where some host has acquired the slot's work; UINT64_MAX where another process's
 * clock cannot be read. */
uint64_t process_clock_acquired(struct process_clock *clock, uint32_t slot);
/* This process's device has come to `epoch` of the slot. */
void process_clock_reach(uint32_t slot, uint64_t epoch);
bool process_clock_reached(struct process_clock *clock, uint32_t slot, uint64_t epoch);

/* Until the release, what the process has reached is kept when it has ended, too. */
void process_clock_use(struct process_clock *clock);
void process_clock_release(struct process_clock *clock);
/* Has the process ended? Slow while it has not. */
bool process_clock_is_over(struct process_clock *clock);
/* Has the process's device failed, so that it comes to no more records? */
bool process_clock_has_failed(const struct process_clock *clock);

#endif
