/* Notes large pages of device memory that a fill or memset has written and nothing has touched
 * since. Such a page contains one int over and over. Only that int is noted, and the page itself is
 * written when it is read or partly overwritten. Programs never read most of what they fill, and
 * pages that are not written cost neither time nor memory of the machine.
 *
 * Storage that the host or another process sees has no such pages. All of these need the lock. */
#ifndef SIM_MEM_UNIFORM_H
#define SIM_MEM_UNIFORM_H

#include "base/types.h"

/* Invariant: a page's int is valid while its bit is set, and `count` bits are set. */
struct uniform_pages {
    uint64_t *bits; /* One bit for each of the heap's first `pages` large pages. */
    int *values;
    size_t pages, count;
};

/* Fills [offset, offset + bytes) of the heap whose storage begins at `storage` with an int. If the
 * offset is not a multiple of the size of an int, all bytes of the int are equal. */
void uniform_fill(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, int value);
/* Adds to each int of [offset, offset + bytes). */
void uniform_add(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, int value);
/* Copies bytes between the storage of two heaps or within one. */
void uniform_copy(struct uniform_pages *to, char *to_storage, size_t to_offset,
                  struct uniform_pages *from, char *from_storage, size_t from_offset, size_t bytes);
/* Copies bytes of a heap's storage to host memory. */
void uniform_read(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, char *to);
/* Writes what is noted of these bytes, because they are about to be touched. */
void uniform_settle(struct uniform_pages *u, char *storage, size_t offset, size_t bytes);
/* Forgets what is noted, because the storage was given back. */
void uniform_forget(struct uniform_pages *u, size_t offset, size_t bytes);
void uniform_close(struct uniform_pages *u);

/* Fill any memory with an int, or add to each int there, without notes. */
void write_ints(void *to, int value, size_t bytes);
void add_to_ints(void *to, int value, size_t bytes);

#endif
