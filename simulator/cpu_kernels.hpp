// A program's own CUDA kernels on the simulated device, as they are: for C++14 and later.
//
// A kernel keeps its text, and runs on the CPU, one thread of the grid after the other. Each launch
// changes in one line: it names the memory that the kernel reads and writes, in bytes, which the
// checker needs (simulator/user_kernels.h has the rules and the limits). nvcc compiles the same
// line to the launch that it was.
//
//     #include "cpu_kernels.hpp"
//
//     __global__ void scale(float *to, const float *from, int count, float factor)
//     {
//         int i = blockIdx.x * blockDim.x + threadIdx.x;
//         if (i < count)
//             to[i] = factor * from[i];
//     }
//
//     scale<<<blocks, 256, 0, stream>>>(to, from, count, 2.0f);                 // before
//     SIM_KERNEL(scale, blocks, 256, stream)(sim::write(to, bytes),             // after
//                                            sim::read(from, bytes), count, 2.0f);
//     cudaError_t e = cudaGetLastError();
//
// What threads of a block do together is refused when the program is compiled: __shared__ and
// __syncthreads. So is a launch whose arguments cannot be copied byte by byte. A kernel that waits
// for another of its threads never ends, and one whose threads depend on their order gives the
// result of this one.
#ifndef SIM_CPU_KERNELS_HPP
#define SIM_CPU_KERNELS_HPP

#include <cuda_runtime.h>

#ifdef __CUDACC__

namespace sim {
template <class T> T *read(T *address, size_t) { return address; }
template <class T> T *write(T *address, size_t) { return address; }
template <class T> T *read_write(T *address, size_t) { return address; }
} // namespace sim

#define SIM_KERNEL(kernel, grid, block, stream) kernel<<<grid, block, 0, stream>>>

#else

#include <type_traits>

#include "user_kernels.h"

namespace sim {

// An argument that is a range of memory.
template <class T> struct range {
    T *address;
    size_t bytes;
    enum sim_access access;
};
template <class T> range<T> read(T *address, size_t bytes) { return {address, bytes, SIM_READ}; }
template <class T> range<T> write(T *address, size_t bytes) { return {address, bytes, SIM_WRITE}; }
template <class T> range<T> read_write(T *address, size_t bytes)
{
    return {address, bytes, SIM_READ_WRITE};
}

// Where the thread of the grid is that runs now.
struct position {
    dim3 grid_size, block_size;
    uint3 block, thread;
};
inline position &now()
{
    static position p;
    return p;
}

// The arguments of a launch, which are copied byte by byte.
template <class... Arguments> struct arguments {};
template <class First, class... Rest> struct arguments<First, Rest...> {
    First first;
    arguments<Rest...> rest;
};
inline arguments<> pack() { return {}; }
template <class First, class... Rest> arguments<First, Rest...> pack(First first, Rest... rest)
{
    return {first, pack(rest...)};
}

// Calls the kernel with its arguments, where memory[i] is range i. `done`: the arguments so far.
template <class Kernel, class... Done>
void call(Kernel kernel, void *const *, const arguments<> &, Done... done)
{
    kernel(done...);
}
template <class Kernel, class First, class... Rest, class... Done>
void call(Kernel kernel, void *const *memory, const arguments<First, Rest...> &a, Done... done);
template <class Kernel, class T, class... Rest, class... Done>
void call(Kernel kernel, void *const *memory, const arguments<range<T>, Rest...> &a, Done... done)
{
    call(kernel, memory + 1, a.rest, done..., static_cast<T *>(*memory));
}
template <class Kernel, class First, class... Rest, class... Done>
void call(Kernel kernel, void *const *memory, const arguments<First, Rest...> &a, Done... done)
{
    call(kernel, memory, a.rest, done..., a.first);
}

template <class Step> void each_index(const dim3 &size, uint3 &index, Step step)
{
    for (index.z = 0; index.z < size.z; index.z++)
        for (index.y = 0; index.y < size.y; index.y++)
            for (index.x = 0; index.x < size.x; index.x++)
                step();
}

template <class Kernel, class Arguments> struct launch {
    Kernel kernel;
    dim3 grid, block;
    Arguments arguments;

    static void run(void *const *memory, const void *copy)
    {
        const launch &l = *static_cast<const launch *>(copy);
        position &p = now();
        p.grid_size = l.grid;
        p.block_size = l.block;
        each_index(l.grid, p.block, [&] {
            each_index(l.block, p.thread, [&] { call(l.kernel, memory, l.arguments); });
        });
    }
};

inline void list(struct sim_range *) {}
template <class First, class... Rest> void list(struct sim_range *to, First, Rest... rest)
{
    list(to, rest...);
}
template <class T, class... Rest> void list(struct sim_range *to, range<T> first, Rest... rest)
{
    *to = {const_cast<const void *>(static_cast<const volatile void *>(first.address)),
           first.bytes, first.access};
    list(to + 1, rest...);
}

template <class A> struct is_range : std::false_type {};
template <class T> struct is_range<range<T>> : std::true_type {};
inline size_t count() { return 0; }
template <class First, class... Rest> size_t count(First, Rest... rest)
{
    return is_range<First>::value + count(rest...);
}

template <class Kernel> struct launcher {
    Kernel kernel;
    const char *name;
    dim3 grid, block;
    cudaStream_t stream;

    template <class... A> void operator()(A... a) const
    {
        using Launch = launch<Kernel, arguments<A...>>;
        static_assert(std::is_trivially_copyable<Launch>::value,
                      "an argument of this kernel cannot be copied byte by byte");
        Launch copy = {kernel, grid, block, pack(a...)};
        struct sim_range ranges[sizeof...(A) + 1];
        list(ranges, a...);
        sim_launch_kernel(stream, name, Launch::run, &copy, sizeof copy, ranges, count(a...), 0);
    }
};
template <class Kernel>
launcher<Kernel> launch_of(Kernel kernel, const char *name, dim3 grid, dim3 block,
                           cudaStream_t stream)
{
    return {kernel, name, grid, block, stream};
}

} // namespace sim

#define SIM_KERNEL(kernel, grid, block, stream) \
    sim::launch_of(kernel, #kernel, grid, block, stream)

#define gridDim   (sim::now().grid_size)
#define blockDim  (sim::now().block_size)
#define blockIdx  (sim::now().block)
#define threadIdx (sim::now().thread)

// One thread runs at a time.
template <class T, class U> T atomicAdd(T *at, U value)
{
    T old = *at;
    *at = static_cast<T>(old + value);
    return old;
}
template <class T, class U> T atomicExch(T *at, U value)
{
    T old = *at;
    *at = value;
    return old;
}
template <class T, class U> T atomicMax(T *at, U value)
{
    return atomicExch(at, *at < static_cast<T>(value) ? static_cast<T>(value) : *at);
}
template <class T, class U> T atomicMin(T *at, U value)
{
    return atomicExch(at, static_cast<T>(value) < *at ? static_cast<T>(value) : *at);
}
template <class T, class U, class V> T atomicCAS(T *at, U expected, V value)
{
    return atomicExch(at, *at == static_cast<T>(expected) ? static_cast<T>(value) : *at);
}

#undef __shared__
#define __shared__ \
    _Pragma("GCC error \"cpu_kernels.hpp runs one thread of a block after the other: \
__shared__ memory is not simulated. Write a function for the CPU (simulator/user_kernels.h).\"")
#define __syncthreads() \
    _Pragma("GCC error \"cpu_kernels.hpp runs one thread of a block after the other: \
__syncthreads is not simulated. Write a function for the CPU (simulator/user_kernels.h).\"")

#endif
#endif
