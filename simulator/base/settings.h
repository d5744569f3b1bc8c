/* The SIM_ variables. They are read once, at the program's first call. An invalid value ends the
 * program with a message. */
#ifndef SIM_BASE_SETTINGS_H
#define SIM_BASE_SETTINGS_H

#include "base/types.h"

/* PEERS_LOWER: a device reaches the devices with lower numbers and not the reverse (assumed: no
 * recorded machine answered differently for the two directions). */
enum peers { PEERS_NONE, PEERS_ALL, PEERS_LOWER };
enum schedule { SCHEDULE_MEASURED, SCHEDULE_INSTANT, SCHEDULE_LATE, SCHEDULE_RANDOM };

/* The first driver with fabric handles (documented: cuda.h has CU_MEM_HANDLE_TYPE_FABRIC since CUDA
 * 12.3, and cudart its own name for it since 12.4). Assumed: an older driver treats that type like
 * any other unknown number. */
#define DRIVER_WITH_FABRIC_HANDLES 12030

#define NO_FILL     256
#define MAX_THREADS 256

struct __attribute__((aligned(4096))) settings {
    /* SIM_DEVICES: 1 to 16; default 2. */
    int devices;
    /* SIM_MEMORY: bytes of each device. The default is what an H200 reports. */
    size_t memory;
    /* SIM_SEGMENT, in MiB: the size of a segment, the unit in which a pool takes physical memory.
     * The default is 32 MiB (measured: one-gpu.txt, "growth and used rounding"). */
    size_t segment;
    /* SIM_DRIVER_VERSION: what cudaDriverGetVersion returns. The default is 13000. */
    int driver_version;
    /* SIM_POOLS: whether the device has pools. The default is on, or off before driver 11.2. */
    bool pools;
    /* SIM_HANDLE_TYPES: the bits of enum cudaMemAllocationHandleType that pools support. The
     * default is 9, as on an H200. The fabric bit is cleared for drivers without fabric handles. */
    int handle_types;
    /* SIM_PEERS: on, off, or lower: which devices reach each other's memory. The default is on. */
    enum peers peers;
    /* SIM_SCHEDULE: measured, instant, late, or random with a seed. */
    enum schedule schedule;
    uint64_t seed;
    /* SIM_IDLE: whether work ends while the host sleeps or computes (sched/host_idle.h). Default:
     * on. */
    bool idle;
    /* SIM_ADD: how much more launch_fill and a memset write, how much more launch_add adds, and how
     * much larger figures of memory are (call_told). The default is 0. */
    int add;
    /* SIM_FILL: the byte that new memory of a device consists of. The default is NO_FILL: it has
     * what its last owner left there, or 0. */
    int fill;
    /* SIM_CHECK_LAWS: 1 checks the invariants of memory after each call (api/laws.h). */
    bool check_laws;
    /* SIM_THREADS: the most cores that a kernel's blocks run on. The default is what the process
     * may use, or 1 in a graded run. */
    unsigned threads;
    bool check; /* SIM_CHECK: off turns the checker off */
    bool leaks; /* SIM_CHECK: leaks also reports what was not freed at the end */
    /* SIM_CHECK: no-init, no-race, and no-sync leave out reads of bytes without a value, races
     * inside a launch, and misused barriers */
    bool init, race, sync;
    /* SIM_CHECK: with strict an asynchronous copy to or from ordinary memory orders nothing */
    bool strict;
    bool refuse_kernels; /* SIM_KERNELS: refuse runs no kernel built by nvcc; default run */
    bool any_status;     /* SIM_KERNELS=...:allow: a kernel that did not run changes no status */
    /* SIM_SUMMARY: on prints what was checked and what not, and breaks long lines; default off */
    bool summary;
    bool explain;        /* SIM_EXPLAIN: 1 adds the vector clocks to reports */
    const char *journal; /* SIM_JOURNAL: the file to write, or NULL */
    const char *report;  /* SIM_REPORT: a file that also gets the reports, or NULL */
    /* SIM_FAIL=CALL:N: the N-th CALL fails with cudaErrorMemoryAllocation. "" is none. */
    char fail_call[64];
    unsigned fail_at;
    /* The variables that are set, for example "SIM_CHECK=strict SIM_DEVICES=4", for the journal's
     * first line. It leaves out those that do not change what is simulated. */
    char given[512];
};

/* Constant after settings_read. The struct has its own pages, so that a graded run (SIM_SEAL) can
 * make it read-only. */
extern struct settings settings;

/* Returns whether `device` can reach the memory of `other`. */
bool settings_reaches(int device, int other);

/* Reads the environment at its first call. For an invalid value it ends the process with a message
 * that names the variable, what was expected, and an example. */
void settings_read(void);

/* In a graded run, before main: reads the settings, makes them read-only, and closes what no lesson
 * needs. */
void settings_seal(void);

#endif
