/* A program's frame pointer may be any number. Here one points to memory that the address sanitizer
 * has closed. Linked with the simulated device's own parts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/os.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define CLOSE(from, bytes) __asan_poison_memory_region(from, bytes)
#else
#define CLOSE(from, bytes) (void)0
#endif

int main(void)
{
    /* What looks like a frame: the caller's frame and the return address. */
    static _Alignas(16) void *frames[64];
    frames[0] = &frames[32];
    frames[1] = (void *)(uintptr_t)0x1000;
    CLOSE(&frames[32], 16 * sizeof *frames);
    lock_acquire();
    void *site = os_call_site((void *)(uintptr_t)0x2000, frames);
    lock_release();
    puts(site ? "a site" : "none");
    return 0;
}
