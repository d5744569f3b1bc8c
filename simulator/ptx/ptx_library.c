/* Gives the functions of this room to the simulated device, and takes those of os/ from it. */
#include "ptx/ptx_library.h"

#include "ptx/warp.h"

static struct ptx_borrowed borrowed;

void *os_allocate(size_t bytes) { return borrowed.os_allocate(bytes); }
void *os_allocate_table(size_t bytes) { return borrowed.os_allocate_table(bytes); }
void os_free(void *p) { borrowed.os_free(p); }
void *os_grow(void *old, size_t bytes) { return borrowed.os_grow(old, bytes); }
uint64_t os_clock_us(void) { return borrowed.os_clock_us(); }
void os_turn_begin(void) { borrowed.os_turn_begin(); }
void os_turn_end(void) { borrowed.os_turn_end(); }
void os_yield(void) { borrowed.os_yield(); }

void os_run_together(unsigned count, void (*body)(void *argument, unsigned n), void *argument)
{
    borrowed.os_run_together(count, body, argument);
}

#ifdef ASSERT_LOCK
void assert_lock_is_held(const char *function) { borrowed.assert_lock_is_held(function); }
#endif

__attribute__((visibility("default"))) const struct ptx_library *ptx_library(
    const struct ptx_borrowed *from)
{
#define MEMBER(function) .function = function,
    static const struct ptx_library library = {PTX_LENDS(MEMBER)};
#undef MEMBER
    borrowed = *from;
    NEEDS_LOCK();
    return HOT_RUNS ? &library : NULL;
}
