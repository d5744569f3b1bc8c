/* Memory of a device that a fill or a memset has written, large page by large page, and nothing has
 * touched since. Such a page holds one int again and again; that int is noted, and the page itself
 * is written when something comes to read it or to write a part of it. Most of what a program fills
 * it never looks at, and a page that nobody writes takes neither time nor room of this machine.
 *
 * Storage that the host or another process sees has no such pages. All of these need the lock. */
#ifndef SIM_MEM_UNIFORM_H
#define SIM_MEM_UNIFORM_H

#include "base/types.h"

/* Law: a page's int counts while its bit is set; `count` bits are. */
struct uniform_pages {
    uint64_t *bits; /* One for each large page of the heap, of the first `pages`. */
    int *values;
    size_t pages, count;
};

/* Writes an int again and again to [offset, offset + bytes) of a heap whose storage begins at
 * `storage`. Where the offset is no multiple of an int, all bytes of the int are the same. */
void uniform_fill(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, int value);
/* Adds to each int of [offset, offset + bytes). */
void uniform_add(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, int value);
/* Copies bytes from the storage of one heap to that of another, or to other bytes of the same. */
void uniform_copy(struct uniform_pages *to, char *to_storage, size_t to_offset,
                  struct uniform_pages *from, char *from_storage, size_t from_offset, size_t bytes);
/* Copies bytes of a heap's storage to memory of the host. */
void uniform_read(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, char *to);
/* Writes what is noted of these bytes: somebody comes to touch them. */
void uniform_settle(struct uniform_pages *u, char *storage, size_t offset, size_t bytes);
/* Forgets what is noted: the storage has gone back. */
void uniform_forget(struct uniform_pages *u, size_t offset, size_t bytes);
void uniform_close(struct uniform_pages *u);

/* The same for memory of any kind, with no notes: writes an int again and again; adds to each. */
void write_ints(void *to, int value, size_t bytes);
void add_to_ints(void *to, int value, size_t bytes);

#endif
