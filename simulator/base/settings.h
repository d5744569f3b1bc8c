/* What the SIM_ variables set. Read once, at the program's first call; nonsense ends the program
 * with a sentence. */
#ifndef SIM_BASE_SETTINGS_H
#define SIM_BASE_SETTINGS_H

#include "base/types.h"

enum schedule { SCHEDULE_MEASURED, SCHEDULE_INSTANT, SCHEDULE_LATE, SCHEDULE_RANDOM };

struct __attribute__((aligned(4096))) settings {
    /* SIM_DEVICES: 1 to 16; default 2. */
    int devices;
    /* SIM_MEMORY: bytes of each device; default what an H200 reports. */
    size_t memory;
    /* SIM_DRIVER_VERSION: as cudaDriverGetVersion returns it; default 13000. */
    int driver_version;
    /* SIM_HANDLE_TYPES: bits of enum cudaMemAllocationHandleType that pools can be made with;
     * default 9, as an H200. */
    int handle_types;
    /* SIM_PEERS: can devices reach each other? Default on. */
    bool peers;
    /* SIM_SCHEDULE: measured, instant, late, or random with a seed. */
    enum schedule schedule;
    uint64_t seed;
    bool check;          /* SIM_CHECK: off turns the checker off */
    bool leaks;          /* ... and noleaks only its reports of what was not freed at the end */
    bool explain;        /* SIM_EXPLAIN: 1 prints the vector clocks that a report goes by */
    const char *journal; /* SIM_JOURNAL: the file to write, or NULL */
    /* SIM_FAIL=CALL:N: the N-th CALL fails with cudaErrorMemoryAllocation; "" for none. */
    char fail_call[64];
    unsigned fail_at;
};

/* Constant after settings_read. In a graded run (SIM_SEAL) nothing can change it then: it has pages
 * of its own. */
extern struct settings settings;

/* Reads the environment, the first time that it is called. Ends the process with a sentence that
 * names the variable, what was expected and an example. */
void settings_read(void);

/* In a graded run, before main: reads the settings, and closes them and what no lesson needs. */
void settings_seal(void);

#endif
