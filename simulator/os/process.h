/* What one process can find out about another, and memory that both can map. A part of the one door
 * to the operating system (os/os.h). These need the lock. */
#ifndef SIM_OS_PROCESS_H
#define SIM_OS_PROCESS_H

#include "os/units.h"

/* Returns this process: its pid and when it was started, in one number that is never 0. So a pid
 * that was given out again is another process. */
uint64_t os_process(void);
static inline int os_process_pid(uint64_t process) { return (int)(process & 0x3fffff); }
/* Is that process there? One of which no thread will run again is not. */
bool os_process_alive(uint64_t process);
/* Is it there also when it is not about to end? One whose first thread has no memory any more shows
 * its files to root alone, while its other threads are still being ended. Waits for those, for a
 * second at most. */
bool os_process_stays(uint64_t process);
uint64_t os_random(void);

/* A lock in memory that processes share: 0 when free. One that died with it loses it. Held for a
 * few instructions at a time. */
void os_shm_lock(uint64_t *lock);
void os_shm_unlock(uint64_t *lock);

/* Makes a new, empty file in memory. Returns a number above those that programs count on, which the
 * caller owns until os_fd_close; -1 when there is none. */
int os_memfd_new(void);
/* Makes the file at least this long. Returns false, with a sentence, when this process may not
 * (ulimit -f) or there is no room. */
bool os_fd_grow(int fd, size_t bytes);
/* Gives the room of a part of the file back; it reads as zero afterwards, in every process. */
void os_fd_discard(int fd, size_t from, size_t bytes);
size_t os_fd_size(int fd);
/* Maps the file's first `bytes`; NULL when that fails. The caller owns it until os_fd_unmap. */
void *os_fd_map(int fd, size_t bytes);
void os_fd_unmap(void *at, size_t bytes);
/* Reserves like os_reserve (os/os.h) with storage in the file, behind its first `skip` bytes. It
 * may reach beyond the file's end, but must not be touched there. */
char *os_reserve_in_file(int fd, size_t skip, size_t bytes);
/* The same like os_reserve_host_visible. */
char *os_reserve_host_visible_in_file(int fd, size_t skip, size_t bytes);
/* Return another number for the same file: for the program (the lowest free one), or for us. -1:
 * the number is closed, or there are none left. */
int os_fd_dup(int fd);
int os_fd_dup_high(int fd);
bool os_fd_is_open(int fd);
/* Is it a file in memory? */
bool os_fd_is_memfd(int fd);
/* Opens a file in memory that another process has open under this number; -1 when there is none.
 * The caller owns it. */
int os_fd_of_process(uint64_t process, int fd);
void os_fd_close(int fd);

#endif
