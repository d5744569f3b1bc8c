/* The functions that the simulated device and this room's library, libptx.so, give each other. The
 * file run/kernel_library.c loads the library for a program that registers or loads a kernel. A
 * program without kernels of nvcc runs without it, and the first lesson is compiled without it. */
#ifndef SIM_PTX_PTX_LIBRARY_H
#define SIM_PTX_PTX_LIBRARY_H

#include "os/needs_lock.h"
#include "os/os.h"
#include "ptx/grid.h"

#ifdef ASSERT_LOCK
#define PTX_BORROWS_ASSERTION(F) F(assert_lock_is_held)
#else
#define PTX_BORROWS_ASSERTION(F)
#endif
/* The functions of os/ that the library calls. It borrows the simulated device's, because they have
 * the lock and the threads that have it. */
#define PTX_BORROWS(F)   \
    F(os_allocate)       \
    F(os_allocate_table) \
    F(os_free)           \
    F(os_grow)           \
    F(os_clock_us)       \
    F(os_run_together)   \
    F(os_turn_begin)     \
    F(os_turn_end)       \
    F(os_yield)          \
    PTX_BORROWS_ASSERTION(F)

/* The functions of the library that the simulated device calls. */
#define PTX_LENDS(F)            \
    F(code_read)                \
    F(code_address_origins)     \
    F(kernel_signals)           \
    F(kernel_awaits_others)     \
    F(kernel_lets_others_begin) \
    F(window_end)               \
    F(grid_run)

#define MEMBER(function) __typeof__(function) *function;
struct ptx_borrowed {
    PTX_BORROWS(MEMBER)
};
struct ptx_library {
    PTX_LENDS(MEMBER)
};
#undef MEMBER

/* Returns the library's functions, or NULL if the processor lacks what they were compiled for. The
 * only function that libptx.so exports. */
const struct ptx_library *ptx_library(const struct ptx_borrowed *from);

#endif
