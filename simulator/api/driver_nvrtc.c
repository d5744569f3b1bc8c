/* NVRTC's two functions that return machine code. Because machine code cannot run here, they return
 * the PTX of the same program, which cuModuleLoadData accepts, too. Seen with NVRTC 13.0: it keeps
 * the PTX even if it was asked for machine code (--gpu-architecture=sm_90). A program calls these
 * functions instead of NVRTC's if it is linked with NVRTC and the simulated device comes first, as
 * `make mine` arranges; a program that opens NVRTC itself does not. */
#include <stddef.h>

#include "os/os.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

enum { NVRTC_ERROR_INTERNAL_ERROR = 11 };

EXPORT int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    int (*of_ptx)(void *, size_t *);
    *(void **)&of_ptx = os_symbol("nvrtcGetPTXSize");
    return of_ptx ? of_ptx(program, bytes) : NVRTC_ERROR_INTERNAL_ERROR;
}

EXPORT int nvrtcGetCUBIN(void *program, char *image)
{
    int (*ptx)(void *, char *);
    *(void **)&ptx = os_symbol("nvrtcGetPTX");
    return ptx ? ptx(program, image) : NVRTC_ERROR_INTERNAL_ERROR;
}
