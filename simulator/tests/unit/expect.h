/* For programs that test the simulated device: each expectation is next to its call. */
#ifndef EXPECT_H
#define EXPECT_H

#include "../cases.h"
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MiB ((size_t)1 << 20)

static int wrong;

/* Expects that the call returns this. */
#define IS(expected, call) is(__FILE__, __LINE__, #call, (call), (expected))
/* Expects success, without which later results mean nothing. */
#define OK(call)                                                \
    do {                                                        \
        if (is(__FILE__, __LINE__, #call, (call), cudaSuccess)) \
            exit(1);                                            \
    } while (0)
/* The same for a call of the driver API, whose codes have the runtime's numbers. */
#define GIVES(expected, call) IS((cudaError_t)(expected), (cudaError_t)(call))
#define DO(call)              OK((cudaError_t)(call))
/* Expects two equal numbers. */
#define SAME(expected, value) \
    same(__FILE__, __LINE__, #value, (unsigned long long)(value), (unsigned long long)(expected))

static inline int is(const char *file, int line, const char *call, cudaError_t got,
                     cudaError_t expected)
{
    if (got == expected)
        return 0;
    printf("%s:%d: %s: %s, expected %s\n", file, line, call, cudaGetErrorName(got),
           cudaGetErrorName(expected));
    return wrong = 1;
}

static inline void same(const char *file, int line, const char *what, unsigned long long got,
                        unsigned long long expected)
{
    if (got == expected)
        return;
    printf("%s:%d: %s: %llu, expected %llu\n", file, line, what, got, expected);
    wrong = 1;
}

/* Runs the case that argv[1] names, or prints the names. Returns the exit status: 0 if all was as
 * expected, 1 if not, 2 if there is no such case. */
static inline int run_named(int argc, char **argv)
{
    int status = run_case(argc, argv);
    if (!status && !wrong && argc > 1)
        puts("all as expected");
    return status ? status : wrong;
}

#endif
