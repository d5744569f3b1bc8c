/* The law of the one lock, asserted: a function that another room calls, and that needs the lock,
 * begins with NEEDS_LOCK(). In the sanitizer builds (SANITIZE=..., which define ASSERT_LOCK) a call
 * without the lock ends the process with the function's name; elsewhere the line costs nothing. */
#ifndef SIM_OS_NEEDS_LOCK_H
#define SIM_OS_NEEDS_LOCK_H

#ifdef ASSERT_LOCK
/* Ends the process when the calling thread has not the lock. */
void assert_lock_is_held(const char *function);
#define NEEDS_LOCK() assert_lock_is_held(__func__)
#else
#define NEEDS_LOCK() ((void)0)
#endif

#endif
