/* What code compiled by nvcc announces before main: its binaries, and the kernels and variables in
 * them, each by the address that the program has for it.
 *
 * All of these need the lock. What is registered stays as long as the process: reports, graphs and
 * queued work name it. */
#ifndef SIM_PTX_REGISTRY_H
#define SIM_PTX_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

/* One binary of nvcc: the device code of one source file, or of one link. */
struct binary {
    /* What __cudaRegisterFatBinary was given. */
    const void *wrapper;
};

/* A kernel of the program. */
struct registered_kernel {
    struct registered_kernel *next;
    /* The function of the host that stands for it; what a launch is given. */
    const void *host;
    struct binary *binary;
    /* As the compiler names it, and as the program does. */
    const char *symbol, *name;
    /* A sentence has said why it does not run. */
    bool refusal_said;
};

struct binary *registry_add_binary(const void *wrapper);
void registry_add_kernel(struct binary *binary, const void *host, const char *symbol);
/* Returns the kernel that this address stands for, or NULL. */
struct registered_kernel *registry_kernel(const void *host);

#endif
