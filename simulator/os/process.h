/* Finds out about other processes, and maps memory that several processes share. Part of the
 * interface to the operating system, with os/os.h. All functions here need the lock. */
#ifndef SIM_OS_PROCESS_H
#define SIM_OS_PROCESS_H

#include "os/units.h"

/* Returns the identity of this process: pid and start time in one number, which is never 0. So a
 * process that reuses the pid is another one. */
uint64_t os_process(void);
static inline int os_process_pid(uint64_t process) { return (int)(process & 0x3fffff); }
/* Returns whether that process exists and any of its threads will still run. */
bool os_process_alive(uint64_t process);
/* Returns whether that process exists and is not about to end. Once the first thread has given up
 * its memory, only root can see the process's files, while its other threads are still ending. So
 * this waits for the other threads, for at most a second. */
bool os_process_stays(uint64_t process);
uint64_t os_random(void);

/* A lock in memory that processes share, 0 when free. If its owner dies, the lock is taken from it.
 * It is held for a few instructions at a time. */
void os_shm_lock(uint64_t *lock);
void os_shm_unlock(uint64_t *lock);

/* Makes a new, empty file in memory. Returns a number above those that programs count on, or -1.
 * The caller owns it until os_fd_close. */
int os_memfd_new(void);
/* Makes the file at least this long. Returns false, after a message, if the process may not (ulimit
 * -f) or there is no room. */
bool os_fd_grow(int fd, size_t bytes);
/* Gives back the room of a part of the file, which then reads as zero in every process. */
void os_fd_discard(int fd, size_t from, size_t bytes);
size_t os_fd_size(int fd);
/* Maps the first `bytes` of the file, or returns NULL. The caller owns the mapping until
 * os_fd_unmap. */
void *os_fd_map(int fd, size_t bytes);
void os_fd_unmap(void *at, size_t bytes);
/* Reserves like os_reserve (os/os.h). The storage is in the file, after its first `skip` bytes. It
 * may extend beyond the end of the file, but must not be touched there. */
char *os_reserve_in_file(int fd, size_t skip, size_t bytes);
/* Reserves like os_reserve_host_visible, with the storage in a file as in os_reserve_in_file. */
char *os_reserve_host_visible_in_file(int fd, size_t skip, size_t bytes);
/* Makes a part of the storage of os_reserve the file's bytes after its first `skip`, where the file
 * has nothing yet. What the part contains stays. Returns false if it cannot be mapped. */
bool os_move_to_file(char *storage, size_t bytes, int fd, size_t skip);
/* Makes a part of the storage of os_reserve the first bytes of the file, in place of what it was.
 * Returns false if it cannot be mapped. */
bool os_map_file(char *storage, size_t bytes, int fd);
/* Return another number for the same file: the lowest free one, for the program, or a high one, for
 * us. Both return -1 if `fd` is closed or no number is left. */
int os_fd_dup(int fd);
int os_fd_dup_high(int fd);
/* Closes `low` and returns a high number for the same file, if one is left. -1 stays -1. */
int os_fd_move_high(int low);
bool os_fd_is_open(int fd);
/* Returns whether the descriptor is that of a file in memory. */
bool os_fd_is_memfd(int fd);
/* Opens a file in memory that another process has open as `fd`. Returns -1 if there is none. The
 * caller owns the descriptor. */
int os_fd_of_process(uint64_t process, int fd);
void os_fd_close(int fd);

#endif
