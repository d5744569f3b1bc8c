/* Launches whose accesses are found when they run: kernels that nvcc built. They are judged then,
 * by what came before the launch, as if the accesses had been known at the call:
 *
 * - What the program did before the launch is in the access trees. Until the launch has run, an
 *   access that does not come before it stays there, and so do the accesses of an allocation that
 *   is freed meanwhile.
 * - What the program did after the launch was compared with the launch at its own call. What does
 *   not come after the launch is in its list, and is a hazard if the launch touches the same bytes.
 *
 * So a missing edge is found whichever of the two runs first. When an allocation has 256 accesses,
 * no more of its accesses are kept only for this reason (assumed: it decides for the program). A
 * launch belongs to the work that runs it. All of these need the lock. */
#ifndef SIM_CHECK_LATE_LAUNCH_H
#define SIM_CHECK_LATE_LAUNCH_H

#include "check/byte_set.h"
#include "check/conflict.h"
#include "check/shadow.h"

/* An access or a free that the program made after a launch, and that is not ordered after it. */
struct after_launch {
    struct after_launch *next;
    /* The conflict, without `earlier` and the shadow. */
    struct conflict conflict;
};

struct late_launch {
    struct late_launch *next;
    struct origin origin;
    const struct stream *s;
    /* The vector clock of what precedes the launch. */
    struct vector_clock before;
    /* If `is_unsure`: the same clock without what the host may not have learned from host functions
     * (host_is_unsure). */
    struct vector_clock sure;
    bool is_unsure;
    /* The launch may begin before the kernel before it in its stream has ended, and does not wait
     * for that kernel. */
    bool overlaps;
    /* The gate or host function that delays the launch. Until that ends, what the host acquires
     * precedes the launch, too. */
    struct host_bound obstacle;
    /* The real time of the launch's call, in microseconds; 0 while no memory is shared with other
     * processes. */
    uint64_t made_at;
    /* Its number among all accesses and launches, and the newest allocation at the time of its
     * call. */
    uint64_t number;
    uint32_t newest_allocation;
    struct after_launch *first, **end;
    size_t parameter_bytes;
    char parameters[];
};

/* An allocation that was freed while launches had not run. */
struct late_freed {
    struct late_freed *next;
    /* The accesses are in `shadow`. */
    struct shadow_ref ref;
    struct shadow shadow;
    uint64_t number;
};

/* The launches that have not run, or NULL. Written by late_launch.c. */
extern struct late_launch *late_launches;

/* Returns the next number of an access or launch. */
uint64_t late_next_number(void);
/* Called when operation `origin` of `s` is such a launch, with these parameters. */
struct late_launch *late_launch_new(const struct origin *origin, const struct stream *s,
                                    uint32_t newest_allocation, const char *parameters,
                                    size_t parameter_bytes);
/* Called when the launch has run: frees the launch and what was kept only for it. */
void late_launch_end(struct late_launch *l);

/* Returns whether one of these parameters, or a part of one, points into [base, end]. */
bool late_is_given(const char *parameters, size_t parameter_bytes, uint64_t base, uint64_t end);
/* Returns whether this comes before the launch. The launch's own accesses do, because the only
 * grids after them are those that the launch itself has launched (run/device_runtime.c). */
bool late_comes_after(const struct late_launch *l, const struct origin *earlier);
/* Called when a wait for a value ends: `before` comes before the launches after it. */
void late_learn(const struct op *wait, const struct vector_clock *before);
/* Returns whether the access must still be compared with a launch that has not run. */
bool late_needs(const struct access *a);
void late_keep(struct late_launch *l, const struct conflict *c);
/* Called when the allocation is freed, before its shadow is emptied: keeps its accesses. */
void late_freed_add(struct shadow_ref ref);
/* Returns the allocation, freed by now, that contained the address when the launch was made, or
 * NULL. */
struct late_freed *late_freed_find(const struct late_launch *l, const char *address);
/* Returns the newest such allocation, with an id up to this one, that had the address, or NULL. */
struct late_freed *late_freed_at(uint32_t newest_allocation, const char *address);

#endif
