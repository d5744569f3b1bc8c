/* What every litmus program includes. The Makefile compiles it once for all of them.
 *
 *     LITMUS(a, b)
 *     {
 *         ...
 *     }
 *
 * is a program with two streams, a and b; there may be one to three. NONBLOCKING_LITMUS is the same
 * with non-blocking streams. `count` ints fill 1 MiB. */
#ifndef LITMUS_H
#define LITMUS_H

#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static const size_t count = MiB / sizeof(int);

#define LITMUS(...)             LITMUS_ANY(cudaStreamDefault, __VA_ARGS__)
#define NONBLOCKING_LITMUS(...) LITMUS_ANY(cudaStreamNonBlocking, __VA_ARGS__)
#define LITMUS_ANY(flags, ...)  LITMUS_FORM(__VA_ARGS__, 3, 2, 1, )(flags, __VA_ARGS__)

#define LITMUS_FORM(a, b, c, number, ...) LITMUS_##number

/* Only one of a program's two forms may use a stream. */
#define STREAM(name) cudaStream_t name __attribute__((unused))

#define LITMUS_1(flags, a)    LITMUS_MAIN(flags, 1, (s[0]), (STREAM(a)))
#define LITMUS_2(flags, a, b) LITMUS_MAIN(flags, 2, (s[0], s[1]), (STREAM(a), STREAM(b)))
#define LITMUS_3(flags, a, b, c) \
    LITMUS_MAIN(flags, 3, (s[0], s[1], s[2]), (STREAM(a), STREAM(b), STREAM(c)))

#define LITMUS_MAIN(flags, number, streams, parameters)     \
    static void litmus parameters;                          \
    int main(void)                                          \
    {                                                       \
        cudaStream_t s[number];                             \
        for (int i = 0; i < number; i++)                    \
            CHECK(cudaStreamCreateWithFlags(&s[i], flags)); \
        litmus streams;                                     \
        return 0;                                           \
    }                                                       \
    static void litmus parameters

#endif
