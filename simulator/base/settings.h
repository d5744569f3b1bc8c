/* What the SIM_ variables set. Read once, at the program's first call; nonsense ends the program
 * with a sentence. */
#ifndef SIM_BASE_SETTINGS_H
#define SIM_BASE_SETTINGS_H

#include "base/types.h"

/* PEERS_LOWER: a device reaches those with lower numbers, and they do not reach it (assumed: no
 * recorded machine answered differently for the two directions). */
enum peers { PEERS_NONE, PEERS_ALL, PEERS_LOWER };
enum schedule { SCHEDULE_MEASURED, SCHEDULE_INSTANT, SCHEDULE_LATE, SCHEDULE_RANDOM };

/* Fabric handles came with this driver (documented: cuda.h has CU_MEM_HANDLE_TYPE_FABRIC from CUDA
 * 12.3 on, and cudart its own name for it from 12.4 on). Assumed: to an older one that type is like
 * any other number that it does not know. */
#define DRIVER_WITH_FABRIC_HANDLES 12030

struct __attribute__((aligned(4096))) settings {
    /* SIM_DEVICES: 1 to 16; default 2. */
    int devices;
    /* SIM_MEMORY: bytes of each device; default what an H200 reports. */
    size_t memory;
    /* SIM_SEGMENT, in MiB: the bytes of a segment, in which the physical memory of a pool comes;
     * default 32 MiB (measured: one-gpu.txt, "growth and used rounding"). */
    size_t segment;
    /* SIM_DRIVER_VERSION: as cudaDriverGetVersion returns it; default 13000. */
    int driver_version;
    /* SIM_POOLS: has the device pools? Default on, and off with a driver before 11.2. */
    bool pools;
    /* SIM_HANDLE_TYPES: bits of enum cudaMemAllocationHandleType that pools can be made with;
     * default 9, as an H200; without fabric handles where the driver has none. */
    int handle_types;
    /* SIM_PEERS: on, off or lower; whose memory can a device reach? Default on. */
    enum peers peers;
    /* SIM_SCHEDULE: measured, instant, late, or random with a seed. */
    enum schedule schedule;
    uint64_t seed;
    /* SIM_IDLE: does work end while the host sleeps or computes (sched/host_idle.h)? Default on. */
    bool idle;
    /* SIM_CHECK_LAWS: 1 walks the laws of memory after each call (api/laws.h). */
    bool check_laws;
    bool check; /* SIM_CHECK: off turns the checker off */
    bool leaks; /* ... and noleaks only its reports of what was not freed at the end */
    /* ... and with strict an asynchronous copy to or from ordinary memory orders nothing. */
    bool strict;
    bool refuse_kernels; /* SIM_KERNELS: refuse runs no kernel that nvcc built; default run */
    bool any_status;     /* SIM_KERNELS=...:allow: a kernel that did not run changes no status */
    bool explain;        /* SIM_EXPLAIN: 1 prints the vector clocks that a report goes by */
    const char *journal; /* SIM_JOURNAL: the file to write, or NULL */
    const char *report;  /* SIM_REPORT: the file that gets the reports, too, or NULL */
    /* SIM_FAIL=CALL:N: the N-th CALL fails with cudaErrorMemoryAllocation; "" for none. */
    char fail_call[64];
    unsigned fail_at;
    /* The variables that are set, "SIM_CHECK=noleaks SIM_DEVICES=4", for the journal's first line;
     * without SIM_JOURNAL, SIM_REPORT, SIM_SEAL and SIM_CHECK_LAWS, which change nothing that is
     * simulated. */
    char given[512];
};

/* Constant after settings_read. In a graded run (SIM_SEAL) nothing can change it then: it has pages
 * of its own. */
extern struct settings settings;

/* Can `device` reach the memory of another one? */
bool settings_reaches(int device, int other);

/* Reads the environment, the first time that it is called. Ends the process with a sentence that
 * names the variable, what was expected and an example. */
void settings_read(void);

/* In a graded run, before main: reads the settings, and closes them and what no lesson needs. */
void settings_seal(void);

#endif
