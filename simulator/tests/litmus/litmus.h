/* What every litmus program includes.
 *
 *     LITMUS(name, a, b)
 *     {
 *         ...
 *     }
 *
 * is a case with two streams, a and b; there may be none to three. NONBLOCKING_LITMUS is the same
 * with non-blocking streams. `count` ints fill 1 MiB. A program is a file of cases and runs the one
 * that its argument names: `accesses write_read`.
 *
 * IF_WRONG(...) is a statement of the incorrect variant alone, and IF_RIGHT(...) one of the correct
 * program alone. */
#ifndef LITMUS_H
#define LITMUS_H

#define _GNU_SOURCE
#include "../cases.h"
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static const size_t count = MiB / sizeof(int);

/* What the host has read goes here, so that no compiler leaves its loads out. */
static volatile int seen __attribute__((unused));

static inline cudaEvent_t event_new(void)
{
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    return event;
}

int main(int argc, char **argv)
{
    int status = run_case(argc, argv);
    /* For compute-sanitizer, whose leak check needs the end of the context. */
    if (getenv("LITMUS_RESET") != NULL)
        cudaDeviceReset();
    return status;
}

#define LITMUS(...)             LITMUS_ANY(cudaStreamDefault, __VA_ARGS__)
#define NONBLOCKING_LITMUS(...) LITMUS_ANY(cudaStreamNonBlocking, __VA_ARGS__)
#define LITMUS_ANY(flags, ...)  LITMUS_FORM(__VA_ARGS__, 3, 2, 1, 0, )(flags, __VA_ARGS__)

#define LITMUS_FORM(name, a, b, c, number, ...) LITMUS_##number

#ifdef WRONG
#define IF_WRONG(...) __VA_ARGS__
#define IF_RIGHT(...)
#else
#define IF_WRONG(...)
#define IF_RIGHT(...) __VA_ARGS__
#endif

/* Only one of a case's two forms may use a stream. */
#define STREAM(name) cudaStream_t name __attribute__((unused))

#define LITMUS_0(flags, title)    LITMUS_CASE(flags, title, 0, (), (void))
#define LITMUS_1(flags, title, a) LITMUS_CASE(flags, title, 1, (s[0]), (STREAM(a)))
#define LITMUS_2(flags, title, a, b) \
    LITMUS_CASE(flags, title, 2, (s[0], s[1]), (STREAM(a), STREAM(b)))
#define LITMUS_3(flags, title, a, b, c) \
    LITMUS_CASE(flags, title, 3, (s[0], s[1], s[2]), (STREAM(a), STREAM(b), STREAM(c)))

#define LITMUS_CASE(flags, title, number, streams, parameters) \
    static void title parameters;                              \
    static void run_##title(void)                              \
    {                                                          \
        cudaStream_t s[3];                                     \
        for (int i = 0; i < number; i++)                       \
            CHECK(cudaStreamCreateWithFlags(&s[i], flags));    \
        title streams;                                         \
    }                                                          \
    LIST_CASE(title, run_##title)                              \
    static void title parameters

#endif
