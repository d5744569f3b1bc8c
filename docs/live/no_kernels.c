/* In a page there is no program that nvcc has compiled, so the module is without the room ptx/ and
 * the launches of such kernels: none is registered, and none is found. The driver API is missing,
 * too. */
#include <stddef.h>

#include "api/call.h"
#include "module/module.h"
#include "module/registry.h"
#include "run/kernel_library.h"
#include "run/nvcc_kernel.h"

#define NONE(type, name, parameters) \
    type name parameters { return (type)0; }

#pragma GCC diagnostic ignored "-Wunused-parameter"

NONE(const char *, driver_error_name, (cudaError_t e))
NONE(cudaError_t, do_cudaGetDriverEntryPointByVersion,
     (struct call * call, const char *symbol, void **funcPtr, unsigned cudaVersion,
      unsigned long long flags, enum cudaDriverEntryPointQueryResult *driverStatus))
NONE(struct binary *, registry_add_binary, (const void *wrapper))
NONE(struct registered_kernel *, registry_kernel, (const void *host))
NONE(struct registered_variable *, registry_variable, (const void *host))
NONE(bool, registry_has_kernels, (void))
NONE(const struct kernel_code *, kernel_library_code,
     (struct registered_kernel * k, int device, const char **why))
NONE(const char *, kernel_library_load, (void))
NONE(struct function *, registry_function, (struct registered_kernel * k, const char **why))
NONE(struct variable *, registry_module_variable, (struct registered_variable * v))
NONE(struct variable *, module_variable, (struct module * m, const char *name))
NONE(struct function *, module_function, (struct module * m, const char *name))
NONE(uint64_t, module_function_address, (const struct function *f))
NONE(size_t, module_constant_bytes, (const struct module *m))
NONE(size_t, nvcc_kernel_shared_limit,
     (const struct registered_kernel *k, const struct kernel_code *code))
NONE(struct binary *, registry_load, (const void *image, int device, const char **why))
NONE(struct registered_kernel *, registry_kernel_of, (struct binary * binary, const char *symbol))
NONE(const char *, registry_place_managed,
     (struct binary * binary, uint64_t (*address)(struct variable *v, int device)))
NONE(cudaError_t, nvcc_kernel_refuse, (struct registered_kernel * k, const char *why))
NONE(cudaError_t, nvcc_kernel_refuse_launch, (struct registered_kernel * k, const char *why))
NONE(cudaError_t, nvcc_kernel_check,
     (struct registered_kernel * k, const struct kernel_code *code, dim3 grid, dim3 block,
      size_t shared_bytes))
NONE(cudaError_t, nvcc_kernel_check_cooperative,
     (struct registered_kernel * k, const struct kernel_code *code, dim3 grid, dim3 block,
      size_t shared_bytes))
NONE(unsigned, nvcc_kernel_blocks_that_fit,
     (const struct kernel_code *code, unsigned threads, size_t shared_bytes))
NONE(struct nvcc_kernel *, nvcc_kernel_new,
     (struct registered_kernel * k, const struct kernel_code *code, dim3 grid, dim3 block,
      size_t shared_bytes, void *const *arguments))
NONE(cudaError_t, command_nvcc_kernel,
     (const struct call *call, const struct nvcc_kernel *kernel, struct stream *s))

cudaError_t registry_find_kernel(const void *host, struct registered_kernel **k)
{
    return host ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;
}

void registry_add_kernel(struct binary *binary, const void *host, const char *symbol) {}

void registry_add_variable(struct binary *binary, const void *host, const char *symbol,
                           size_t bytes)
{
}

void registry_add_managed(struct binary *binary, void **pointer, const char *symbol) {}
