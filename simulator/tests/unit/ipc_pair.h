/* For the programs that test two processes: fork before the first CUDA call, a socket between them,
 * and strictly one side at a time. Both run the CASE that the first argument names. */
#ifndef IPC_PAIR_H
#define IPC_PAIR_H

#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../facts/messages.h"
#include "expect.h"
#include "kernels.h"
#include "workbook.h"

#define POSIX cudaMemHandleTypePosixFileDescriptor

static int child;    /* the exporter's: the importer's pid */
static int importer; /* true in the importer, which is the child */
static cudaStream_t s;

/* True in the importer, which is the child. */
static inline int split(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        _exit(5);
    setvbuf(stdout, NULL, _IOLBF, 0);
    child = fork();
    if (child < 0)
        _exit(5);
    channel = ends[!child];
    close(ends[!!child]);
    return !child;
}

/* The importer's exit status; 128 and more: a signal. */
static inline int child_status(void)
{
    int status;
    close(channel);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void free_block(void *memory)
{
    OK(cudaFreeAsync(memory, s));
    OK(cudaStreamSynchronize(s));
}

static inline cudaMemPool_t pool_in(enum cudaMemLocationType location,
                                    enum cudaMemAllocationHandleType types)
{
    struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned, .handleTypes = types, .location.type = location};
    cudaMemPool_t pool;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static inline cudaMemPool_t pool_to_share(void)
{
    uint64_t all = UINT64_MAX;
    cudaMemPool_t pool = pool_in(cudaMemLocationTypeDevice, POSIX);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    return pool;
}

static inline cudaEvent_t shared_event(void)
{
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    return event;
}

static inline void send_event(cudaEvent_t event)
{
    cudaIpcEventHandle_t handle;
    OK(cudaIpcGetEventHandle(&handle, event));
    send_bytes(&handle, sizeof handle);
}

static inline cudaEvent_t receive_event(void)
{
    cudaIpcEventHandle_t handle;
    cudaEvent_t event;
    receive_bytes(&handle, sizeof handle);
    OK(cudaIpcOpenEventHandle(&event, handle));
    return event;
}

/* Exports the pool and one block of it. */
static inline void send_block(cudaMemPool_t pool, void *block)
{
    struct cudaMemPoolPtrExportData data;
    int descriptor;
    OK(cudaMemPoolExportToShareableHandle(&descriptor, pool, POSIX, 0));
    OK(cudaMemPoolExportPointer(&data, block));
    send_descriptor(descriptor);
    close(descriptor);
    send_bytes(&data, sizeof data);
}

static inline void *receive_block(cudaMemPool_t *pool)
{
    struct cudaMemPoolPtrExportData data;
    void *block;
    int descriptor = receive_descriptor();
    OK(cudaMemPoolImportFromShareableHandle(pool, (void *)(uintptr_t)descriptor, POSIX, 0));
    close(descriptor);
    receive_bytes(&data, sizeof data);
    OK(cudaMemPoolImportPointer(&block, *pool, &data));
    return block;
}

/* For a main. Returns the exit status: the exporter's unless the importer's is not 0; the checker's
 * is 3. */
static inline int run_pair(int argc, char **argv)
{
    importer = split();
    OK(cudaStreamCreate(&s));
    int status = run_case(argc, argv);
    OK(cudaStreamDestroy(s));
    status = status ? status : wrong;
    return status || importer ? status : child_status();
}

#endif
