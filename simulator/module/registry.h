/* What nvcc's code announces before main: the program's binaries, and their kernels and variables,
 * each with its address in the program. Registered things stay for the whole process, because
 * reports, graphs, and queued work refer to them. All of these need the lock. */
#ifndef SIM_MODULE_REGISTRY_H
#define SIM_MODULE_REGISTRY_H

#include <driver_types.h>

#include "module/module.h"

#define REGISTRY_DEVICES 16

/* A binary of nvcc: the device code of one source file or one link. */
struct binary {
    /* Its kernels that were registered, or that were asked for by name. */
    struct registered_kernel *kernels;
    /* Of cuModuleLoad and cuLibraryLoad: the device of its context (NO_DEVICE: of none), and what
     * the program has for it. */
    int device;
    void *handle;
    /* Its __managed__ variables. */
    struct managed_variable *managed;
    /* The argument of __cudaRegisterFatBinary. */
    const void *wrapper;
    /* It has been read: its modules, or why there are none (the end of a sentence). */
    bool is_read;
    struct module *modules;
    const char *refusal;
    struct binary *next_unloaded;
};

/* A kernel of the program. */
struct registered_kernel {
    struct registered_kernel *next, *next_of_binary;
    /* The host function that stands for it, with which it is launched. Of a kernel that the program
     * has loaded: its own address. */
    const void *host;
    struct binary *binary;
    /* Its names for the compiler and in the program. */
    const char *symbol, *name;
    /* Its function in the binary, and its code for each device, or NULL if not read yet. */
    struct function *function;
    struct kernel_code *code[REGISTRY_DEVICES];
    /* A sentence has said why it does not run. */
    bool refusal_said;
    /* The attributes that cudaFuncSetAttribute sets, by number. -1: the default. */
    int attributes[cudaFuncAttributeMax];
};

/* A variable of the program's device code. */
struct registered_variable {
    struct registered_variable *next;
    const void *host;
    struct binary *binary;
    const char *symbol;
    size_t bytes;
};

/* A __managed__ variable. The program finds it by a pointer that is set before its first use. */
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
/* Sets the pointers of a binary's managed variables. `address` gives a variable its place. Returns
 * NULL, or the name of one that the device code lacks. */
const char *registry_place_managed(struct binary *binary,
                                   uint64_t (*address)(struct variable *v, int device));
/* Loads an image (fat_binary_read_image) for a device or NO_DEVICE. Returns NULL if that fails;
 * `*why` is the reason, as the end of a sentence. */
struct binary *registry_load(const void *image, int device, const char **why);
/* Removes the binary's kernels, so that no search finds them. */
void registry_unload(struct binary *binary);
/* Returns the binary's kernel with this name for the compiler, or NULL. */
struct registered_kernel *registry_kernel_of(struct binary *binary, const char *symbol);
/* Returns whether the program has kernels that nvcc built or that it has loaded. */
bool registry_has_kernels(void);
/* Return the kernel or variable for which this address stands, or NULL. */
struct registered_kernel *registry_kernel(const void *host);
struct registered_variable *registry_variable(const void *host);
/* Sets `*k` to the kernel, or returns the error of a call with an address that stands for none. */
cudaError_t registry_find_kernel(const void *host, struct registered_kernel **k);

/* Returns the kernel's function, with what is known without its code, or NULL; then `*why` is the
 * reason, as the end of a sentence. */
struct function *registry_function(struct registered_kernel *k, const char **why);
/* Returns the variable in the binary's modules, or NULL. */
struct variable *registry_module_variable(struct registered_variable *v);

#endif
