/* Records memory in rows (cudaMallocPitch, copies and memsets of two dimensions), what is known of
 * a range of managed memory, and the numbers of devices on the PCI bus, digits masked. */
#include "probe.h"

#include <ctype.h>
#include <sys/mman.h>

/* 1 MiB each: of a device (d and e), pinned, pageable with nothing to touch behind it (p; in cases
 * without such memory, an allocation). */
static char *d, *e, *h, *p;

/* ---- allocations ---- */

/* An allocation of rows; a pointer or a pitch that a refused call leaves alone is "as before". */
static void allocate_rows(size_t width, size_t height)
{
    void *p = (void *)0x1234;
    size_t pitch = 7, free_before = free_now();
    cudaError_t error = cudaMallocPitch(&p, &pitch, width, height);
    size_t free_after = free_now();
    printf("cudaMallocPitch %zu x %zu: %s", width, height, cudaGetErrorName(error));
    if (pitch == 7)
        printf(" pitch as before");
    else
        printf(" pitch %zu", pitch);
    if (!p)
        printf(" pointer null");
    else if (p == (void *)0x1234)
        printf(" pointer as before");
    else
        printf(" device memory fell by %zu", free_before - free_after);
    puts("");
    cudaGetLastError();
    if (!error)
        cudaFree(p);
}

/* Which pitch comes back for which width? */
CASE(widths)
{
    static const size_t all[] = {1,     2,       31,   32,      33,           63,      64,    127,
                                 128,   255,     256,  257,     511,          512,     513,   1000,
                                 1024,  1025,    4000, 4096,    4097,         10000,   65535, 65536,
                                 65537, MiB - 1, MiB,  MiB + 1, 10 * MiB + 3, 33 * MiB};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        allocate_rows(all[i], 3);
}

/* Does the height matter, and what of sizes that cannot be? */
CASE(heights)
{
    allocate_rows(100, 1);
    allocate_rows(100, 2);
    allocate_rows(100, 1000);
    allocate_rows(100, 100000);
    allocate_rows(4, 1 << 20);
    allocate_rows(0, 4);
    allocate_rows(4, 0);
    allocate_rows(0, 0);
    allocate_rows((size_t)1 << 31, 1);
    allocate_rows((size_t)1 << 50, 1);
    allocate_rows(1, (size_t)1 << 50);
    allocate_rows(SIZE_MAX, 1);
    allocate_rows(SIZE_MAX, 2);
    allocate_rows(1, SIZE_MAX);
    allocate_rows((size_t)1 << 32, (size_t)1 << 32);
}

/* Where a row of an allocation begins, and where the allocation ends. */
CASE(rows_of_an_allocation)
{
    size_t pitch;
    void *null = NULL;
    RECORD(cudaMallocPitch((void **)&p, &pitch, 1000, 3));
    printf("  pitch %zu, first address a multiple of 512: %d\n", pitch, (uintptr_t)p % 512 == 0);
    print_pointer(p, "first row");
    print_pointer(p + 1000, "first row's padding");
    print_pointer(p + 3 * pitch - 1, "last row's padding");
    RECORD(cudaMemset(p, 1, 2 * pitch + 1000));
    RECORD(cudaMemset(p, 1, 3 * pitch));
    RECORD(cudaMemset(p, 1, 3 * pitch + 1));
    RECORD(cudaFree(p));
    RECORD(cudaMallocPitch(NULL, &pitch, 100, 2));
    RECORD(cudaMallocPitch(&null, NULL, 100, 2));
    printf("  pointer %s\n", null ? "set" : "null");
}

CASE(three_dimensions)
{
    static const struct cudaExtent all[] = {{100, 3, 2},
                                            {513, 2, 2},
                                            {100, 3, 1},
                                            {0, 3, 2},
                                            {100, 0, 2},
                                            {100, 3, 0},
                                            {1, 1, (size_t)1 << 50}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct cudaPitchedPtr p = {(void *)0x1234, 7, 8, 9};
        cudaError_t error = cudaMalloc3D(&p, all[i]);
        printf("cudaMalloc3D %zu x %zu x %zu: %s pitch %zu xsize %zu ysize %zu pointer %s\n",
               all[i].width, all[i].height, all[i].depth, cudaGetErrorName(error), p.pitch, p.xsize,
               p.ysize,
               !p.ptr                    ? "null"
               : p.ptr == (void *)0x1234 ? "as before"
                                         : "set");
        cudaGetLastError();
        if (!error)
            cudaFree(p.ptr);
    }
    RECORD(cudaMalloc3D(NULL, all[0]));
}

/* ---- copies and memsets ---- */

#define H2D  cudaMemcpyHostToDevice
#define D2H  cudaMemcpyDeviceToHost
#define D2D  cudaMemcpyDeviceToDevice
#define H2H  cudaMemcpyHostToHost
#define AUTO cudaMemcpyDefault

static void set_up_rows(void)
{
    cudaMalloc((void **)&d, MiB);
    cudaMalloc((void **)&e, MiB);
    cudaMallocHost((void **)&h, MiB);
    p = mmap(NULL, 2 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(p + MiB, MiB, PROT_NONE); /* and nobody else's later */
    memset(p, 1, MiB);
    memset(h, 1, MiB);
}

/* Which pitches, widths and heights are refused? */
CASE_AFTER(set_up_rows, copy_sizes)
{
    RECORD(cudaMemcpy2D(d, 512, h, 512, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 100, h, 100, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 101, h, 103, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 99, h, 512, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 512, h, 99, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 99, h, 99, 100, 1, H2D));
    RECORD(cudaMemcpy2D(d, 0, h, 0, 100, 1, H2D));
    RECORD(cudaMemcpy2D(d, 0, h, 0, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 512, h, 512, 0, 4, H2D));
    RECORD(cudaMemcpy2D(d, 512, h, 512, 100, 0, H2D));
    RECORD(cudaMemcpy2D(d, 0, h, 0, 0, 4, H2D));
    RECORD(cudaMemcpy2D(d, 99, h, 99, 100, 0, H2D));
    RECORD(cudaMemcpy2D(d, 99, h, 99, 0, 0, H2D));
    RECORD(cudaMemcpy2D(NULL, 512, h, 512, 0, 4, H2D));
    RECORD(cudaMemcpy2D(NULL, 512, h, 512, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 512, NULL, 512, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 512, NULL, 512, 100, 0, H2D));
    RECORD(cudaMemcpy2D(d, (size_t)INT32_MAX, h, 512, 100, 1, H2D));
    RECORD(cudaMemcpy2D(d, (size_t)INT32_MAX + 1, h, 512, 100, 1, H2D));
    RECORD(cudaMemcpy2D(d, 512, h, (size_t)1 << 40, 100, 1, H2D));
    RECORD(cudaMemcpy2D(d, SIZE_MAX, h, SIZE_MAX, 100, 2, H2D));
    RECORD(cudaMemcpy2D(d, 512, h, 512, 100, SIZE_MAX, H2D));
    RECORD(cudaMemcpy2DAsync(d, 99, h, 512, 100, 4, H2D, s));
    RECORD(cudaMemcpy2DAsync(d, 512, h, 99, 100, 4, H2D, s));
    RECORD(cudaMemcpy2DAsync(d, 512, h, 512, 0, 4, H2D, s));
    RECORD(cudaMemcpy2DAsync(d, 512, h, 512, 100, 4, H2D, s));
    RECORD_SYNC(cudaMemcpy2DAsync(d, 512, e, 512, 100, 4, D2D, s), s);
}

/* Which ends and directions are refused? The last row has no padding behind it. */
CASE_AFTER(set_up_rows, copy_ends)
{
    RECORD(cudaMemcpy2D(d, MiB / 4, h, MiB / 4, MiB / 4, 4, H2D));
    RECORD(cudaMemcpy2D(d + 100, MiB / 4, h, MiB / 4, MiB / 4 - 100, 4, H2D));
    RECORD(cudaMemcpy2D(d + 101, MiB / 4, h, MiB / 4, MiB / 4 - 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, MiB / 4, h + 100, MiB / 4, MiB / 4 - 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, MiB / 4, h + 101, MiB / 4, MiB / 4 - 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, MiB / 4, h, MiB / 4, 100, 5, H2D));
    RECORD(cudaMemcpy2D(d, MiB / 4, p + 100, MiB / 4, MiB / 4 - 100, 4, H2D));
    RECORD(cudaMemcpy2D(p + 100, MiB / 4, d, MiB / 4, MiB / 4 - 100, 4, D2H));
    RECORD(cudaMemcpy2D(d, 512, d, 512, 100, 4, D2D));
    RECORD(cudaMemcpy2D(d, 512, d + 256, 512, 100, 4, D2D));
    RECORD(cudaMemcpy2D(d, 512, d + 50, 512, 100, 4, D2D));
    RECORD(cudaMemcpy2D(p, 512, p + 50, 512, 100, 4, H2H));
    RECORD(cudaMemcpy2D(p, 512, h, 512, 100, 4, AUTO));
    RECORD(cudaMemcpy2D(p, 512, d, 512, 100, 4, AUTO));
    RECORD(cudaMemcpy2D(d, 512, e, 512, 100, 4, AUTO));
    RECORD(cudaMemcpy2D(d, 512, e, 512, 100, 4, H2D));
    RECORD(cudaMemcpy2D(d, 512, e, 512, 100, 4, D2H));
    RECORD(cudaMemcpy2D(d, 512, e, 512, 100, 4, H2H));
    RECORD(cudaMemcpy2D(d, 512, p, 512, 100, 4, D2D));
    RECORD(cudaMemcpy2D(d, 512, p, 512, 100, 4, D2H));
    RECORD(cudaMemcpy2D(p, 512, d, 512, 100, 4, H2D));
    RECORD(cudaMemcpy2D(p, 512, d, 512, 100, 4, H2H));
    RECORD(cudaMemcpy2D(p, 512, d, 512, 100, 4, (enum cudaMemcpyKind)5));
    RECORD(cudaMemcpy2D(p, 512, d, 512, 100, 4, (enum cudaMemcpyKind)77));
    RECORD(cudaMemcpy2D(p, 512, d, 512, 100, 0, (enum cudaMemcpyKind)77));
    RECORD(cudaMemcpy2D(p, 512, d, 99, 100, 4, (enum cudaMemcpyKind)77));
    RECORD(cudaFree(e));
    RECORD(cudaMemcpy2D(d, 512, e, 512, 100, 4, D2D));
}

CASE_AFTER(set_up_rows, copy_beyond_pageable)
{
    RECORD(cudaMemcpy2D(d, MiB / 4, p + 101, MiB / 4, MiB / 4 - 100, 4, H2D));
}

/* Does a copy or a memset touch what lies between its rows? */
CASE_AFTER(set_up_rows, padding)
{
    int inside = 0, between = 0;
    RECORD(cudaMemset(d, 7, MiB));
    RECORD(cudaMemset2D(d, 512, 3, 100, 4));
    RECORD(cudaMemcpy2D(d + 200, 512, h, 100, 100, 4, H2D));
    RECORD(cudaMemcpy(h, d, MiB, D2H));
    for (int i = 0; i < 4 * 512; i++) {
        int column = i % 512, expected = column < 100 ? 3 : column >= 200 && column < 300 ? 1 : 7;
        inside += expected != 7 && h[i] == expected;
        between += expected == 7 && h[i] == expected;
    }
    printf("  as expected: %d inside, %d between\n", inside, between);
}

/* Which memsets are refused? */
CASE_AFTER(set_up_rows, set_sizes)
{
    RECORD(cudaMemset2D(d, 512, 1, 100, 4));
    RECORD(cudaMemset2D(d, 100, 1, 100, 4));
    RECORD(cudaMemset2D(d, 101, 1, 100, 4));
    RECORD(cudaMemset2D(d, 99, 1, 100, 4));
    RECORD(cudaMemset2D(d, 99, 1, 100, 1));
    RECORD(cudaMemset2D(d, 0, 1, 100, 1));
    RECORD(cudaMemset2D(d, 0, 1, 100, 2));
    RECORD(cudaMemset2D(d, 512, 1, 0, 4));
    RECORD(cudaMemset2D(d, 512, 1, 100, 0));
    RECORD(cudaMemset2D(d, 99, 1, 100, 0));
    RECORD(cudaMemset2D(d, 0, 1, 0, 4));
    RECORD(cudaMemset2D(NULL, 512, 1, 0, 4));
    RECORD(cudaMemset2D(NULL, 512, 1, 100, 4));
    RECORD(cudaMemset2D(p, 512, 1, 100, 4));
    RECORD(cudaMemset2D(p, 512, 1, 0, 4));
    RECORD(cudaMemset2D(h, 512, 1, 100, 4));
    RECORD(cudaMemset2D(d, (size_t)1 << 40, 1, 100, 1));
    RECORD(cudaMemset2D(d, (size_t)1 << 40, 1, 100, 2));
    RECORD(cudaMemset2D(d, 512, 1, 100, SIZE_MAX)); /* it never returns */
}

/* Which calls wait for what is pending? */
CASE_AFTER(set_up_rows, waits)
{
#define IN_S(call) RECORD_WAIT(hold(s), call, #call)
#define IN_B(call) RECORD_WAIT(hold(b), call, #call)
    cudaMemcpy2D(d, 512, e, 512, 100, 4, D2D); /* the first one may load something */
    cudaMemcpy2D(d, 512, p, 512, 100, 4, H2D);
    cudaMemcpy2D(p, 512, d, 512, 100, 4, D2H);
    cudaMemset2D(d, 512, 1, 100, 4);
    puts("pending on s, non-blocking");
    IN_S(cudaMemcpy2DAsync(d, 512, e, 512, 100, 4, D2D, s));
    IN_S(cudaMemcpy2DAsync(d, 512, h, 512, 100, 4, H2D, s));
    IN_S(cudaMemcpy2DAsync(h, 512, d, 512, 100, 4, D2H, s));
    IN_S(cudaMemcpy2DAsync(d, 512, p, 512, 100, 4, H2D, s));
    IN_S(cudaMemcpy2DAsync(d, 1024, p, 1024, 1000, 1000, H2D, s));
    IN_S(cudaMemcpy2DAsync(p, 512, d, 512, 100, 4, D2H, s));
    IN_S(cudaMemcpy2DAsync(p, 512, h, 512, 100, 4, H2H, s));
    IN_S(cudaMemcpy2DAsync(d, 512, e, 512, 0, 4, D2D, s));
    IN_S(cudaMemset2DAsync(d, 512, 1, 100, 4, s));
    IN_S(cudaMemset2DAsync(h, 512, 1, 100, 4, s));
    puts("pending on b, blocking");
    IN_B(cudaMemcpy2D(d, 512, e, 512, 100, 4, D2D));
    IN_B(cudaMemcpy2D(d, 512, h, 512, 100, 4, H2D));
    IN_B(cudaMemcpy2D(d, 512, p, 512, 100, 4, H2D));
    IN_B(cudaMemcpy2D(p, 512, d, 512, 100, 4, D2H));
    IN_B(cudaMemcpy2D(p, 512, h, 512, 100, 4, H2H));
    IN_B(cudaMemcpy2D(d, 512, e, 512, 0, 4, D2D));
    IN_B(cudaMemset2D(d, 512, 1, 100, 4));
    IN_B(cudaMemset2D(h, 512, 1, 100, 4));
    IN_B(cudaMemset2D(d, 512, 1, 0, 4));
}

/* ---- captures ---- */

static void print_nodes(cudaGraph_t g)
{
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    if (!g || cudaGraphGetNodes(g, nodes, &count))
        return;
    printf("  nodes %zu, types", count);
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        cudaGraphNodeGetType(nodes[i], &type);
        printf(" %d", (int)type);
    }
    puts("");
}

/* What becomes of each call in a capture? */
CASE_AFTER(set_up_rows, captured_async)
{
    cudaGraph_t g = NULL;
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    RECORD(cudaMemcpy2DAsync(d, 512, e, 512, 100, 4, D2D, s));
    RECORD(cudaMemcpy2DAsync(d, 512, h, 512, 100, 1, H2D, s));
    RECORD(cudaMemcpy2DAsync(p, 512, d, 512, 100, 4, D2H, s));
    RECORD(cudaMemset2DAsync(d, 512, 1, 100, 4, s));
    RECORD(cudaMemset2DAsync(d, 512, 1, 100, 1, s));
    RECORD(cudaMemset2DAsync(d, 512, 1, 0, 4, s));
    RECORD(cudaMemcpy2DAsync(d, 512, e, 512, 0, 4, D2D, s));
    RECORD(cudaMemcpy2DAsync(d, 99, e, 512, 100, 4, D2D, s));
    RECORD(cudaStreamEndCapture(s, &g));
    print_nodes(g);
}

CASE_AFTER(set_up_rows, captured_others)
{
    void *x, *managed = NULL;
    size_t pitch;
    struct cudaPitchedPtr pitched;
    int mostly;
    char number[32];
#define CAPTURED(text, call)                                            \
    do {                                                                \
        cudaGraph_t g = NULL;                                           \
        RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); \
        record(text, (call));                                           \
        RECORD(cudaStreamEndCapture(s, &g));                            \
        print_nodes(g);                                                 \
        if (g)                                                          \
            cudaGraphDestroy(g);                                        \
    } while (0)
    CAPTURED("cudaMemcpy2D", cudaMemcpy2D(d, 512, e, 512, 100, 4, D2D));
    CAPTURED("cudaMemcpy2D of nothing", cudaMemcpy2D(d, 512, e, 512, 0, 4, D2D));
    CAPTURED("cudaMemset2D", cudaMemset2D(d, 512, 1, 100, 4));
    CAPTURED("cudaMallocPitch", cudaMallocPitch(&x, &pitch, 100, 4));
    CAPTURED("cudaMalloc3D", cudaMalloc3D(&pitched, (struct cudaExtent){100, 4, 2}));
    CAPTURED("cudaMemRangeGetAttribute of NULL",
             cudaMemRangeGetAttribute(&mostly, 4, cudaMemRangeAttributeReadMostly, managed, 4));
    CAPTURED("cudaDeviceGetPCIBusId", cudaDeviceGetPCIBusId(number, sizeof number, 0));
}

/* ---- ranges of managed memory ---- */

/* One number for each attribute, 1 to 8; AccessedBy has three. */
static void print_range(const char *when, const void *p, size_t bytes)
{
    printf("  %-36s", when);
    for (int a = 1; a <= 8; a++) {
        int x[3] = {77, 77, 77};
        size_t size = a == cudaMemRangeAttributeAccessedBy ? 12 : 4;
        cudaError_t e = cudaMemRangeGetAttribute(x, size, (enum cudaMemRangeAttribute)a, p, bytes);
        if (e)
            printf(" %d: %s", a, cudaGetErrorName(e));
        else if (size == 12)
            printf(" %d: %d %d %d", a, x[0], x[1], x[2]);
        else
            printf(" %d: %d", a, x[0]);
    }
    puts("");
    cudaGetLastError();
}

#define RANGE_AFTER(call, when, p, bytes) ((void)(call), print_range(when, p, bytes))

static struct cudaMemLocation at(int type, int id) { return location_of(type, id); }

/* What do advice and prefetches change? */
CASE(ranges)
{
    RANGE_AFTER(cudaMallocManaged((void **)&p, 8 * MiB, cudaMemAttachGlobal), "new", p, 8 * MiB);
#define ADVISE(bytes, advice, where) RECORD(cudaMemAdvise(p, bytes, cudaMemAdvise##advice, where))
#define PREFETCH(bytes, where)       RECORD(cudaMemPrefetchAsync(p, bytes, where, 0, s))
    RANGE_AFTER(ADVISE(8 * MiB, SetReadMostly, at(DEVICE, 0)), "all read mostly", p, 8 * MiB);
    ADVISE(2 * MiB, UnsetReadMostly, at(DEVICE, 0));
    print_range("not the first 2 MiB: all", p, 8 * MiB);
    print_range("the first 2 MiB", p, 2 * MiB);
    print_range("the others", p + 2 * MiB, 6 * MiB);
    ADVISE(8 * MiB, SetPreferredLocation, at(DEVICE, 0));
    print_range("device 0 preferred", p, 8 * MiB);
    ADVISE(2 * MiB, SetPreferredLocation, at(HOST, 0));
    print_range("the host by the first 2 MiB: all", p, 8 * MiB);
    print_range("the first 2 MiB", p, 2 * MiB);
    ADVISE(8 * MiB, SetPreferredLocation, at(NUMA, 0));
    print_range("NUMA node 0 preferred", p, 8 * MiB);
    RANGE_AFTER(ADVISE(8 * MiB, UnsetPreferredLocation, at(DEVICE, 0)), "unset", p, 8 * MiB);
    RANGE_AFTER(ADVISE(8 * MiB, SetAccessedBy, at(DEVICE, 0)), "accessed by device 0", p, 8 * MiB);
    RANGE_AFTER(ADVISE(8 * MiB, SetAccessedBy, at(HOST, 0)), "and by the host", p, 8 * MiB);
    ADVISE(2 * MiB, UnsetAccessedBy, at(DEVICE, 0));
    print_range("not the first 2 MiB: all", p, 8 * MiB);
    RANGE_AFTER(PREFETCH(8 * MiB, at(DEVICE, 0)), "prefetched to device 0", p, 8 * MiB);
    RANGE_AFTER(PREFETCH(2 * MiB, at(HOST, 0)), "the first 2 MiB to the host: all", p, 8 * MiB);
    print_range("the first 2 MiB", p, 2 * MiB);
    RANGE_AFTER(PREFETCH(8 * MiB, at(NUMA, 0)), "to NUMA node 0", p, 8 * MiB);
    RANGE_AFTER(ADVISE(1, SetReadMostly, at(DEVICE, 0)), "the first byte read mostly", p, 1);
    print_range("the second byte", p + 1, 1);
    print_range("byte 4096", p + 4096, 1);
    print_range("byte 65536", p + 65536, 1);
    print_range("byte 2 MiB", p + 2 * MiB, 1);
}

/* Which questions are refused? */
CASE(range_errors)
{
    int x[4] = {0};
    cudaMallocManaged((void **)&p, 8 * MiB, cudaMemAttachGlobal);
#define ASK(data, size, attribute, pointer, bytes)                                                \
    RECORD(cudaMemRangeGetAttribute(data, size, (enum cudaMemRangeAttribute)(attribute), pointer, \
                                    bytes))
    ASK(x, 4, 1, p, 8 * MiB);
    ASK(x, 8, 1, p, 8 * MiB);
    ASK(x, 2, 1, p, 8 * MiB);
    ASK(x, 0, 1, p, 8 * MiB);
    ASK(x, 0, 3, p, 8 * MiB);
    ASK(x, 6, 3, p, 8 * MiB);
    ASK(x, 8, 5, p, 8 * MiB);
    ASK(NULL, 4, 1, p, 8 * MiB);
    ASK(x, 4, 0, p, 8 * MiB);
    ASK(x, 4, 9, p, 8 * MiB);
    ASK(x, 4, 1, p, 0);
    ASK(x, 4, 1, p, 8 * MiB + 1);
    ASK(x, 4, 1, p + 100, 8 * MiB);
    ASK(x, 4, 1, p + 100, 8 * MiB - 100);
    ASK(x, 4, 1, NULL, 4);
    ASK(x, 4, 1, m, 4);
    ASK(x, 4, 1, host, 4);
    ASK(x, 4, 1, &x, 4);
    ASK(x, 4, 2, &x, 4);
    RECORD(cudaFree(p));
    ASK(x, 4, 1, p, 4);
}

/* Several attributes at once. */
CASE(several_attributes)
{
    int x = 77, y[3] = {77, 77, 77};
    void *data[] = {&x, y};
    size_t sizes[] = {4, 12};
    enum cudaMemRangeAttribute which[] = {cudaMemRangeAttributeReadMostly,
                                          cudaMemRangeAttributeAccessedBy};
    cudaMallocManaged((void **)&p, MiB, cudaMemAttachGlobal);
    RECORD(cudaMemRangeGetAttributes(data, sizes, which, 2, p, MiB));
    printf("  %d, %d %d %d\n", x, y[0], y[1], y[2]);
    x = 77;
    sizes[1] = 6;
    RECORD(cudaMemRangeGetAttributes(data, sizes, which, 2, p, MiB));
    printf("  the first %d\n", x);
    RECORD(cudaMemRangeGetAttributes(data, sizes, which, 0, p, MiB));
    RECORD(cudaMemRangeGetAttributes(NULL, sizes, which, 1, p, MiB));
    RECORD(cudaMemRangeGetAttributes(data, NULL, which, 1, p, MiB));
    RECORD(cudaMemRangeGetAttributes(data, sizes, NULL, 1, p, MiB));
    RECORD(cudaMemRangeGetAttributes(data, sizes, which, 1, m, MiB));
    RECORD(cudaMemRangeGetAttributes(data, sizes, which, 1, p, 2 * MiB));
}

/* ---- the PCI bus ---- */

/* A string with each digit as 9, each small letter as a, each capital as A. */
static const char *masked(const char *s)
{
    static char text[64];
    size_t i = 0;
    for (; s[i] && i < sizeof text - 1; i++)
        text[i] = isdigit((unsigned char)s[i]) ? '9'
                : islower((unsigned char)s[i]) ? 'a'
                : isupper((unsigned char)s[i]) ? 'A'
                                               : s[i];
    text[i] = 0;
    return text;
}

/* How is a device's number written, and into how much room? */
CASE(numbers)
{
    struct cudaDeviceProp properties;
    char expected[32];
    for (int length = 16; length >= -1; length--) {
        char text[33];
        memset(text, '?', sizeof text);
        text[32] = 0;
        cudaError_t error = cudaDeviceGetPCIBusId(text, length, 0);
        printf("length %d: %s \"%s\"\n", length, cudaGetErrorName(error), masked(text));
        cudaGetLastError();
    }
    char text[32] = "?";
    cudaDeviceGetPCIBusId(text, sizeof text, 0);
    cudaGetDeviceProperties(&properties, 0);
    snprintf(expected, sizeof expected, "%04x:%02x:%02x.0", properties.pciDomainID,
             properties.pciBusID, properties.pciDeviceID);
    printf("as in the properties, in small letters: %d\n", !strcmp(text, expected));
    for (char *c = expected; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    printf("in capitals: %d\n", !strcmp(text, expected));
    RECORD(cudaDeviceGetPCIBusId(NULL, 32, 0));
    RECORD(cudaDeviceGetPCIBusId(text, 32, -1));
    RECORD(cudaDeviceGetPCIBusId(text, 32, 99));
    RECORD(cudaDeviceGetPCIBusId(text, 0, 99));
}

static void find(const char *what, const char *text)
{
    int device = 77;
    cudaError_t error = cudaDeviceGetByPCIBusId(&device, text);
    printf("%-32s %-28s device %d\n", what, cudaGetErrorName(error), device);
    cudaGetLastError();
}

/* Which ways to write a device's number are understood? */
CASE(found_by_number)
{
    struct cudaDeviceProp p;
    char text[32], other[64];
    int device;
    cudaDeviceGetPCIBusId(text, sizeof text, 0);
    cudaGetDeviceProperties(&p, 0);
    find("as it was returned", text);
    for (size_t i = 0; i <= strlen(text); i++)
        other[i] = (char)tolower((unsigned char)text[i]);
    find("small letters", other);
    for (size_t i = 0; i <= strlen(text); i++)
        other[i] = (char)toupper((unsigned char)text[i]);
    find("capitals", other);
#define FIND(what, ...)                             \
    do {                                            \
        snprintf(other, sizeof other, __VA_ARGS__); \
        find(what, other);                          \
    } while (0)
    FIND("no function", "%04x:%02x:%02x", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    FIND("no domain", "%02x:%02x.0", p.pciBusID, p.pciDeviceID);
    FIND("no domain, no function", "%02x:%02x", p.pciBusID, p.pciDeviceID);
    FIND("no leading zeros", "%x:%x:%x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    FIND("a domain of eight digits", "%08x:%02x:%02x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    FIND("function 1", "%04x:%02x:%02x.1", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    FIND("another bus", "%04x:ff:%02x.0", p.pciDomainID, p.pciDeviceID);
    FIND("another domain", "ffff:%02x:%02x.0", p.pciBusID, p.pciDeviceID);
    FIND("a space in front", " %s", text);
    FIND("a space behind", "%s ", text);
    FIND("a letter behind", "%sx", text);
    FIND("a dot at the end", "%04x:%02x:%02x.", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    find("empty", "");
    find("hello", "hello");
    find("0", "0");
    find(":", ":");
    find("::.", "::.");
    find("NULL", NULL);
    RECORD(cudaDeviceGetByPCIBusId(NULL, text));
    RECORD(cudaDeviceGetByPCIBusId(&device, NULL));
}

/* A memset that reaches to the end of its memory, and beyond it. */
CASE_AFTER(set_up_rows, set_ends)
{
    RECORD(cudaMemset2D(d, MiB / 4, 1, MiB / 4, 4));
    RECORD(cudaMemset2D(d + 100, MiB / 4, 1, MiB / 4 - 100, 4));
    RECORD(cudaMemset2D(d + 101, MiB / 4, 1, MiB / 4 - 100, 4));
    RECORD(cudaMemset2D(d, MiB / 4, 1, 100, 5));
    RECORD(cudaMemset2DAsync(d, 512, 1, 100, 4, s));
    RECORD(cudaMemset2DAsync(d, 99, 1, 100, 4, s));
    RECORD(cudaMemset2DAsync(d, 99, 1, 100, 1, s));
    RECORD(cudaMemset2DAsync(d, 512, 1, 0, 4, s));
    RECORD(cudaMemset2DAsync(p, 512, 1, 100, 4, s));
    RECORD(cudaDeviceSynchronize());
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
