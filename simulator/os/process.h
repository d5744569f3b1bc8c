/* What one process can know of another, and memory that both can map. A part of the one door to the operating system (os/os.h). */
#ifndef SIM_OS_PROCESS_H
#define SIM_OS_PROCESS_H

#include "base/types.h"

/* This process: its pid and when it was started, in one number that is never 0. So a pid that was given out again is another process. */
uint64_t host_process(void);
static inline int host_process_pid(uint64_t process) { return (int)(process & 0x3fffff); }
/* Is that process there? One that has ended and was not waited for is not. */
bool host_process_alive(uint64_t process);
uint64_t host_random(void);

/* A lock in memory that processes share: 0 when free. One that died with it loses it. Held for a few instructions at a time. */
void host_lock_between(uint64_t *lock);
void host_unlock_between(uint64_t *lock);

/* A new, empty file in memory; a number above those that programs count on. -1 when there is none. */
int   host_memory_file(void);
/* Makes the file at least this long; false, with a sentence, when this process may not (ulimit -f) or there is no room. */
bool  host_file_grow(int file, size_t bytes);
/* Gives the room of a part of the file back; it reads as zero afterwards, in every process. */
void  host_file_discard(int file, size_t from, size_t bytes);
size_t host_file_size(int file);
/* The file's first `bytes`, or NULL. */
void *host_file_map(int file, size_t bytes);
void  host_file_unmap(void *at, size_t bytes);
/* host_reserve (os/os.h) with storage in the file, behind its first `skip` bytes. It may reach beyond the file's end, but must not be touched there. */
char *host_reserve_in_file(int file, size_t skip, size_t bytes);
/* Another number for the same file: for the program (the lowest free one), or for us. -1: the number is closed, or there are none left. */
int   host_file_for_program(int file);
int   host_file_for_us(int file);
bool  host_file_is_open(int file);
/* Is it a file in memory? */
bool  host_file_is_memory(int file);
/* Opens a file in memory that another process has open under this number; -1 when there is none. */
int   host_file_of(uint64_t process, int number);
void  host_file_close(int file);

#endif
