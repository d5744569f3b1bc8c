/* ipc_rules rules: what calls about sharing return that no GPU was asked about by one-gpu.c, ipc.c
 * and probe-ipc.c of simulator/tests/facts. ipc_rules descriptors: how many descriptors are open
 * before and after a life of pools and events. */
#define _GNU_SOURCE
#include "expect.h"
#include "kernels.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const enum cudaMemAllocationHandleType POSIX = cudaMemHandleTypePosixFileDescriptor;
static cudaStream_t s;

static cudaMemPool_t pool_new(enum cudaMemAllocationHandleType types)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = types,
                                     .location.type = cudaMemLocationTypeDevice};
    cudaMemPool_t p = NULL;
    OK(cudaMemPoolCreate(&p, &props));
    return p;
}

static void set_threshold(cudaMemPool_t p, uint64_t value)
{
    OK(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReleaseThreshold, &value));
}

/* Files that have the name of a shared pool's file, and not its contents. */
static void foreign_files(void)
{
    cudaMemPool_t none;
    int file = memfd_create("simulated-device", 0);
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)file, POSIX, 0));
    SAME(0, ftruncate(file, 64 << 20));
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)file, POSIX, 0));
    close(file);
}

/* Allocations of pools that cannot be shared, and of cudaMalloc. */
static void unshared_memory(void)
{
    struct cudaMemPoolPtrExportData x;
    void *plain, *other;
    OK(cudaMallocAsync(&other, 64, s));
    OK(cudaMalloc(&plain, 64));
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&x, other));
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&x, plain));
    OK(cudaFree(plain));
    OK(cudaFreeAsync(other, s));
}

/* An event that was never recorded: its process has nothing to wait for. */
static void events(void)
{
    cudaIpcEventHandle_t h;
    cudaEvent_t shared;
    IS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&shared, cudaEventInterprocess));
    OK(cudaEventCreateWithFlags(&shared, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaIpcGetEventHandle(&h, shared));
    OK(cudaEventQuery(shared));
    OK(cudaStreamWaitEvent(s, shared, 0));
    OK(cudaEventSynchronize(shared));
    OK(cudaEventRecord(shared, s));
    OK(cudaEventSynchronize(shared));
    OK(cudaEventDestroy(shared));
}

static int rules(void)
{
    cudaMemPool_t p = pool_new(POSIX), im;
    struct cudaMemPoolPtrExportData x;
    int fd, value = 0;
    void *a, *q, *again;
    char text[17] = "";
    OK(cudaStreamCreate(&s));
    set_threshold(p, UINT64_MAX);
    OK(cudaMemPoolExportToShareableHandle(&fd, p, POSIX, 0));
    OK(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd, POSIX, 0));
    OK(cudaMallocFromPoolAsync(&a, 40 * MiB, p, s));
    OK(cudaMallocFromPoolAsync(&q, 4096, p, s));
    /* Whoever gets the descriptor cannot make the file shorter. */
    SAME(1, ftruncate(fd, 0) == -1 && errno == EPERM);
    OK(cudaMemPoolExportPointer(&x, q));
    OK(cudaMemPoolImportPointer(&again, im, &x));
    /* Beyond its end. */
    IS(cudaErrorInvalidValue,
       cudaMemcpyAsync(text, (char *)again + 4090, 17, cudaMemcpyDeviceToHost, s));
    /* Work that was queued before the free is done after the pool's end. */
    OK(launch_fill(again, 3, 1024, s));
    OK(cudaFreeAsync(again, s));
    OK(cudaMemPoolDestroy(im));
    OK(cudaMemcpyAsync(&value, q, sizeof value, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(3, value);
    foreign_files();
    unshared_memory();
    events();
    OK(cudaFreeAsync(q, s));
    OK(cudaFreeAsync(a, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(p));
    close(fd);
    puts(wrong ? "not as expected" : "all as expected");
    return wrong;
}

/* Except those of a simulator thread that briefly looks at what the program's threads do: it may
 * close one between the two calls here. */
static int open_descriptors(void)
{
    int count = -1; /* the folder's own */
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *one; (one = readdir(folder));) {
        char to[256] = "";
        if (readlinkat(dirfd(folder), one->d_name, to, sizeof to - 1) <= 0)
            continue;
        const char *last = strrchr(to, '/');
        count += !last || strncmp(to, "/proc/", 6)
              || (strcmp(last, "/stat") && strcmp(last, "/syscall"));
    }
    closedir(folder);
    return count;
}

static int descriptors(void)
{
    void *plain;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&plain, 64));
    /* A thread that has left work keeps one, and a process that has shared something keeps its
     * clock. */
    OK(cudaMemsetAsync(plain, 0, 64, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool_new(POSIX)));
    int before = open_descriptors();
    rules();
    printf("%d more\n", open_descriptors() - before);
    OK(cudaFree(plain));
    return wrong;
}

/* The file may have 80 MiB: two segments fit, but not a third. */
static int limited(void)
{
    struct rlimit limit = {80 * MiB, 80 * MiB};
    setrlimit(RLIMIT_FSIZE, &limit);
    void *a, *b, *c;
    OK(cudaStreamCreate(&s));
    cudaMemPool_t p = pool_new(POSIX), plain = pool_new(cudaMemHandleTypeNone);
    OK(cudaMallocFromPoolAsync(&a, 64 * MiB, p, s));
    IS(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&b, MiB, p, s));
    /* Without a file there is no limit. */
    OK(cudaMallocFromPoolAsync(&c, 200 * MiB, plain, s));
    OK(cudaMemsetAsync(a, 1, 64 * MiB, s));
    OK(cudaFreeAsync(a, s));
    OK(cudaMallocFromPoolAsync(&b, MiB, p, s));
    OK(cudaFreeAsync(b, s));
    OK(cudaFreeAsync(c, s));
    OK(cudaStreamSynchronize(s));
    puts(wrong ? "not as expected" : "all as expected");
    return wrong;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "rules"))
        return rules();
    if (!strcmp(what, "descriptors"))
        return descriptors();
    if (!strcmp(what, "limited"))
        return limited();
    fprintf(stderr, "ipc_rules: rules, descriptors or limited?\n");
    return 2;
}
