/* What the lessons share: CHECK, an argument in MiB, the figures of a pool, two GPUs, a gate for
 * launch_hold, times.
 *
 * Exit statuses of every lesson: 0 no error; 1 a CUDA call failed or the program detected an error;
 * 2 an invalid argument; 3 (simulated device only) a hazard: an access that the stream order does
 * not permit; 77 skipped: this machine lacks what the lesson needs, and a line names it. Lines that
 * begin with "~" depend on the machine. */
#ifndef WORKBOOK_H
#define WORKBOOK_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MiB ((size_t)1 << 20)

/* CHECK(call): every CUDA call returns an error code. Any code but cudaSuccess ends the program,
 * with a line that names the call. */
#define CHECK(call) check((call), #call, __FILE__, __LINE__)

static inline void check(cudaError_t result, const char *call, const char *file, int line)
{
    if (result == cudaSuccess)
        return;
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(result),
            cudaGetErrorString(result));
    exit(1);
}

/* The program's one argument, a whole number of MiB that the device could hold, or `fallback` when
 * there is none. */
static inline size_t mib_argument(int argc, char **argv, size_t fallback)
{
    if (argc < 2)
        return fallback;
    size_t free_bytes, total_bytes;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    size_t most = total_bytes / MiB, mib = 0;
    const char *digit = argv[1];
    while (*digit >= '0' && *digit <= '9' && mib <= most)
        mib = mib * 10 + (size_t)(*digit++ - '0');
    if (argc > 2 || *digit != '\0' || mib < 1 || mib > most) {
        fprintf(stderr, "%s: expected one whole number of MiB from 1 to %zu (default %zu), ",
                argv[0], most, fallback);
        fprintf(stderr, "got \"%s%s%s\"\n", argv[1], argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
        exit(2);
    }
    return mib;
}

/* The pool attributes that are 64-bit numbers: the threshold and the four statistics. Helpers whose
 * names end in _at are called by a macro, so that an error names the line of the caller. */
static inline uint64_t pool_get_at(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                   const char *call, const char *file, int line)
{
    uint64_t value = 0;
    check(cudaMemPoolGetAttribute(pool, attribute, &value), call, file, line);
    return value;
}

static inline void pool_set_at(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, uint64_t value,
                               const char *call, const char *file, int line)
{
    check(cudaMemPoolSetAttribute(pool, attribute, &value), call, file, line);
}

#define pool_get(pool, attribute)                                                                \
    pool_get_at(pool, attribute, "cudaMemPoolGetAttribute(" #pool ", " #attribute ")", __FILE__, \
                __LINE__)
#define pool_set(pool, attribute, value)                                                    \
    pool_set_at(pool, attribute, value,                                                     \
                "cudaMemPoolSetAttribute(" #pool ", " #attribute ", " #value ")", __FILE__, \
                __LINE__)

/* The pool attributes that are ints: the three reuse policies. */
static inline int pool_get_flag_at(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                   const char *call, const char *file, int line)
{
    int value = 0;
    check(cudaMemPoolGetAttribute(pool, attribute, &value), call, file, line);
    return value;
}

static inline void pool_set_flag_at(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, int value,
                                    const char *call, const char *file, int line)
{
    check(cudaMemPoolSetAttribute(pool, attribute, &value), call, file, line);
}

#define pool_get_flag(pool, attribute)                                                      \
    pool_get_flag_at(pool, attribute, "cudaMemPoolGetAttribute(" #pool ", " #attribute ")", \
                     __FILE__, __LINE__)
#define pool_set_flag(pool, attribute, value)                                                    \
    pool_set_flag_at(pool, attribute, value,                                                     \
                     "cudaMemPoolSetAttribute(" #pool ", " #attribute ", " #value ")", __FILE__, \
                     __LINE__)

/* What GPU `device` may do with the memory of a pool. */
static inline enum cudaMemAccessFlags pool_get_access_at(cudaMemPool_t pool, int device,
                                                         const char *call, const char *file,
                                                         int line)
{
    struct cudaMemLocation location = {.type = cudaMemLocationTypeDevice, .id = device};
    enum cudaMemAccessFlags access;
    check(cudaMemPoolGetAccess(&access, pool, &location), call, file, line);
    return access;
}

#define pool_get_access(pool, device)                                                              \
    pool_get_access_at(pool, device, "cudaMemPoolGetAccess(" #pool ", GPU " #device ")", __FILE__, \
                       __LINE__)

/* Reserved: the physical memory that the pool holds. Used: the bytes of its live allocations. Both
 * in MiB. */
static inline size_t reserved_mib(cudaMemPool_t pool)
{
    return (size_t)pool_get(pool, cudaMemPoolAttrReservedMemCurrent) / MiB;
}

static inline size_t used_mib(cudaMemPool_t pool)
{
    return (size_t)pool_get(pool, cudaMemPoolAttrUsedMemCurrent) / MiB;
}

/* A new pool on device 0 with every attribute at its default. Lesson 03 does this by hand. */
static inline cudaMemPool_t pool_create(void)
{
    struct cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

/* The last int of an allocation. The host waits until the stream has copied it. */
static inline int last_of_at(const int *data, size_t count, cudaStream_t stream, const char *call,
                             const char *file, int line)
{
    int value = 0;
    const int *last = data + count - 1;
    check(cudaMemcpyAsync(&value, last, sizeof value, cudaMemcpyDeviceToHost, stream), call, file,
          line);
    check(cudaStreamSynchronize(stream), call, file, line);
    return value;
}

#define last_of(data, count, stream)                                                         \
    last_of_at(data, count, stream, "last_of(" #data ", " #count ", " #stream ")", __FILE__, \
               __LINE__)

/* For lessons about two GPUs that use each other's memory. On a machine without them the program
 * ends here, as skipped. */
static inline void need_two_gpus(void)
{
    int devices, reachable = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices > 1)
        CHECK(cudaDeviceCanAccessPeer(&reachable, 1, 0));
    if (reachable)
        return;
    printf("skipped: needs two GPUs that can reach each other's memory; GPUs here: %d\n", devices);
    exit(77);
}

/* A gate for launch_hold: a stream that holds at it does nothing more until the host opens it.
 * Create it before the first hold; destroy it after the streams that held at it have been
 * synchronized. */
static inline volatile int *gate_create(void)
{
    volatile int *gate;
    CHECK(cudaHostAlloc((void **)&gate, sizeof(int), cudaHostAllocMapped));
    *gate = 0;
    return gate;
}

static inline void gate_open(volatile int *gate) { *gate = 1; }

static inline void gate_destroy(volatile int *gate) { CHECK(cudaFreeHost((void *)gate)); }

/* A stopwatch: two events around what is timed. In a stream that has nothing else to do, the time
 * of an event is the time at which the host recorded it. So a stopwatch can also time the host's
 * own work. */
struct stopwatch {
    cudaEvent_t begin, end;
};

/* Waits until the stream has done its work so far. Then the time begins. */
static inline struct stopwatch stopwatch_start(cudaStream_t stream)
{
    struct stopwatch watch;
    CHECK(cudaEventCreate(&watch.begin));
    CHECK(cudaEventCreate(&watch.end));
    CHECK(cudaEventRecord(watch.begin, stream));
    CHECK(cudaEventSynchronize(watch.begin));
    return watch;
}

/* Waits again, and returns the microseconds between the two. */
static inline float stopwatch_stop(struct stopwatch watch, cudaStream_t stream)
{
    float milliseconds;
    CHECK(cudaEventRecord(watch.end, stream));
    CHECK(cudaEventSynchronize(watch.end));
    CHECK(cudaEventElapsedTime(&milliseconds, watch.begin, watch.end));
    CHECK(cudaEventDestroy(watch.begin));
    CHECK(cudaEventDestroy(watch.end));
    return milliseconds * 1000;
}

/* Whether a device is the simulated one, by its name. */
static inline int is_simulated(const struct cudaDeviceProp *device)
{
    return strncmp(device->name, "Simulated device", strlen("Simulated device")) == 0;
}

/* Prints a line that names device 0, and whether the program's figures are measured or modeled. */
static inline void say_device(void)
{
    struct cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("~ device \"%s\": its figures are \"%s\"\n", device.name,
           is_simulated(&device) ? "modeled" : "measured");
}

/* "speed" (in GT/s) or "width" (in lanes) of the PCI Express link of a device, as it is now. 0 if
 * Linux does not report it. */
static inline double link_figure(const struct cudaDeviceProp *device, const char *name)
{
    char path[96];
    double figure = 0;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.0/current_link_%s",
             (unsigned)device->pciDomainID, (unsigned)device->pciBusID,
             (unsigned)device->pciDeviceID, name);
    FILE *file = is_simulated(device) ? NULL : fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lf", &figure) != 1)
        figure = 0;
    fclose(file);
    return figure;
}

/* The most that the link carries each way, in GB/s; it also prints a line with the figure's source.
 * Call it after a copy: an idle link may be slower. Since PCI Express 3, 128 of 130 bits are
 * data. */
static inline double say_link_limit(void)
{
    struct cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    double speed = link_figure(&device, "speed"), width = link_figure(&device, "width");
    const char *source = "as Linux reports";
    if (speed <= 0 || width <= 0) {
        source = is_simulated(&device) ? "modeled: PCI Express 5"
                                       : "Linux does not report it: assumed PCI Express 5";
        speed = 32;
        width = 16;
    }
    double limit = speed * width * 128 / 130 / 8;
    printf("~ the link carries at most %.1f GB/s each way: %.1f GT/s, %.0f lanes, \"%s\"\n", limit,
           speed, width, source);
    return limit;
}

#endif
