/* A program's own kernels on the simulated device, for C and C++.
 *
 * The simulated device runs kernels that nvcc built. For a kernel that cannot run there, or a
 * program without nvcc, a C function does the same on the CPU, and each launch declares the ranges
 * of memory that the kernel reads and writes. The checker then treats the launch like any work of a
 * stream. One source file serves both: nvcc compiles the kernel and its launch, and any other
 * compiler the function and sim_launch.
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
 * The checker judges a launch by what it declares, not by what the function does, and knows nothing
 * of a range that is not declared. What it can see of such touches, it reports as an "undeclared
 * access":
 *
 * - the function touches device memory by a device address, perhaps from its argument, and not
 *   through `memory`;
 * - it writes into a range that is declared with sim_read;
 * - it writes up to 64 bytes before or after a range, where no other range of the launch allows it.
 *
 * The last two are seen only in memory of one device and one process (cudaMalloc and pools of a
 * device) and, in a range of more than 16 MiB that is read, only in the first and last 8 MiB. All
 * other undeclared touches go unseen: reads next to a range, writes farther away, and what the
 * function does to pinned and managed memory or to the program's own variables. With SIM_CHECK=off
 * only the first is reported, because the program cannot continue after it. */
#ifndef SIM_USER_KERNELS_H
#define SIM_USER_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/* The most ranges of a launch, and the most bytes of its argument (documented: the limit of a
 * kernel's parameters since CUDA 12.1). */
#define SIM_RANGES_MAX   32
#define SIM_ARGUMENT_MAX 32764

enum sim_access { SIM_READ = 1, SIM_WRITE = 2, SIM_READ_WRITE = 3 };

/* Memory that a kernel touches, by its address in the program: memory of a device, pinned, or
 * managed. A range of no bytes is no access; only such a range may begin at NULL. Ranges of one
 * launch may overlap. */
struct sim_range {
    const void *address;
    size_t bytes;
    enum sim_access access;
};

/* A function that replaces a kernel. memory[i] is the address of range i's bytes for the CPU, or
 * NULL if it has none, and is valid until the function returns. `argument` is the launch's copy.
 *
 * It runs once, when the work's time has come, inside some call of the program and on that call's
 * thread. It must return, and must not call CUDA, which ends the program with a sentence. Other
 * effects, such as printing, happen in the order of virtual time. */
typedef void (*sim_function)(void *const *memory, const void *argument);

/* Queues the kernel in the stream or, if the stream is being captured, adds it to the graph.
 * Reports and the journal call it `name`: 1 to 63 printable characters without quotation marks and
 * backslashes. The call copies the `argument_bytes` bytes at `argument`, like a kernel's arguments,
 * and the name and ranges. The work takes `nanoseconds` of virtual time or, if that is 0, as long
 * as the kernels of lessons/kernels.h take for as many bytes.
 *
 * Returns what a launch returns, or cudaErrorInvalidValue, after a sentence on standard error, for
 * invalid input. As with a kernel, a bad address is a fault when the work runs. */
cudaError_t sim_launch_kernel(cudaStream_t stream, const char *name, sim_function function,
                              const void *argument, size_t argument_bytes,
                              const struct sim_range *ranges, size_t count,
                              unsigned long long nanoseconds);

/* Adds the kernel to a graph as a node that depends on `dependency_count` others, instead of
 * cudaGraphAddKernelNode. The other arguments and their errors are as in sim_launch_kernel;
 * otherwise it returns what cudaGraphAddEmptyNode returns. The node's parameters cannot be
 * changed. */
cudaError_t sim_graph_add_kernel_node(cudaGraphNode_t *node, cudaGraph_t graph,
                                      const cudaGraphNode_t *dependencies, size_t dependency_count,
                                      const char *name, sim_function function, const void *argument,
                                      size_t argument_bytes, const struct sim_range *ranges,
                                      size_t count, unsigned long long nanoseconds);

/* As in CUDA's functions, stream 0 is the legacy default stream or, with
 * -DCUDA_API_PER_THREAD_DEFAULT_STREAM, the thread's own. */
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
/* Only the size of the result is used: as many bytes as there are arguments. */
template <class... Ranges> char (&sim_count(const Ranges &...))[sizeof...(Ranges)];
#define SIM_RANGES(...) std::initializer_list<struct sim_range>{__VA_ARGS__}.begin()
#define SIM_COUNT(...)  sizeof(sim_count(__VA_ARGS__))
#else
#define SIM_RANGES(...) ((const struct sim_range[]){__VA_ARGS__})
#define SIM_COUNT(...)  (sizeof SIM_RANGES(__VA_ARGS__) / sizeof(struct sim_range))
#endif

/* sim_launch(stream, "name", function, argument, range, ...): `argument` is a variable, usually a
 * structure. The ranges, at least one, are calls of sim_read, sim_write, and sim_read_write.
 * sim_launch_lasting takes the nanoseconds first. */
#define sim_launch(stream, name, function, argument, ...) \
    sim_launch_lasting(0, stream, name, function, argument, __VA_ARGS__)
#define sim_launch_lasting(nanoseconds, stream, name, function, argument, ...) \
    sim_launch_kernel(stream, name, function, &(argument), sizeof(argument),   \
                      SIM_RANGES(__VA_ARGS__), SIM_COUNT(__VA_ARGS__), nanoseconds)

#endif
