/* What calls about sharing return, each expectation beside the call: ipc_rules rules. ipc_rules
 * descriptors: how many descriptors are open before and after a life of pools and events. What a
 * GPU printed about exporting is in simulator/tests/facts/one-gpu.c. */
#define _GNU_SOURCE
#include "expect.h"
#include "kernels.h"

#include <dirent.h>
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

/* Descriptors of other files, a pool whose file was cut, and bytes that were never exported. */
static void bad_input(cudaMemPool_t p, cudaMemPool_t im, int fd)
{
    struct cudaMemPoolPtrExportData x, other;
    cudaMemPool_t none;
    void *q;
    int file = memfd_create("simulated-device", 0), pipes[2];
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)file, POSIX, 0));
    SAME(0, ftruncate(file, 64 << 20));
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)file, POSIX, 0));
    SAME(0, pipe(pipes));
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)pipes[0], POSIX, 0));
    IS(cudaErrorUnknown,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(intptr_t)-1, POSIX, 0));
    IS(cudaErrorInvalidValue, cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)fd,
                                                                   cudaMemHandleTypeNone, 0));
    IS(cudaErrorInvalidValue,
       cudaMemPoolImportFromShareableHandle(&none, (void *)(uintptr_t)fd, POSIX, 1));
    IS(cudaErrorInvalidValue,
       cudaMemPoolImportFromShareableHandle(NULL, (void *)(uintptr_t)fd, POSIX, 0));
    memset(&x, 0, sizeof x);
    IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(&q, im, &x));
    memset(&x, 0xff, sizeof x);
    IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(&q, im, &x));
    IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(&q, im, NULL));
    IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(NULL, im, &x));
    cudaMemPool_t second = pool_new(POSIX);
    int another;
    OK(cudaMallocFromPoolAsync(&q, 64, second, s));
    /* Its pool was never exported. */
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&other, q));
    OK(cudaMemPoolExportToShareableHandle(&another, second, POSIX, 0));
    close(another);
    OK(cudaMemPoolExportPointer(&other, q));
    OK(cudaFreeAsync(q, s));
    IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(&q, im, &other)); /* of another pool */
    /* Into a pool that is not imported. */
    IS(cudaErrorInvalidValue, cudaMemPoolImportPointer(&q, p, &other));
    /* What a failed import leaves behind. */
    SAME(1, q == NULL);
    OK(cudaMemPoolDestroy(second));
    close(file), close(pipes[0]), close(pipes[1]);
}

static void pointers(cudaMemPool_t p)
{
    struct cudaMemPoolPtrExportData x;
    void *a, *plain, *other;
    OK(cudaMallocFromPoolAsync(&a, 4096, p, s));
    OK(cudaMallocAsync(&other, 64, s));
    OK(cudaMalloc(&plain, 64));
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(NULL, a));
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&x, (char *)a + 16));
    /* Of a pool that cannot be shared. */
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&x, other));
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&x, plain));
    IS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&x, &x));
    OK(cudaFree(plain));
    OK(cudaFreeAsync(other, s));
    OK(cudaFreeAsync(a, s));
}

static void events(void)
{
    cudaIpcEventHandle_t h, nothing;
    cudaEvent_t plain, shared, opened;
    float ms;
    OK(cudaEventCreate(&plain));
    IS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&shared, cudaEventInterprocess));
    OK(cudaEventCreateWithFlags(&shared, cudaEventInterprocess | cudaEventDisableTiming));
    IS(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&h, plain));
    IS(cudaErrorInvalidValue, cudaIpcGetEventHandle(&h, NULL));
    OK(cudaIpcGetEventHandle(&h, shared));
    memset(&nothing, 0, sizeof nothing);
    IS(cudaErrorMapBufferObjectFailed, cudaIpcOpenEventHandle(&opened, nothing));
    IS(cudaErrorInvalidValue, cudaIpcOpenEventHandle(NULL, h));
    IS(cudaErrorDeviceUninitialized, cudaIpcOpenEventHandle(&opened, h)); /* one's own */
    /* An event that was never recorded: there is nothing to wait for. */
    OK(cudaEventQuery(shared));
    OK(cudaStreamWaitEvent(s, shared, 0));
    OK(cudaEventSynchronize(shared));
    OK(cudaEventRecord(shared, s));
    OK(cudaEventSynchronize(shared));
    OK(cudaEventRecord(plain, s));
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, shared, plain));
    OK(cudaEventDestroy(shared));
    OK(cudaEventDestroy(plain));
}

static int rules(void)
{
    cudaMemPool_t p = pool_new(POSIX), im, twice;
    struct cudaMemPoolPtrExportData x;
    struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice, .id = 1};
    struct cudaMemAccessDesc wanted = {.location = device,
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags access;
    struct cudaPointerAttributes about;
    int fd;
    void *a, *q, *again;
    OK(cudaStreamCreate(&s));
    set_threshold(p, UINT64_MAX);
    OK(cudaMemPoolExportToShareableHandle(&fd, p, POSIX, 0));
    OK(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd, POSIX, 0));
    OK(cudaMallocFromPoolAsync(&a, 40 * MiB, p, s));
    OK(cudaMallocFromPoolAsync(&q, 4096, p, s));
    OK(cudaMemPoolExportPointer(&x, q));
    OK(cudaMemcpyAsync(q, "through the file", 17, cudaMemcpyHostToDevice, s));
    OK(cudaMemPoolImportPointer(&again, im, &x));
    char text[17] = "";
    OK(cudaMemcpyAsync(text, again, 17, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(0, strcmp(text, "through the file"));
    OK(cudaPointerGetAttributes(&about, again));
    SAME(cudaMemoryTypeDevice, about.type);
    SAME(0, about.device);
    /* The importer gives its other devices access itself. */
    OK(cudaMemPoolGetAccess(&access, im, &device));
    SAME(cudaMemAccessFlagsProtNone, access);
    OK(cudaMemPoolSetAccess(im, &wanted, 1));
    OK(cudaMemPoolGetAccess(&access, im, &device));
    SAME(cudaMemAccessFlagsProtReadWrite, access);
    /* Beyond its end. */
    IS(cudaErrorInvalidValue,
       cudaMemcpyAsync(text, (char *)again + 4090, 17, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(again, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(im));
    OK(cudaMemPoolDestroy(im)); /* measured */
    /* A pool that was imported twice is one pool. Destroyed once, it still exists; it is never
     * destroyed with a block imported. */
    OK(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd, POSIX, 0));
    OK(cudaMemPoolImportFromShareableHandle(&twice, (void *)(uintptr_t)fd, POSIX, 0));
    SAME(1, im == twice);
    OK(cudaMemPoolImportPointer(&again, im, &x));
    IS(cudaErrorInvalidValue, cudaMemPoolDestroy(im));
    /* Work that was queued before the free is done after the pool's end. */
    OK(launch_fill(again, 3, 1024, s));
    OK(cudaFreeAsync(again, s));
    OK(cudaMemPoolDestroy(im));
    OK(cudaMemPoolDestroy(im));
    int value = 0;
    OK(cudaMemcpyAsync(&value, q, sizeof value, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(3, value);
    OK(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd, POSIX, 0));
    bad_input(p, im, fd);
    OK(cudaFreeAsync(q, s));
    OK(cudaFreeAsync(a, s));
    pointers(p);
    events();
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(p));
    OK(cudaMemPoolDestroy(im));
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
