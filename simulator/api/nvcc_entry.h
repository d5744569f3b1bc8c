/* Where a launch by <<<...>>> was written, for the entry points of launches. */
#ifndef SIM_API_NVCC_ENTRY_H
#define SIM_API_NVCC_ENTRY_H

/* The OS_CALL_ADDRESS and OS_CALL_FRAME of a call. */
struct call_place {
    void *address;
    void *const *frame;
};

/* Returns the place of the calling thread's launch: that of the program's <<<...>>> if it comes
 * from one, and not in nvcc's code; otherwise the arguments. Called once for each launch. */
struct call_place launch_place(void *address, void *const *frame);

#endif
