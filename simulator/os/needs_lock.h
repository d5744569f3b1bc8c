/* NEEDS_LOCK() asserts that the calling thread has the lock. Each function that another room calls
 * and that must not be called without the lock begins with it. In sanitizer builds (SANITIZE=...,
 * which define ASSERT_LOCK) a call without it ends the process with the function's name. Elsewhere
 * NEEDS_LOCK() costs nothing. */
#ifndef SIM_OS_NEEDS_LOCK_H
#define SIM_OS_NEEDS_LOCK_H

#ifdef ASSERT_LOCK
/* Ends the process if the calling thread does not have the lock. */
void assert_lock_is_held(const char *function);
#define NEEDS_LOCK() assert_lock_is_held(__func__)
#else
#define NEEDS_LOCK() ((void)0)
#endif

#endif
