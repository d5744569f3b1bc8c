/* What code compiled by nvcc announces before main: its binaries, and the kernels and variables in
 * them, each by the address that the program has for it.
 *
 * All of these need the lock. What is registered stays as long as the process: reports, graphs and
 * queued work name it. */
#ifndef SIM_PTX_REGISTRY_H
#define SIM_PTX_REGISTRY_H

#include "ptx/code.h"

#define REGISTRY_DEVICES 16

/* One binary of nvcc: the device code of one source file, or of one link. */
struct binary {
    /* Its __managed__ variables. */
    struct managed_variable *managed;
    /* What __cudaRegisterFatBinary was given. */
    const void *wrapper;
    /* It has been looked into; then its modules, or why there are none (the end of a sentence). */
    bool is_read;
    struct module *modules;
    const char *refusal;
};

/* A kernel of the program. */
struct registered_kernel {
    struct registered_kernel *next;
    /* The function of the host that stands for it; what a launch is given. */
    const void *host;
    struct binary *binary;
    /* As the compiler names it, and as the program does. */
    const char *symbol, *name;
    /* Its function in the binary, and its code for each device; NULL: not read yet. */
    struct function *function;
    struct kernel_code *code[REGISTRY_DEVICES];
    /* A sentence has said why it does not run. */
    bool refusal_said;
    /* Dynamic shared memory that cudaFuncSetAttribute allows; 0: what is allowed anyway. */
    size_t shared_limit;
};

/* A variable of the program's device code. */
struct registered_variable {
    struct registered_variable *next;
    const void *host;
    struct binary *binary;
    const char *symbol;
    size_t bytes;
};

/* A __managed__ variable: the program finds it by a pointer, which is set before its first use. */
struct managed_variable {
    struct managed_variable *next;
    void **pointer;
    const char *symbol;
};

struct binary *registry_add_binary(const void *wrapper);
void registry_add_kernel(struct binary *binary, const void *host, const char *symbol);
void registry_add_variable(struct binary *binary, const void *host, const char *symbol,
                           size_t bytes);
void registry_add_managed(struct binary *binary, void **pointer, const char *symbol);
/* Sets the pointers of a binary's managed variables; `address` as for code_read. Returns NULL, or
 * the name of one that its device code does not have. */
const char *registry_place_managed(struct binary *binary,
                                   uint64_t (*address)(struct variable *v, int device));
/* Return the kernel or the variable that this address stands for, or NULL. */
struct registered_kernel *registry_kernel(const void *host);
struct registered_variable *registry_variable(const void *host);

/* Returns the kernel's code for a device; NULL: it cannot run, and `*why` is the end of a sentence
 * that says why. `address`: as for code_read. */
const struct kernel_code *registry_code(struct registered_kernel *k, int device,
                                        uint64_t (*address)(struct variable *v, int device),
                                        const char **why);
/* Returns its function, for what is known of it without its code, or NULL. */
struct function *registry_function(struct registered_kernel *k, const char **why);
/* Returns the variable in the binary's modules, or NULL. */
struct variable *registry_module_variable(struct registered_variable *v);

#endif
