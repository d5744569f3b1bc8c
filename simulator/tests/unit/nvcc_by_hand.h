/* For programs that make the calls of nvcc's code by hand. */
#ifndef NVCC_BY_HAND_H
#define NVCC_BY_HAND_H

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

/* The prototypes of the toolkit's crt/host_runtime.h, which is for C++. */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **binary);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *symbol,
                            int thread_limit, void *thread, void *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size);
void __cudaRegisterVar(void **binary, char *host, char *device, const char *symbol, int ext,
                       size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **binary, void **host, char *device, const char *symbol, int ext,
                              size_t bytes, int constant, int global);
char __cudaInitModule(void **binary);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream);

/* A fat binary with one uncompressed text, as nvcc --compress-mode=none writes it. */
struct binary {
    struct {
        unsigned magic;
        unsigned short version, header_bytes;
        unsigned long long bytes;
    } container;
    struct {
        unsigned short kind, version;
        unsigned header_bytes;
        unsigned long long bytes;
        unsigned compressed, unknown[2], architecture;
        unsigned long long more, flags, yet_more, text_bytes;
    } entry;
    char text[];
};

/* Returns a binary of `bytes` bytes, from which a text of PTX is made. */
static inline struct binary *new_binary(const char *bytes, size_t count)
{
    struct binary *b = calloc(1, sizeof *b + count);
    if (!b)
        exit(2);
    memcpy(b->text, bytes, count);
    b->container.magic = 0xBA55ED50;
    b->container.version = 1;
    b->container.header_bytes = sizeof b->container;
    b->container.bytes = sizeof b->entry + count;
    b->entry.kind = 1;
    b->entry.header_bytes = sizeof b->entry;
    b->entry.bytes = count;
    b->entry.architecture = 75;
    return b;
}

/* Registers the binary as a program's. Returns its handle. */
static inline void **register_binary(const struct binary *b)
{
    static struct {
        int magic, version;
        const void *data;
        void *file;
    } wrapper = {0x466243b1, 1, NULL, NULL};
    wrapper.data = b;
    return __cudaRegisterFatBinary(&wrapper);
}

/* Registers a text of PTX. */
static inline void **register_ptx(const char *text)
{
    return register_binary(new_binary(text, strlen(text) + 1));
}

#endif
