/* In a page there is no program that nvcc has compiled, so the module is without the room ptx/: no
 * kernel is registered, and none is found. */
#include <stddef.h>

#include "ptx/grid.h"
#include "ptx/module.h"
#include "ptx/registry.h"

#define NONE(type, name, parameters) \
    type name parameters { return (type)0; }

#pragma GCC diagnostic ignored "-Wunused-parameter"

NONE(struct binary *, registry_add_binary, (const void *wrapper))
NONE(struct registered_kernel *, registry_kernel, (const void *host))
NONE(struct registered_variable *, registry_variable, (const void *host))
NONE(bool, registry_has_kernels, (void))
NONE(bool, kernel_signals, (const struct kernel_code *k))
NONE(const struct kernel_code *, registry_code,
     (struct registered_kernel * k, int device, uint64_t (*address)(struct variable *v, int device),
      const char **why))
NONE(struct function *, registry_function, (struct registered_kernel * k, const char **why))
NONE(struct variable *, registry_module_variable, (struct registered_variable * v))
NONE(struct variable *, module_variable, (struct module * m, const char *name))
NONE(struct function *, module_function, (struct module * m, const char *name))
NONE(uint64_t, module_function_address, (const struct function *f))
NONE(struct function *, module_function_at, (struct module * m, uint64_t address))
NONE(struct binary *, registry_load, (const void *image, int device, const char **why))
NONE(struct registered_kernel *, registry_kernel_of, (struct binary * binary, const char *symbol))
NONE(bool, registry_has_kernels, (void))
NONE(bool, kernel_signals, (const struct kernel_code *k))
NONE(const char *, registry_place_managed,
     (struct binary * binary, uint64_t (*address)(struct variable *v, int device)))
NONE(bool, code_address_origins,
     (const struct code *c, const struct instruction *i, struct address_origins *origins))
NONE(bool, grid_run,
     (const struct kernel_code *code, const struct launch_shape *shape,
      const struct launch_memory *memory, struct launch_fault *fault, struct launch_found *found))

void registry_add_kernel(struct binary *binary, const void *host, const char *symbol) {}

void touched_end(const struct window *win, struct touched *t) {}

void registry_add_variable(struct binary *binary, const void *host, const char *symbol,
                           size_t bytes)
{
}

void registry_add_managed(struct binary *binary, void **pointer, const char *symbol) {}
