/* For probes of the driver API, which is found by name: a program that is linked for a GPU does not
 * name libcuda.so.1. */
#ifndef ASK_DRIVER_H
#define ASK_DRIVER_H

#include "probe.h"

#include <cuda.h>
#include <dlfcn.h>

/* cuda.h makes cuMemAlloc a macro for cuMemAlloc_v2, so SYMBOL gives the name that the library
 * has. */
#define TEXT(symbol) #symbol
#define SYMBOL(name) TEXT(name)
#define DRIVER(name) ((__typeof__(&(name)))find(SYMBOL(name)))

/* Makes a call of the driver and prints it with its result. */
#define ASK(name, ...) answer(#name "(" #__VA_ARGS__ ")", DRIVER(name)(__VA_ARGS__))

static inline void (*find(const char *symbol))(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void (*function)(void) = NULL;
    if (driver)
        *(void **)&function = dlsym(driver, symbol);
    if (!function) {
        printf("libcuda.so.1 has no %s here: this program needs a driver.\n", symbol);
        exit(77);
    }
    return function;
}

static inline CUresult answer(const char *call, CUresult result)
{
    const char *name = "unknown";
    DRIVER(cuGetErrorName)(result, &name);
    printf("%-*s -> %s\n", CALL_COLUMNS, call, name);
    return result;
}

#endif
