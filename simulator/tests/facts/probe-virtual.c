/* Records what virtual memory management answers, the calls of the driver API with which a program
 * reserves addresses, makes memory, maps the one to the other, and says who may use it. */
#include "virtual.h"

static memory one, two, h;

static void set_up_addresses(void)
{
    cudaFree(0);
    at = reserve(8 * STEP);
}

/* Eight steps of addresses and two memories of two steps; nothing is mapped. */
static void set_up(void)
{
    set_up_addresses();
    one = make(2 * STEP, on_device());
    two = make(2 * STEP, on_device());
}

/* The first two steps are mapped, and not open. */
static void set_up_closed(void)
{
    set_up();
    map(at, one, 2 * STEP);
}

/* They are mapped, and open for the device. */
static void set_up_mapped(void)
{
    set_up_closed();
    open_for_device(at, 2 * STEP);
}

/* They were mapped and open, and are no longer mapped. */
static void set_up_unmapped(void)
{
    set_up_mapped();
    DRIVER(cuMemUnmap)(at, 2 * STEP);
}

/* ---- granularities ---- */

CASE(support)
{
    static const int attributes[] = {
        CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
        128, /* a fabric handle */
    };
    cudaFree(0);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        int value = -1;
        CUresult r = DRIVER(cuDeviceGetAttribute)(&value, (CUdevice_attribute)attributes[i], 0);
        NOTE("attribute %d: result %d, %d", attributes[i], (int)r, value);
    }
}

static void ask_granularity(const char *what, CUmemAllocationProp p)
{
    size_t n = 7;
    NOTE("%s", what);
    if (!ASK(cuMemGetAllocationGranularity, &n, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
        NOTE("%zu", n);
    n = 7;
    if (!ASK(cuMemGetAllocationGranularity, &n, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        NOTE("%zu", n);
}

/* The properties that a granularity and memory are asked for with. */
static void with_each_property(void (*ask)(const char *what, CUmemAllocationProp p))
{
#define ASK_WITH(what, change)               \
    do {                                     \
        CUmemAllocationProp p = on_device(); \
        change;                              \
        ask(what, p);                        \
    } while (0)
    ask("memory of the device", on_device());
    ask("for a descriptor", shared());
    ASK_WITH("for a handle of Windows", p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32);
    ASK_WITH("for a fabric handle", p.requestedHandleTypes = (CUmemAllocationHandleType)8);
    ASK_WITH("for a handle of type 64", p.requestedHandleTypes = (CUmemAllocationHandleType)64);
    ASK_WITH("compressible", p.allocFlags.compressionType = 1);
    ASK_WITH("compression of type 9", p.allocFlags.compressionType = 9);
    ASK_WITH("for network cards", p.allocFlags.gpuDirectRDMACapable = 1);
    ASK_WITH("usage 1", p.allocFlags.usage = 1);
    ASK_WITH("a reserved byte", p.allocFlags.reserved[0] = 1);
    ASK_WITH("an attribute of Windows", p.win32HandleMetaData = &p);
    ask("of the host", props_of(PINNED, HOST, 0));
    ask("of node 0 of the host", props_of(PINNED, NUMA, 0));
    ask("of node 99 of the host", props_of(PINNED, NUMA, 99));
    ask("of the thread's node of the host", props_of(PINNED, NUMA + 1, 0));
    ask("of no location", props_of(PINNED, 0, 0));
    ask("of location 77", props_of(PINNED, 77, 0));
    ask("of device 99", props_of(PINNED, DEVICE, 99));
    ask("of device -1", props_of(PINNED, DEVICE, -1));
    ask("managed", props_of(MANAGED, DEVICE, 0));
    ask("type 0", props_of(0, DEVICE, 0));
    ask("type 7", props_of(7, DEVICE, 0));
}

CASE(granularities)
{
    size_t n = 7;
    CUmemAllocationProp p = on_device();
    cudaFree(0);
    with_each_property(ask_granularity);
    ASK(cuMemGetAllocationGranularity, &n, &p, (CUmemAllocationGranularity_flags)2);
}

/* ---- addresses ---- */

static CUdeviceptr ask_reserve(size_t bytes, size_t alignment, CUdeviceptr wanted,
                               unsigned long long flags)
{
    CUdeviceptr p = 0;
    if (!ASK(cuMemAddressReserve, &p, bytes, alignment, wanted, flags)) {
        const char *there = !wanted ? "" : p == wanted ? ", as wanted" : ", elsewhere";
        NOTE("a multiple of 2 MiB: %s, of the alignment: %s%s", p % STEP ? "no" : "yes",
             alignment && p % alignment ? "no" : "yes", there);
    } else {
        NOTE("%s", p ? "an address" : "no address");
    }
    return p;
}

CASE(reserved_sizes)
{
    static const size_t sizes[] = {0,           1,          4096,       65536,      MiB,
                                   STEP,        STEP + 1,   3 * MiB,    3 * STEP,   33 * MiB,
                                   40ull << 20, 1ull << 36, 1ull << 40, 1ull << 44, 1ull << 46,
                                   1ull << 47,  1ull << 48, 1ull << 60};
    cudaFree(0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        NOTE("%zu bytes", sizes[i]);
        CUdeviceptr p = ask_reserve(sizes[i], 0, 0, 0);
        if (p)
            ASK(cuMemAddressFree, p, sizes[i]);
    }
}

CASE(reserved_alignments)
{
    static const size_t alignments[] = {
        1,        2,        3,        512,        4096,       65536,      STEP,       3 * MiB,
        2 * STEP, 3 * STEP, 32 * MiB, 1ull << 30, 1ull << 36, 1ull << 40, 1ull << 47, 1ull << 60};
    cudaFree(0);
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        NOTE("alignment %zu", alignments[i]);
        CUdeviceptr p = ask_reserve(2 * STEP, alignments[i], 0, 0);
        if (p)
            DRIVER(cuMemAddressFree)(p, 2 * STEP);
    }
}

static void ask_place(const char *what, CUdeviceptr wanted)
{
    NOTE("%s", what);
    ask_reserve(2 * STEP, 0, wanted, 0);
}

CASE_AFTER(set_up, reserved_places)
{
    CUdeviceptr next = at + 8 * STEP, free_place = reserve(64 * STEP);
    DRIVER(cuMemAddressFree)(free_place, 64 * STEP);
    ask_place("a place that is free", free_place + 8 * STEP);
    ask_place("the place again", free_place + 8 * STEP);
    ask_place("a place that is reserved", at);
    ask_place("a place within 2 MiB", free_place + 16 * STEP + 4096);
    ask_place("a low place", STEP);
    ask_place("a place of the host", (CUdeviceptr)&at / STEP * STEP);
    NOTE("the flag 1");
    ask_reserve(2 * STEP, 0, 0, 1);
    CUdeviceptr p = reserve(2 * STEP), q = reserve(2 * STEP);
    NOTE("reserved right behind the eight steps: %s", p == next ? "yes" : "no");
    NOTE("the second lies %lld steps behind the first",
         ((long long)q - (long long)p) / (long long)STEP);
}

CASE_AFTER(set_up, freed_addresses)
{
    CUdeviceptr p = at;
    NOTE("a reservation of eight steps");
    ASK(cuMemAddressFree, p, 4 * STEP);
    ASK(cuMemAddressFree, p + STEP, STEP);
    ASK(cuMemAddressFree, p, 16 * STEP);
    ASK(cuMemAddressFree, p, 0);
    ASK(cuMemAddressFree, p + 4096, 8 * STEP);
    ASK(cuMemAddressFree, 0, 8 * STEP);
    ASK(cuMemAddressFree, (CUdeviceptr)&p, STEP);
    ASK(cuMemAddressFree, p, 8 * STEP);
    ASK(cuMemAddressFree, p, 8 * STEP);
    at = reserve(8 * STEP);
    p = at;
    map(p + 2 * STEP, one, 2 * STEP);
    NOTE("two steps of eight are mapped");
    ASK(cuMemAddressFree, p, 8 * STEP);
    ASK(cuMemUnmap, p + 2 * STEP, 2 * STEP);
    ASK(cuMemAddressFree, p, 8 * STEP);
    void *m = NULL;
    cudaMalloc(&m, STEP);
    ASK(cuMemAddressFree, (CUdeviceptr)m, STEP);
}

/* ---- memory ---- */

static void ask_create(const char *what, CUmemAllocationProp p)
{
    memory h = 0;
    NOTE("%s", what);
    if (ASK(cuMemCreate, &h, STEP, &p, 0))
        return;
    CUmemAllocationProp got = ask_properties(h);
    NOTE("type %d, handles %d, location %d %d, compression %d, network %d, usage %d", (int)got.type,
         (int)got.requestedHandleTypes, (int)got.location.type, got.location.id,
         got.allocFlags.compressionType, got.allocFlags.gpuDirectRDMACapable, got.allocFlags.usage);
    ASK(cuMemMap, at, STEP, 0, h, 0);
    open_for_device(at, STEP);
    ASK(cuMemUnmap, at, STEP);
    ASK(cuMemRelease, h);
}

CASE_AFTER(set_up, created_properties) { with_each_property(ask_create); }

CASE(created_sizes)
{
    static const size_t sizes[] = {0,       1,           4096,     65536,      MiB,     STEP,
                                   3 * MiB, STEP + 4096, 3 * STEP, 1ull << 50, SIZE_MAX};
    CUmemAllocationProp p = on_device();
    memory h = 77;
    cudaFree(0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        NOTE("%zu bytes", sizes[i]);
        h = 77;
        if (!ASK(cuMemCreate, &h, sizes[i], &p, 0))
            ASK(cuMemRelease, h);
        else
            NOTE("the handle is %s", h == 77 ? "unchanged" : h ? "another" : "0");
    }
    ASK(cuMemCreate, &h, STEP, &p, 1);
}

static void count_from(const char *what) { NOTE("%s: %lld KiB", what, fallen() / 1024); }
#define COUNT_AFTER(call, what) ((void)(call), count_from(what))

/* Which call takes memory, and which gives it back? */
CASE(counted_memory)
{
    cudaFree(0);
    memory h = make(STEP, on_device());
    DRIVER(cuMemRelease)(h);
    free_at_first = free_now();
    at = reserve(64 * STEP);
    count_from("reserved");
    h = make(STEP, on_device());
    count_from("2 MiB made");
    memory g = make(3 * STEP, on_device());
    count_from("6 MiB made");
    memory i = make(20 * STEP, on_device());
    count_from("40 MiB made");
    map(at, i, 20 * STEP);
    COUNT_AFTER(open_for_device(at, 20 * STEP), "40 MiB mapped and opened");
    COUNT_AFTER(DRIVER(cuMemRelease)(i), "40 MiB released");
    COUNT_AFTER(DRIVER(cuMemUnmap)(at, 20 * STEP), "40 MiB unmapped");
    COUNT_AFTER(DRIVER(cuMemRelease)(g), "6 MiB released");
    COUNT_AFTER(DRIVER(cuMemRelease)(h), "2 MiB released");
    COUNT_AFTER(DRIVER(cuMemAddressFree)(at, 64 * STEP), "freed");
}

CASE_AFTER(set_up_mapped, released)
{
    memory again = 0;
    int value = 0;
    ASK(cuMemRelease, 0);
    NOTE("mapped memory is released");
    ASK(cuMemsetD8, at, 5, 4);
    ASK(cuMemRelease, one);
    read_first();
    ASK(cuMemMap, at + 4 * STEP, 2 * STEP, 0, one, 0);
    ASK(cuMemRetainAllocationHandle, &again, (void *)at);
    NOTE("%s", again == one ? "the same handle" : "another handle");
    ASK(cuMemMap, at + 4 * STEP, 2 * STEP, 0, again, 0);
    ASK(cuMemRelease, again);
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemcpyDtoH, &value, at, 4);
}

CASE_AFTER(set_up, released_twice)
{
    ASK(cuMemRelease, one);
    ASK(cuMemRelease, one);
    ASK(cuMemMap, at, 2 * STEP, 0, one, 0);
}

CASE_AFTER(set_up_mapped, retained)
{
    memory h = 0, k = 0;
    void *m = NULL, *a = NULL;
    ASK(cuMemRetainAllocationHandle, &h, (void *)at);
    NOTE("%s", h == one ? "the same handle" : "another handle");
    ASK(cuMemRetainAllocationHandle, &k, (void *)(at + STEP + 4));
    NOTE("%s", k == one ? "the same handle" : "another handle");
    ASK(cuMemRetainAllocationHandle, &h, (void *)(at + 4 * STEP));
    ASK(cuMemRetainAllocationHandle, &h, NULL);
    cudaMalloc(&m, 4 * STEP);
    ASK(cuMemRetainAllocationHandle, &h, m);
    cudaMallocAsync(&a, 4 * STEP, s);
    ASK(cuMemRetainAllocationHandle, &h, a);
    ASK(cuMemRelease, one);
    ASK(cuMemRelease, one);
    ASK(cuMemRelease, one);
    ASK(cuMemRelease, one);
}

/* ---- mappings ---- */

CASE_AFTER(set_up, mapped)
{
    void *m = NULL;
    CUdeviceptr p = at;
    cudaMalloc(&m, 4 * STEP);
    ASK(cuMemMap, p, 2 * STEP, 0, 0, 0);
    ASK(cuMemMap, p, 2 * STEP, 0, one, 1);
    ASK(cuMemMap, p, 0, 0, one, 0);
    ASK(cuMemMap, p, 4096, 0, one, 0);
    ASK(cuMemMap, p, MiB, 0, one, 0);
    ASK(cuMemMap, p, 4 * STEP, 0, one, 0);
    ASK(cuMemMap, p + 4096, 2 * STEP, 0, one, 0);
    ASK(cuMemMap, p + 65536, 2 * STEP, 0, one, 0);
    ASK(cuMemMap, p, STEP, STEP, one, 0);
    ASK(cuMemMap, p, 2 * STEP, STEP, one, 0);
    ASK(cuMemMap, 0, 2 * STEP, 0, one, 0);
    ASK(cuMemMap, (CUdeviceptr)m, 2 * STEP, 0, one, 0);
    ASK(cuMemMap, p + 7 * STEP, 2 * STEP, 0, one, 0);
    ASK(cuMemMap, p - STEP, 2 * STEP, 0, one, 0);
    NOTE("the whole");
    ASK(cuMemMap, p, 2 * STEP, 0, one, 0);
    ASK(cuMemMap, p, 2 * STEP, 0, one, 0);
    ASK(cuMemMap, p + STEP, 2 * STEP, 0, two, 0);
    NOTE("a second time, elsewhere");
    ASK(cuMemMap, p + 4 * STEP, 2 * STEP, 0, one, 0);
    NOTE("right behind");
    ASK(cuMemMap, p + 2 * STEP, 2 * STEP, 0, two, 0);
}

CASE_AFTER(set_up, mapped_in_part)
{
    NOTE("one step of the two of the memory");
    if (!ASK(cuMemMap, at, STEP, 0, one, 0)) {
        open_for_device(at, STEP);
        ASK(cuMemsetD8, at, 1, STEP);
        ASK(cuMemUnmap, at, STEP);
    }
    CUdeviceptr p = reserve(STEP), q = reserve(STEP);
    NOTE("over two reservations that are %s", p + STEP == q ? "neighbors" : "apart");
    if (p + STEP == q)
        ASK(cuMemMap, p, 2 * STEP, 0, one, 0);
}

CASE_AFTER(set_up_mapped, unmapped)
{
    CUdeviceptr p = at;
    map(p + 2 * STEP, two, 2 * STEP);
    ASK(cuMemUnmap, p, 0);
    ASK(cuMemUnmap, p, STEP);
    ASK(cuMemUnmap, p + STEP, STEP);
    ASK(cuMemUnmap, p, 3 * STEP);
    ASK(cuMemUnmap, p + 4096, 2 * STEP);
    ASK(cuMemUnmap, p, 2 * STEP + 4096);
    ASK(cuMemUnmap, 0, 2 * STEP);
    ASK(cuMemUnmap, p + 4 * STEP, 2 * STEP);
    NOTE("both, and what is not mapped behind them");
    ASK(cuMemUnmap, p, 8 * STEP);
    NOTE("both");
    ASK(cuMemUnmap, p, 4 * STEP);
    NOTE("again");
    ASK(cuMemUnmap, p, 4 * STEP);
}

/* Two mappings with a step between them that is not mapped. */
CASE_AFTER(set_up_mapped, unmapped_with_a_gap)
{
    map(at + 3 * STEP, two, 2 * STEP);
    ASK(cuMemUnmap, at, 5 * STEP);
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemUnmap, at + 3 * STEP, 2 * STEP);
}

/* ---- access ---- */

static void ask_access(CUdeviceptr p, size_t bytes, int location, int id, int flags)
{
    CUmemAccessDesc d = access_of(location, id, flags);
    NOTE("location %d, number %d, flags %d", location, id, flags);
    ASK(cuMemSetAccess, p, bytes, &d, 1);
}

static void note_access(CUdeviceptr p, int location, int id)
{
    CUmemLocation where = place_of(location, id);
    unsigned long long flags = 99;
    ASK(cuMemGetAccess, &flags, &where, p);
    NOTE("location %d, number %d: flags %llu", location, id, flags);
}

CASE_AFTER(set_up, opened)
{
    CUmemAccessDesc both[2] = {access_of(DEVICE, 0, 3), access_of(DEVICE, 0, 1)};
    CUdeviceptr p = at;
    NOTE("before anything is mapped");
    ask_access(p, 2 * STEP, DEVICE, 0, 3);
    note_access(p, DEVICE, 0);
    map(p, one, 2 * STEP);
    map(p + 2 * STEP, two, 2 * STEP);
    NOTE("mapped");
    note_access(p, DEVICE, 0);
    note_access(p + STEP + 4, DEVICE, 0);
    note_access(p + 4 * STEP, DEVICE, 0);
    note_access(p, DEVICE, 99);
    note_access(p, HOST, 0);
    note_access(p, NUMA, 0);
    note_access(p, 0, 0);
    NOTE("to whom");
    ask_access(p, 2 * STEP, DEVICE, 99, 3);
    ask_access(p, 2 * STEP, DEVICE, -1, 3);
    ask_access(p, 2 * STEP, 0, 0, 3);
    ask_access(p, 2 * STEP, HOST, 0, 3);
    ask_access(p, 2 * STEP, NUMA, 0, 3);
    ask_access(p, 2 * STEP, 77, 0, 3);
    NOTE("what");
    ask_access(p, 2 * STEP, DEVICE, 0, 2);
    ask_access(p, 2 * STEP, DEVICE, 0, 7);
    ask_access(p, 2 * STEP, DEVICE, 0, 0);
    note_access(p, DEVICE, 0);
    ask_access(p, 2 * STEP, DEVICE, 0, 1);
    note_access(p, DEVICE, 0);
    ask_access(p, 2 * STEP, DEVICE, 0, 3);
    note_access(p, DEVICE, 0);
    ask_access(p, 2 * STEP, DEVICE, 0, 1);
    note_access(p, DEVICE, 0);
    ask_access(p, 2 * STEP, DEVICE, 0, 0);
    note_access(p, DEVICE, 0);
    NOTE("where");
    ask_access(p, 0, DEVICE, 0, 3);
    ask_access(p, 4096, DEVICE, 0, 3);
    ask_access(p + 4096, 2 * STEP, DEVICE, 0, 3);
    ask_access(p, STEP, DEVICE, 0, 3);
    note_access(p, DEVICE, 0);
    note_access(p + STEP, DEVICE, 0);
    ask_access(p + STEP, STEP, DEVICE, 0, 3);
    ask_access(p, 3 * STEP, DEVICE, 0, 3);
    note_access(p + 2 * STEP, DEVICE, 0);
    note_access(p + 3 * STEP, DEVICE, 0);
    ask_access(p, 8 * STEP, DEVICE, 0, 3);
    ask_access(p, 4 * STEP, DEVICE, 0, 3);
    note_access(p + 3 * STEP, DEVICE, 0);
    ask_access(0, 2 * STEP, DEVICE, 0, 3);
    NOTE("lists");
    ASK(cuMemSetAccess, p, 2 * STEP, both, 0);
    ASK(cuMemSetAccess, p, 2 * STEP, both, 2);
    note_access(p, DEVICE, 0);
    ASK(cuMemSetAccess, p, 2 * STEP, NULL, 0);
    NOTE("mapped anew");
    DRIVER(cuMemUnmap)(p, 2 * STEP);
    map(p, one, 2 * STEP);
    note_access(p, DEVICE, 0);
}

/* Memory of other calls. */
CASE_AFTER(set_up, opened_of_others)
{
    void *m = NULL, *a = NULL;
    cudaMalloc(&m, 2 * STEP);
    a = ready_memory(NULL, 2 * STEP);
    ask_access((CUdeviceptr)m, 2 * STEP, DEVICE, 0, 3);
    note_access((CUdeviceptr)m, DEVICE, 0);
    ask_access((CUdeviceptr)a, 2 * STEP, DEVICE, 0, 3);
    note_access((CUdeviceptr)a, DEVICE, 0);
}

/* ---- use ---- */

static void use(CUdeviceptr p, size_t bytes)
{
    int value = 0;
    ASK(cuMemsetD8, p, 5, bytes);
    ASK(cuMemsetD8Async, p, 6, bytes, s);
    ASK(cuMemcpyDtoH, &value, p, 4);
    NOTE("value %#x", (unsigned)value);
    ASK(cuMemcpyHtoD, p, &value, 4);
    ASK(cuMemcpyDtoHAsync, &value, p, 4, s);
    ASK(cuMemcpy, p, p + MiB, 4);
    RECORD(cudaMemcpy(&value, (void *)p, 4, cudaMemcpyDeviceToHost));
    RECORD_SYNC(cudaMemset((void *)p, 7, bytes), s);
}

static void launch(CUdeviceptr p)
{
    RECORD_SYNC(launch_add((int *)p, 1, 1, s), s);
    RECORD(cudaDeviceSynchronize());
}

CASE_AFTER(set_up_mapped, used)
{
    use(at, 2 * STEP);
    launch(at);
}

CASE_AFTER(set_up_mapped, used_beyond)
{
    int value = 0;
    NOTE("from mapped memory to what is not mapped");
    ASK(cuMemsetD8, at, 5, 3 * STEP);
    ASK(cuMemcpyDtoH, &value, at + 2 * STEP - 2, 4);
    NOTE("to a neighbor that is mapped, and not open");
    map(at + 2 * STEP, two, 2 * STEP);
    ASK(cuMemsetD8, at, 5, 3 * STEP);
    ASK(cuMemcpyDtoH, &value, at + 2 * STEP - 2, 4);
    NOTE("to an open neighbor");
    open_for_device(at + 2 * STEP, 2 * STEP);
    ASK(cuMemsetD8, at, 5, 3 * STEP);
    ASK(cuMemcpyDtoH, &value, at + 2 * STEP - 2, 4);
    NOTE("value %#x", (unsigned)value);
}

CASE_AFTER(set_up_closed, used_before_access) { use(at, 2 * STEP); }

CASE_AFTER(set_up_closed, launched_before_access) { launch(at); }

CASE_AFTER(set_up, used_before_mapping) { use(at, 2 * STEP); }

CASE_AFTER(set_up, launched_before_mapping)
{
    CUmemAllocationProp p = on_device();
    launch(at);
    NOTE("after the fault");
    ASK(cuMemCreate, &two, STEP, &p, 0);
    ASK(cuMemMap, at, 2 * STEP, 0, one, 0);
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemRelease, one);
    ASK(cuMemAddressFree, at, 8 * STEP);
}

CASE_AFTER(set_up_unmapped, used_after_unmapping) { use(at, 2 * STEP); }

CASE_AFTER(set_up_unmapped, launched_after_unmapping) { launch(at); }

static void set_up_read_only(void)
{
    CUmemAccessDesc d = access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    set_up_mapped();
    ASK(cuMemSetAccess, at, 2 * STEP, &d, 1);
}

CASE_AFTER(set_up_read_only, used_read_only) { use(at, 2 * STEP); }

CASE_AFTER(set_up_read_only, launched_read_only) { launch(at); }

CASE_AFTER(set_up_mapped, launched_after_closing)
{
    CUmemAccessDesc d = access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    ASK(cuMemSetAccess, at, 2 * STEP, &d, 1);
    launch(at);
}

/* One memory at two places: what is written at the one is read at the other. */
CASE_AFTER(set_up_mapped, used_at_two_places)
{
    int value = 0;
    map(at + 4 * STEP, one, 2 * STEP);
    open_for_device(at + 4 * STEP, 2 * STEP);
    cudaMemset((void *)at, 0, 4);
    launch_add((int *)at, 5, 1, s);
    cudaStreamSynchronize(s);
    ASK(cuMemcpyDtoH, &value, at + 4 * STEP, 4);
    NOTE("value %d", value);
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemcpyDtoH, &value, at + 4 * STEP, 4);
    NOTE("value %d", value);
}

CASE_AFTER(set_up_mapped, mapped_anew)
{
    int value = 0;
    ASK(cuMemsetD8, at, 9, 4);
    DRIVER(cuMemUnmap)(at, 2 * STEP);
    map(at + STEP, one, 2 * STEP);
    open_for_device(at + STEP, 2 * STEP);
    ASK(cuMemcpyDtoH, &value, at + STEP, 4);
    NOTE("value %#x", (unsigned)value);
}

/* ---- what is known of an address ---- */

static void note_number(const char *name, CUpointer_attribute attribute, CUdeviceptr p)
{
    uint64_t value = 0;
    CUresult result = DRIVER(cuPointerGetAttribute)(&value, attribute, p);
    NOTE("%-20s result %d, %llu", name, (int)result, (unsigned long long)value);
}

static void note_place(const char *name, CUpointer_attribute attribute, CUdeviceptr p)
{
    uint64_t value = 0;
    CUresult result = DRIVER(cuPointerGetAttribute)(&value, attribute, p);
    NOTE("%-20s result %d, %s %lld", name, (int)result, value ? "in front of it" : "none",
         value ? (long long)(p - value) : 0);
}

static void about(const char *what, CUdeviceptr p)
{
    CUdeviceptr start = 0;
    CUcontext context = NULL, current = NULL;
    size_t bytes = 0;
    int fd = -1;
    NOTE("-- %s", what);
    printf("  cudaPointerGetAttributes ");
    print_attributes((void *)p);
    DRIVER(cuCtxGetCurrent)(&current);
    CUresult r = DRIVER(cuPointerGetAttribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p);
    NOTE("context: result %d, %s", (int)r,
         !context             ? "none"
         : context == current ? "the current one"
                              : "another");
    note_number("memory type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    note_number("managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
    note_number("device", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p);
    note_number("mapped", CU_POINTER_ATTRIBUTE_MAPPED, p);
    note_number("legacy IPC", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p);
    note_number("handle types", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p);
    note_number("network", CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, p);
    note_number("access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p);
    note_number("range size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, p);
    note_place("range start", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p);
    note_number("mapping size", CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p);
    note_place("mapping start", CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p);
    note_number("pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
    if (!ASK(cuMemGetAddressRange, &start, &bytes, p))
        NOTE("starts %lld in front of it, %zu bytes", (long long)(p - start), bytes);
    CUipcMemHandle handle;
    ASK(cuIpcGetMemHandle, &handle, p);
    ASK(cuMemGetHandleForAddressRange, &fd, p, STEP, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    if (fd >= 0)
        close(fd);
}

CASE_AFTER(set_up_mapped, known_of_addresses)
{
    map(at + 2 * STEP, two, 2 * STEP);
    about("open", at);
    about("within an open one", at + STEP + 4);
    about("mapped, not open", at + 2 * STEP);
    about("reserved", at + 4 * STEP);
    open_for_device(at + 2 * STEP, 2 * STEP);
    about("the open neighbor", at + 2 * STEP);
    DRIVER(cuMemUnmap)(at, 2 * STEP);
    about("unmapped", at);
    CUdeviceptr p = at;
    DRIVER(cuMemUnmap)(at + 2 * STEP, 2 * STEP);
    DRIVER(cuMemAddressFree)(at, 8 * STEP);
    about("freed", p);
}

CASE_AFTER(set_up, known_of_shared)
{
    memory h = make(STEP, shared());
    map(at, h, STEP);
    open_for_device(at, STEP);
    about("for a descriptor", at);
}

/* ---- other calls on such addresses ---- */

CASE_AFTER(set_up_mapped, freed_by_others)
{
    ASK(cuMemFree, at);
    RECORD(cudaFree((void *)at));
    RECORD(cudaFreeAsync((void *)at, s));
    ASK(cuMemFree, at + 4 * STEP);
    RECORD(cudaFree((void *)(at + 4 * STEP)));
    RECORD_SYNC(cudaFreeAsync((void *)(at + 4 * STEP), s), s);
    ASK(cuMemsetD8, at, 1, STEP);
    RECORD(cudaHostRegister((void *)(at + 4 * STEP), STEP, 0));
    RECORD(cudaDeviceSynchronize());
}

CASE_AFTER(set_up, captured)
{
    CUmemAllocationProp p = on_device();
    CUmemAccessDesc d = access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr q = 0;
    CUmemLocation device = place_of(DEVICE, 0);
    cudaGraph_t graph = NULL;
    unsigned long long flags = 0;
    size_t n = 0;
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ASK(cuMemGetAllocationGranularity, &n, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    ASK(cuMemAddressReserve, &q, STEP, 0, 0, 0);
    ASK(cuMemCreate, &h, STEP, &p, 0);
    ASK(cuMemMap, at, 2 * STEP, 0, one, 0);
    ASK(cuMemSetAccess, at, 2 * STEP, &d, 1);
    ASK(cuMemGetAccess, &flags, &device, at);
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemRelease, one);
    ASK(cuMemAddressFree, at, 8 * STEP);
    RECORD(cudaStreamEndCapture(s, &graph));
}

CASE(without_context)
{
    CUmemAllocationProp p = on_device();
    CUmemAccessDesc d = access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr q = 0;
    size_t n = 0;
    cudaFree(0);
    ASK(cuCtxSetCurrent, NULL);
    ASK(cuMemGetAllocationGranularity, &n, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    ASK(cuMemAddressReserve, &q, 2 * STEP, 0, 0, 0);
    ASK(cuMemCreate, &h, STEP, &p, 0);
    ASK(cuMemMap, q, STEP, 0, h, 0);
    ASK(cuMemSetAccess, q, STEP, &d, 1);
    ASK(cuMemsetD8, q, 1, STEP);
    ASK(cuMemUnmap, q, STEP);
    ASK(cuMemRelease, h);
    ASK(cuMemAddressFree, q, 2 * STEP);
}

/* What a reset leaves. */
CASE_AFTER(set_up_mapped, reset)
{
    RECORD(cudaDeviceReset());
    cudaFree(0);
    int value = 0;
    ASK(cuMemcpyDtoH, &value, at, 4);
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemMap, at + 4 * STEP, 2 * STEP, 0, two, 0);
    ASK(cuMemRelease, two);
    ASK(cuMemAddressFree, at, 8 * STEP);
}

/* ---- which calls wait for work that is pending? ---- */

#define WAITS(name, ...) \
    RECORD_WAIT(launch_hold(gate, s), (cudaError_t)DRIVER(name)(__VA_ARGS__), #name)

static void set_up_waiting(void)
{
    set_up_mapped();
    cudaStreamDestroy(s);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaHostAlloc((void **)&gate, 64, cudaHostAllocMapped);
    open_gate();
    load_kernels((int *)at);
}

CASE_AFTER(set_up_waiting, waiting)
{
    CUmemAllocationProp p = on_device();
    CUmemAccessDesc d = access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr q = 0;
    WAITS(cuMemAddressReserve, &q, 4 * STEP, 0, 0, 0);
    WAITS(cuMemCreate, &h, 2 * STEP, &p, 0);
    WAITS(cuMemMap, q, 2 * STEP, 0, h, 0);
    WAITS(cuMemSetAccess, q, 2 * STEP, &d, 1);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    WAITS(cuMemSetAccess, q, 2 * STEP, &d, 1);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    WAITS(cuMemSetAccess, q, 2 * STEP, &d, 1);
    WAITS(cuMemUnmap, q, 2 * STEP);
    WAITS(cuMemRelease, h);
    WAITS(cuMemAddressFree, q, 4 * STEP);
}

/* The pending work uses the memory. */
CASE_AFTER(set_up_waiting, unmapping_waits_for_its_use)
{
    RECORD_WAIT((launch_hold(gate, s), launch_add((int *)at, 1, 1, s)),
                (cudaError_t)DRIVER(cuMemUnmap)(at, 2 * STEP), "cuMemUnmap");
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaDeviceSynchronize());
}

/* ---- descriptors ---- */

CASE(exported)
{
    int fd = -1, second = -1;
    set_up_addresses();
    one = make(2 * STEP, on_device());
    h = make(2 * STEP, shared());
    ASK(cuMemExportToShareableHandle, &fd, one, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ASK(cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1);
    ASK(cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_WIN32, 0);
    ASK(cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_NONE, 0);
    ASK(cuMemExportToShareableHandle, &fd, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ASK(cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    NOTE("%s", fd >= 0 ? "a descriptor" : "no descriptor");
    ASK(cuMemExportToShareableHandle, &second, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    NOTE("%s", second == fd ? "the same descriptor" : "another descriptor");
    memory own = 0;
    NOTE("imported by its own process");
    ASK(cuMemImportFromShareableHandle, &own, MEMORY(fd));
    NOTE("%s", own == h ? "the same handle" : "another handle");
    ASK(cuMemMap, at, 2 * STEP, 0, own, 0);
    ASK(cuMemRelease, own);
    ASK(cuMemRelease, h);
    ASK(cuMemImportFromShareableHandle, &own, MEMORY(fd));
    ASK(cuMemImportFromShareableHandle, &own, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_WIN32);
    ASK(cuMemImportFromShareableHandle, &own, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_NONE);
    close(fd);
    NOTE("a descriptor that is closed, and others");
    ASK(cuMemImportFromShareableHandle, &own, MEMORY(fd));
    ASK(cuMemImportFromShareableHandle, &own, MEMORY(-1));
    ASK(cuMemImportFromShareableHandle, &own, MEMORY(0));
    fd = open("/dev/null", O_RDWR);
    ASK(cuMemImportFromShareableHandle, &own, MEMORY(fd));
}

/* A pool's descriptor as memory, and memory's as a pool. */
CASE(exported_as_another)
{
    cudaMemPool_t pool, imported = NULL;
    int fd = -1, of_memory = -1;
    cudaFree(0);
    pool = shared_pool(0);
    cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0);
    ASK(cuMemImportFromShareableHandle, &h, MEMORY(fd));
    h = make(STEP, shared());
    ASK(cuMemExportToShareableHandle, &of_memory, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    RECORD(cudaMemPoolImportFromShareableHandle(&imported, FD(of_memory), 0));
}

/* ---- what no program should give: a case each, since the process may die ---- */

static CUmemAllocationProp props;
static CUmemLocation device;
static unsigned long long flags;
static size_t bytes;

/* TITLE asks with the first two steps mapped, and open for the device. */
#define BAD(title, name, ...)                                          \
    CASE(title)                                                        \
    {                                                                  \
        set_up_mapped();                                               \
        props = on_device();                                           \
        device = place_of(DEVICE, 0);                                  \
        answer(#name "(" #__VA_ARGS__ ")", DRIVER(name)(__VA_ARGS__)); \
    }

BAD(no_granularity, cuMemGetAllocationGranularity, NULL, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM)
BAD(no_properties, cuMemGetAllocationGranularity, &bytes, NULL, CU_MEM_ALLOC_GRANULARITY_MINIMUM)
BAD(no_address, cuMemAddressReserve, NULL, STEP, 0, 0, 0)
BAD(no_handle, cuMemCreate, NULL, STEP, &props, 0)
BAD(no_properties_of_memory, cuMemCreate, &two, STEP, NULL, 0)
BAD(no_handle_to_release, cuMemRelease, 12345)
BAD(no_handle_to_map, cuMemMap, at + 4 * STEP, 2 * STEP, 0, 12345, 0)
BAD(no_handle_to_export, cuMemExportToShareableHandle, &bytes, 12345,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)
BAD(no_descriptor, cuMemExportToShareableHandle, NULL, make(STEP, shared()),
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)
BAD(no_list, cuMemSetAccess, at, 2 * STEP, NULL, 1)
BAD(no_flags, cuMemGetAccess, NULL, &device, at)
BAD(no_location, cuMemGetAccess, &flags, NULL, at)
BAD(no_handle_to_retain, cuMemRetainAllocationHandle, NULL, (void *)at)
BAD(no_handle_to_import, cuMemImportFromShareableHandle, NULL, MEMORY(0))

/* ---- two processes ---- */

static memory make_sevens(void)
{
    set_up_addresses();
    memory h = make(2 * STEP, shared());
    map(at, h, 2 * STEP);
    open_for_device(at, 2 * STEP);
    ASK(cuMemsetD8, at, 7, 2 * STEP);
    return h;
}

static void send_memory(void)
{
    memory h = make_sevens();
    send_memory_handle(h);
    await_turn();
    read_first();
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemRelease, h);
    take_turns();
}

IMPORTER(shared, send_memory)
{
    int fd = receive_descriptor(), second = -1, value = 0;
    memory again = 0;
    set_up_addresses();
    memory h = import_memory(fd);
    ASK(cuMemImportFromShareableHandle, &again, MEMORY(fd));
    NOTE("%s", h == again ? "the same handle" : "another handle");
    close(fd);
    CUmemAllocationProp got = ask_properties(h);
    NOTE("type %d, handles %d, location %d %d", (int)got.type, (int)got.requestedHandleTypes,
         (int)got.location.type, got.location.id);
    ASK(cuMemMap, at, 4 * STEP, 0, h, 0);
    ASK(cuMemMap, at, 2 * STEP, 0, h, 0);
    ASK(cuMemcpyDtoH, &value, at, 4);
    open_for_device(at, 2 * STEP);
    read_first();
    ASK(cuMemsetD8, at, 9, 2 * STEP);
    RECORD(cudaDeviceSynchronize());
    about("imported", at);
    ASK(cuMemExportToShareableHandle, &second, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    take_turns();
    NOTE("the exporter has released the memory");
    read_first();
    ASK(cuMemRelease, again);
    ASK(cuMemRelease, h);
    ASK(cuMemcpyDtoH, &value, at, 4);
    ASK(cuMemUnmap, at, 2 * STEP);
    ASK(cuMemAddressFree, at, 8 * STEP);
    pass_turn();
}

/* Is the memory still there when its process has ended? */
static void send_and_end(void)
{
    memory h = make_sevens();
    RECORD(cudaDeviceSynchronize());
    send_memory_handle(h);
    await_turn();
}

IMPORTER(shared_after_the_end, send_and_end)
{
    int fd = receive_descriptor();
    set_up_addresses();
    pass_turn();
    await_end();
    memory h = import_memory(fd);
    ASK(cuMemMap, at, 2 * STEP, 0, h, 0);
    open_for_device(at, 2 * STEP);
    read_first();
}

int main(int argc, char **argv) { return run_pairs(argc, argv); }
