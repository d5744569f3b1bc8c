/* A graded run (SIM_SEAL). From its first moment the process may do only what a lesson needs, and
 * at its end the grader gets a receipt of the journal. docs/teaching.rst lists what this does not
 * prevent. Part of the interface to the operating system, with os/os.h. */
#ifndef SIM_OS_SEAL_H
#define SIM_OS_SEAL_H

#include "os/units.h"

/* Closes what no lesson needs (listed in seal.c), in this process and its descendants, and makes
 * [memory, memory + bytes), whole pages, read-only for good. `setting` is the value of SIM_SEAL: a
 * descriptor, followed by ":exec" for a lesson that starts itself again. `settings`, in that
 * memory, is repeated in each receipt. Ends the process with a message on failure. Called before
 * the program's main. */
void seal_close(const char *setting, void *memory, size_t bytes, const char *settings);
/* Returns whether this is a graded run. */
bool seal_is_closed(void);

/* Formats the path of a file that the simulation is about to open for writing or to execute. Only
 * paths made here are allowed. It is valid until the next call. Needs the lock. */
const char *seal_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number of processes of a run whose journals count. */
#define SEAL_PROCESSES 8

/* The CRC-32 of a growing journal, as zlib computes it, and its length. */
struct seal_sum {
    uint32_t crc;
    uint64_t bytes;
};
void seal_add(struct seal_sum *sum, const char *text, size_t bytes);
/* Writes the receipt of this run's journal `number`: "NUMBER CRC BYTES SECRET SETTINGS". */
void seal_receipt(unsigned number, const struct seal_sum *sum);

#endif
