// Shared by the programs here: a call that fails ends the program; cases, of which most have a
// correct form and an incorrect one; and kernels that are a case each.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../cases.h"

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t e_ = (call);                                                         \
        if (e_ != cudaSuccess) {                                                         \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

// The case is to be incorrect.
static bool wrong;

// For a main: runs the case of argv[1], whose form is argv[2], or prints the names of all.
inline int run_cases(int argc, char **argv)
{
    wrong = argc > 2 && !strcmp(argv[2], "incorrect");
    if (argc > 1)
        return run_case(argc, argv);
    for (const named_case *one = named_cases; one; one = one->next)
        puts(one->name);
    return 0;
}

// Returns memory of the device with the numbers from 0 to count - 1.
inline int *new_numbers(int count)
{
    int *numbers, *here = new int[count];
    for (int i = 0; i < count; i++)
        here[i] = i;
    CHECK(cudaMalloc(&numbers, count * sizeof *here));
    CHECK(cudaMemcpy(numbers, here, count * sizeof *here, cudaMemcpyHostToDevice));
    delete[] here;
    return numbers;
}

// KERNEL(name, blocks, threads) { ... } is a case that launches this kernel. x has the numbers from
// 0 on, and y as many zeros, at least one for each thread.
#define KERNEL(name, blocks, threads)             KERNEL_CASE(name, blocks, threads, false)
#define COOPERATIVE_KERNEL(name, blocks, threads) KERNEL_CASE(name, blocks, threads, true)
#define KERNEL_CASE(name, blocks, threads, cooperative)                          \
    __global__ void name(int *x, int *y, bool wrong);                            \
    static void run_##name() { run_kernel(name, blocks, threads, cooperative); } \
    LIST_CASE(name, run_##name)                                                  \
    __global__ void name(int *x, int *y, bool wrong)

inline void run_kernel(void (*kernel)(int *, int *, bool), int blocks, int threads,
                       bool cooperative)
{
    const int count = 1024;
    int *x = new_numbers(count), *y;
    CHECK(cudaMalloc(&y, count * sizeof *y));
    CHECK(cudaMemset(y, 0, count * sizeof *y));
    void *arguments[] = {&x, &y, &wrong};
    if (cooperative)
        CHECK(cudaLaunchCooperativeKernel(kernel, blocks, threads, arguments, 0, 0));
    else
        kernel<<<blocks, threads>>>(x, y, wrong);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
}
