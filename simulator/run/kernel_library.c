/* Loads libptx.so, and reads kernels with it. */
#include "run/kernel_library.h"

#include "os/needs_lock.h"
#include "os/os.h"
#include "run/device_variable.h"

static const struct ptx_library *library;

const char *kernel_library_load(void)
{
    NEEDS_LOCK();
#define MEMBER(function) .function = function,
    static const struct ptx_borrowed lent = {PTX_BORROWS(MEMBER)};
#undef MEMBER
    const struct ptx_library *(*take)(const struct ptx_borrowed *from);
    if (library)
        return NULL;
    *(void **)&take = os_load_neighbor("libptx.so", "ptx_library");
    if (!take)
        return "libptx.so, which runs kernels, is not next to the simulated device's library, or "
               "is of another build (type make simulator in the workbook)";
    library = take(&lent);
    return library ? NULL
                   : "the simulated device was built on a machine whose processor has AVX2, which "
                     "this one lacks (type make clean, and build it here)";
}

const struct ptx_library *kernel_library(void)
{
    NEEDS_LOCK();
    return library;
}

const struct kernel_code *kernel_library_code(struct registered_kernel *k, int device,
                                              const char **why)
{
    NEEDS_LOCK();
    struct function *f = registry_function(k, why);
    if (f && !library)
        *why = kernel_library_load();
    if (*why)
        return NULL;
    if (!k->code[device])
        k->code[device] = library->code_read(f, device, device_variable_address);
    *why = k->code[device]->refusal;
    return *why ? NULL : k->code[device];
}
