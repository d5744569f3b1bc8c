/* Launches whose accesses are found when they run: kernels that nvcc built. They are judged then,
 * by what came before the launch, as if they had been known at the call:
 *
 * - What the program did before the launch is in the access trees. While the launch has not run, an
 *   access that does not come before it stays there, and so do the accesses of an allocation that
 *   is freed meanwhile.
 * - What it did after the launch was compared with the launch at its own call; what does not come
 *   after it is kept in the launch's list, and is a hazard if the launch touches the same bytes.
 *
 * So a missing edge is found whichever of the two runs first. Of one allocation, from 256 accesses
 * on that are kept for this reason alone, none more is kept (assumed: it decides for the program).
 *
 * All of these need the lock. A launch belongs to the work that runs it. */
#ifndef SIM_CHECK_LATE_LAUNCH_H
#define SIM_CHECK_LATE_LAUNCH_H

#include "check/byte_set.h"
#include "check/conflict.h"
#include "check/shadow.h"

/* What was done after a launch and does not come after it. */
struct after_launch {
    struct after_launch *next;
    /* `earlier` is not set. */
    struct conflict conflict;
    /* What the conflict's `ref` points to, for reports. */
    struct shadow shadow;
};

struct late_launch {
    struct late_launch *next;
    struct origin origin;
    const struct stream *s;
    /* What comes before it. */
    struct vector_clock before;
    /* When `is_unsure`: the same without what host functions may not have told the host
     * (host_is_unsure). */
    struct vector_clock sure;
    bool is_unsure;
    /* What held it up: until that is over, what the host acquires comes before it, too. */
    struct host_bound obstacle;
    /* Its number among all accesses and launches; the newest allocation of then. */
    uint64_t number;
    uint32_t newest_allocation;
    struct after_launch *first, **end;
};

/* An allocation that was freed after launches that have not run. */
struct late_freed {
    struct late_freed *next;
    /* Its accesses are in `shadow`. */
    struct shadow_ref ref;
    struct shadow shadow;
    uint64_t number;
};

/* Is there a launch that has not run? late_launch.c writes it. */
extern struct late_launch *late_launches;

/* Returns the next number of an access or a launch. */
uint64_t late_next_number(void);
/* Operation `origin` of `s` is such a launch. */
struct late_launch *late_launch_new(const struct origin *origin, const struct stream *s,
                                    uint32_t newest_allocation);
/* It has run: the launch, and what was kept for it alone, is freed. */
void late_launch_end(struct late_launch *l);

/* Does this come before the launch? */
bool late_comes_after(const struct late_launch *l, const struct origin *earlier);
/* Is the access still to be compared with a launch that has not run? */
bool late_needs(const struct access *a);
/* Keeps a conflict for a launch. */
void late_keep(struct late_launch *l, const struct conflict *c);
/* The allocation is freed, and its shadow is about to be emptied: its accesses are kept. */
void late_freed_add(struct shadow_ref ref);
/* Returns the allocation that an address was in when the launch was made, and that is freed now; or
 * NULL. */
struct late_freed *late_freed_find(const struct late_launch *l, const char *address);

#endif
