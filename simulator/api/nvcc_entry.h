/* What the entry points of launches need of the code that nvcc makes for <<<...>>>. */
#ifndef SIM_API_NVCC_ENTRY_H
#define SIM_API_NVCC_ENTRY_H

/* Where a call stands: its OS_CALL_ADDRESS and OS_CALL_FRAME. */
struct call_place {
    void *address;
    void *const *frame;
};

/* Where the calling thread's launch stands: when it comes from a <<<...>>> of the program, there,
 * and not in nvcc's code. Else it is what is passed. To be called once a launch. */
struct call_place launch_place(void *address, void *const *frame);

#endif
