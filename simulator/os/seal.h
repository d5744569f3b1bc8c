/* A graded run (SIM_SEAL): from its first moment on the process may do no more than a lesson needs,
 * and at its end a receipt of its journal goes to whoever started it. docs/teaching.rst lists what
 * that does not prevent. A part of the one door to the operating system (os/os.h). */
#ifndef SIM_OS_SEAL_H
#define SIM_OS_SEAL_H

#include "os/units.h"

/* Closes what no lesson needs (seal.c lists it), in this process and in those that come from it,
 * and makes [memory, memory + bytes), whole pages, read-only for good. `setting` is the value of
 * SIM_SEAL: a descriptor, and ":exec" behind it for a lesson that starts itself again. `settings`,
 * in that memory, is what each receipt repeats. Ends the process with a sentence when that cannot
 * be done. Called before the program's main. */
void seal_close(const char *setting, void *memory, size_t bytes, const char *settings);
/* Is this a graded run? */
bool seal_is_closed(void);

/* Puts together the path of a file that the simulation is about to open for writing, or to execute:
 * only a path from here is allowed. It holds until the next one. Needs the lock. */
const char *seal_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Of how many processes of a run the journals count. */
#define SEAL_PROCESSES 8

/* A checksum of a journal as it grows: POSIX cksum prints the same of the whole file. */
struct seal_sum {
    uint32_t crc;
    uint64_t bytes;
};
void seal_add(struct seal_sum *sum, const char *text, size_t bytes);
/* Writes the receipt of journal number `number` of this run: "NUMBER CRC BYTES SECRET SETTINGS". */
void seal_receipt(unsigned number, const struct seal_sum *sum);

#endif
