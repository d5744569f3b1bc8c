/* Calls for variables of device code, each identified by its address in the program. */
#include "api/copies.h"
#include "symbol_calls.inc"
#include "mem/device.h"
#include "module/registry.h"
#include "run/device_variable.h"

/* Sets `address` to bytes of a variable on the current device. Documented: anything but a variable
 * has its own error. Assumed: bytes outside of it are rejected as in any copy. */
static cudaError_t find(const void *symbol, size_t offset, size_t bytes, char **address)
{
    struct registered_variable *r = registry_variable(symbol);
    struct variable *v = r ? registry_module_variable(r) : NULL;
    if (!v)
        return cudaErrorInvalidSymbol;
    if (offset > v->bytes || bytes > v->bytes - offset)
        return cudaErrorInvalidValue;
    *address = (char *)(uintptr_t)device_variable_address(v, device_current()) + offset;
    return cudaSuccess;
}

cudaError_t do_cudaGetSymbolAddress(struct call *call, void **address, const void *symbol)
{
    char *at;
    if (!address)
        return cudaErrorInvalidValue;
    cudaError_t e = find(symbol, 0, 0, &at);
    if (!e)
        *address = at;
    return e;
}

/* Documented: a copy to a variable comes from the host or the device, and one from a variable goes
 * there. */
cudaError_t copy_symbol(struct call *call, const void *symbol, size_t offset, void *memory,
                        size_t bytes, enum cudaMemcpyKind kind, bool to_symbol,
                        const cudaStream_t *stream)
{
    char *variable = NULL;
    cudaError_t e = find(symbol, offset, bytes, &variable);
    if (e)
        return e;
    if (kind != cudaMemcpyDefault && kind != cudaMemcpyDeviceToDevice
        && kind != (to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost))
        return cudaErrorInvalidMemcpyDirection;
    return copy_bytes(call, to_symbol ? variable : memory, to_symbol ? memory : variable, bytes,
                      kind, stream);
}
