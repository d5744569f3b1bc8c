/* A program's own kernels on the simulated device, for C and C++.
 *
 * The simulated device runs kernels that nvcc built. For a kernel that cannot run there, or a
 * program without nvcc, a C function does the same on the CPU, and each launch declares the ranges
 * of memory that the kernel reads and writes. The checker then treats the launch like any work of a
 * stream. One source file serves both: nvcc compiles the kernel and its launch, any other compiler
 * the function and sim_launch.
 *
 *     #ifdef __CUDACC__
 *     __global__ void scale(float *data, size_t count, float factor) { ... }
 *     #else
 *     #include "user_kernels.h"
 *     struct scale { size_t count; float factor; };
 *     static void scale(void *const *memory, const void *argument)
 *     {
 *         float *data = (float *)memory[0];
 *         const struct scale *a = (const struct scale *)argument;
 *         for (size_t i = 0; i < a->count; i++)
 *             data[i] *= a->factor;
 *     }
 *     #endif
 *
 *     cudaError_t launch_scale(float *data, size_t count, float factor, cudaStream_t stream)
 *     {
 *     #ifdef __CUDACC__
 *         scale<<<256, 256, 0, stream>>>(data, count, factor);
 *         return cudaGetLastError();
 *     #else
 *         struct scale a = {count, factor};
 *         return sim_launch(stream, "scale", scale, a, sim_read_write(data, count * sizeof *data));
 *     #endif
 *     }
 *
 * A launch is judged by what it declares, not by what the function does: a range that is missing
 * here is missing for the checker. What it can see, it reports as an "undeclared access":
 *
 * - the function touches device memory by its address on the device, of which the argument may hold
 *   some, and not through `memory`;
 * - it writes into a range that is declared with sim_read;
 * - it writes up to 64 bytes before or behind a range, where no other range of the launch allows
 *   it.
 *
 * The last two are seen in memory of one device and one process only (cudaMalloc and pools of a
 * device), and of a range that is read, beyond 16 MiB, in the first and the last 8 MiB. All other
 * touches of memory that is not declared go unseen: reads beside a range, writes farther away, and
 * what the function does to pinned and managed memory or to the program's own variables.
 * With SIM_CHECK=off only the first is reported: the program cannot go on behind it. */
#ifndef SIM_USER_KERNELS_H
#define SIM_USER_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/* A launch has at most so many ranges, and so many bytes of argument (documented: what a kernel's
 * parameters may have from CUDA 12.1 on). */
#define SIM_RANGES_MAX   32
#define SIM_ARGUMENT_MAX 32764

enum sim_access { SIM_READ = 1, SIM_WRITE = 2, SIM_READ_WRITE = 3 };

/* Memory that a kernel touches, by the address that the program has of it: memory of a device,
 * pinned or managed. A range of no bytes is no access, and only such a one may begin at NULL.
 * Ranges of one launch may overlap. */
struct sim_range {
    const void *address;
    size_t bytes;
    enum sim_access access;
};

/* Stands in for a kernel. memory[i] is where the bytes of range i are for the CPU (NULL: it has
 * none); they are there until the function returns. `argument` is the copy that the launch made.
 *
 * It runs when the work's time has come: once, alone, inside some call of the program, on that
 * call's thread. It may not call CUDA, which ends the program with a sentence, and it must return.
 * What it does besides, such as printing, comes in the order of virtual time. */
typedef void (*sim_function)(void *const *memory, const void *argument);

/* Puts the kernel into the stream's order, or into the graph when the stream is being captured.
 * `name` is what reports and the journal call it: 1 to 63 printable characters, no quotation mark
 * and no backslash. `argument_bytes` bytes at `argument` are copied at the call, as a kernel's
 * arguments are, and so are name and ranges. The work takes `nanoseconds` of virtual time, or, when
 * that is 0, what the kernels of lessons/kernels.h take for as many bytes.
 *
 * Returns what a launch returns; for input that makes no sense cudaErrorInvalidValue, with a
 * sentence on standard error. As with a kernel, a bad address is a fault when the work runs. */
cudaError_t sim_launch_kernel(cudaStream_t stream, const char *name, sim_function function,
                              const void *argument, size_t argument_bytes,
                              const struct sim_range *ranges, size_t count,
                              unsigned long long nanoseconds);

/* Adds the kernel to a graph, as a node that comes after `dependency_count` others, in the place of
 * cudaGraphAddKernelNode. The rest is that of sim_launch_kernel, and so are the errors for it; else
 * it returns what cudaGraphAddEmptyNode returns. The parameters of the node cannot be changed. */
cudaError_t sim_graph_add_kernel_node(cudaGraphNode_t *node, cudaGraph_t graph,
                                      const cudaGraphNode_t *dependencies, size_t dependency_count,
                                      const char *name, sim_function function, const void *argument,
                                      size_t argument_bytes, const struct sim_range *ranges,
                                      size_t count, unsigned long long nanoseconds);

/* The legacy default stream, or with -DCUDA_API_PER_THREAD_DEFAULT_STREAM the thread's own, is
 * stream 0: as in CUDA's functions. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define sim_launch_kernel sim_launch_kernel_ptsz
cudaError_t sim_launch_kernel(cudaStream_t stream, const char *name, sim_function function,
                              const void *argument, size_t argument_bytes,
                              const struct sim_range *ranges, size_t count,
                              unsigned long long nanoseconds);
#endif

static inline struct sim_range sim_read(const void *address, size_t bytes)
{
    struct sim_range range = {address, bytes, SIM_READ};
    return range;
}
static inline struct sim_range sim_write(void *address, size_t bytes)
{
    struct sim_range range = {address, bytes, SIM_WRITE};
    return range;
}
static inline struct sim_range sim_read_write(void *address, size_t bytes)
{
    struct sim_range range = {address, bytes, SIM_READ_WRITE};
    return range;
}

#ifdef __cplusplus
}
/* Only its size is used: as many bytes as it has arguments. */
template <class... Ranges> char (&sim_count(const Ranges &...))[sizeof...(Ranges)];
#define SIM_RANGES(...) std::initializer_list<struct sim_range>{__VA_ARGS__}.begin()
#define SIM_COUNT(...)  sizeof(sim_count(__VA_ARGS__))
#else
#define SIM_RANGES(...) ((const struct sim_range[]){__VA_ARGS__})
#define SIM_COUNT(...)  (sizeof SIM_RANGES(__VA_ARGS__) / sizeof(struct sim_range))
#endif

/* sim_launch(stream, "name", function, argument, range, ...): `argument` is a variable, most often
 * a structure; the ranges, of which there is at least one, are calls of sim_read, sim_write and
 * sim_read_write. sim_launch_lasting has the nanoseconds in front. */
#define sim_launch(stream, name, function, argument, ...) \
    sim_launch_lasting(0, stream, name, function, argument, __VA_ARGS__)
#define sim_launch_lasting(nanoseconds, stream, name, function, argument, ...) \
    sim_launch_kernel(stream, name, function, &(argument), sizeof(argument),   \
                      SIM_RANGES(__VA_ARGS__), SIM_COUNT(__VA_ARGS__), nanoseconds)

#endif
