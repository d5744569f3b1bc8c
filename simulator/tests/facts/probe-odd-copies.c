/* Records copies of rows, slices, and arrays, and memory that is mapped, with odd arguments: which
 * of two errors is told, what is copied, and what counts if there are no bytes. Random calls found
 * these. */
#include "virtual.h"

#include <cuda_runtime.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define H2D  cudaMemcpyHostToDevice
#define D2H  cudaMemcpyDeviceToHost
#define D2D  cudaMemcpyDeviceToDevice
#define AUTO cudaMemcpyDefault

/* Of 40 x 8 elements of 4 bytes; of 64 bytes; of 16 x 8 x 6 elements of 4 bytes. */
static cudaArray_t array, line, solid;
static char *block, *pool_block, *pinned;
static char pageable[4096];

static void set_up(void)
{
    struct cudaChannelFormatDesc four = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaChannelFormatDesc one = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaMallocArray(&array, &four, 40, 8, 0);
    cudaMallocArray(&line, &one, 64, 0, 0);
    cudaMalloc3DArray(&solid, &four, make_cudaExtent(16, 8, 6), 0);
    cudaMalloc((void **)&block, MiB);
    cudaMallocAsync((void **)&pool_block, MiB, s);
    cudaMallocHost((void **)&pinned, MiB);
    cudaMemset(block, 0, MiB);
    cudaMemset(pool_block, 0, MiB);
    memset(pinned, 7, MiB);
    cudaDeviceSynchronize();
}

/* Without bytes; a small pitch, a wrong direction, and a place beyond the array. */
CASE_AFTER(set_up, rows_of_arrays)
{
    RECORD(cudaMemcpy2DToArray(array, 999, 0, block, 0, 0, 4, D2H));
    RECORD(cudaMemcpy2DFromArray(block, 1, array, 0, 99, 64, 0, (enum cudaMemcpyKind)5));
    RECORD(cudaMemcpy2DArrayToArray(line, 64, 9, array, 0, 0, 300, 0, D2H));
    RECORD(cudaMemcpy2DToArray(array, 0, 0, block, 63, 64, 4, D2H));
    RECORD(cudaMemcpy2DToArray(array, 0, 0, block, 63, 64, 1, D2H));
    RECORD(cudaMemcpy2DToArray(array, 0, 0, block, 63, 64, 1, D2D));
    RECORD(cudaMemcpy2DFromArray(block, 63, array, 0, 99, 64, 4, D2D));
    RECORD(cudaMemcpy2DFromArray(block, 64, array, 0, 99, 64, 4, H2D));
    RECORD(cudaMemcpy2DToArray(array, 0, 0, pinned, 0, 64, 1, H2D));
    RECORD(cudaMemcpy2DFromArray(pinned, 0, array, 0, 0, 64, 1, D2H));
}

CASE_AFTER(set_up, row_without_pitch)
{
    RECORD(cudaMemcpy2DToArray(array, 0, 0, block, 0, 64, 1, AUTO));
}

static void note_bytes(const char *what, size_t bytes)
{
    cudaMemcpyFromArray(pageable, line, 0, 0, 64, D2H);
    NOTE("%s: %d, then %d", what, pageable[0], pageable[bytes]);
}

/* No bytes; a direction that there is not; a place at a row's end; too many bytes. */
CASE_AFTER(set_up, lines)
{
    RECORD(cudaMemcpyToArray(array, 0, 99, block, 0, D2H));
    RECORD(cudaMemcpyToArray(line, 0, 0, block, 64, D2D));
    RECORD(cudaMemcpyToArray(line, 0, 0, pinned, 64, (enum cudaMemcpyKind)5));
    note_bytes("with kind 5", 63);
    RECORD(cudaMemcpyToArray(line, 32, 0, pinned, 33, H2D));
    note_bytes("with a byte too many", 32);
    RECORD(cudaMemcpyToArray(array, 160, 0, pinned, 160, H2D));
    RECORD(cudaMemcpyToArray(array, 160, 7, pinned, 1, H2D));
    RECORD(cudaMemcpyToArray(array, 161, 0, pinned, 1, H2D));
}

/* Prints where the first byte arrived. */
static void note_place(const char *what, const char *where)
{
    static char copy[MiB];
    size_t n = 0;
    cudaMemcpy(copy, where, sizeof copy, AUTO);
    while (n < sizeof copy && !copy[n])
        n++;
    NOTE("%s: from byte %zu", what, n);
    cudaMemset((void *)(uintptr_t)where, 0, sizeof copy);
}

/* Slices of an array and of memory: the place in memory, heights and pitches that are too small or
 * 0, and a direction that there is not. */
CASE_AFTER(set_up, slices)
{
    struct cudaMemcpy3DParms good = {.srcArray = solid,
                                     .dstPtr = make_cudaPitchedPtr(block, 128, 64, 8),
                                     .extent = make_cudaExtent(16, 8, 1),
                                     .kind = AUTO};
    struct cudaMemcpy3DParms fill = {.dstArray = solid,
                                     .srcPtr = make_cudaPitchedPtr(pinned, 64, 64, 8),
                                     .extent = make_cudaExtent(16, 8, 6),
                                     .kind = AUTO};
    RECORD(cudaMemcpy3D(&fill));
#define SLICES(what, change) \
    CHANGED(struct cudaMemcpy3DParms, p, good, change, what, RECORD(cudaMemcpy3D(&p)))
    SLICES("a place in memory", p.dstPos.x = 16);
    note_place("16", block);
    SLICES("a place that the pitch has no room for", p.dstPos.x = 17);
    SLICES("the same in a pool's memory",
           (p.dstPos.x = 17, p.dstPtr.ptr = pool_block, p.extent.height = 1));
    note_place("17", pool_block);
    SLICES("a height that is too small", p.dstPtr.ysize = 7);
    SLICES("a height of 0", (p.dstPtr.ysize = 0, p.dstPos.z = 1));
    note_place("slice 1", block);
    SLICES("a height of 0, two slices", (p.dstPtr.ysize = 0, p.extent.depth = 2));
    SLICES("a place below", p.dstPos.y = 1);
    SLICES("a small pitch", p.dstPtr.pitch = 63);
    SLICES("a pitch of 0", p.dstPtr.pitch = 0);
    SLICES("a pitch of 0, one row", (p.dstPtr.pitch = 0, p.extent.height = 1, p.dstPos.y = 1));
    note_place("row 1", block);
    SLICES("kind 5, beyond the array", (p.kind = (enum cudaMemcpyKind)5, p.srcPos.x = 99));
    SLICES("no bytes, beyond the array", (p.extent.height = 0, p.srcPos.x = 99));
    SLICES("no bytes, two ends", (p.extent.depth = 0, p.dstArray = solid));
    struct cudaPitchedPtr to = make_cudaPitchedPtr(block, 128, 64, 8);
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(64, 9, 1)));
    RECORD(cudaMemset3D(to, 0, make_cudaExtent(64, 9, 0)));
}

/* Memory that only the host knows, called a device's; a place in a row of a pool's memory; no
 * elements at an odd address. */
CASE_AFTER(set_up, memory_types)
{
    CUDA_MEMCPY2D good = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = (CUdeviceptr)pinned,
                          .srcPitch = 64,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstDevice = (CUdeviceptr)block,
                          .dstPitch = 64,
                          .WidthInBytes = 64,
                          .Height = 4};
#define ROWS(what, change) CHANGED(CUDA_MEMCPY2D, c, good, change, what, ASK(cuMemcpy2D, &c))
    ROWS("pinned", );
    ROWS("pageable", c.srcDevice = (CUdeviceptr)pageable);
    ROWS("pageable, as unified",
         (c.srcDevice = (CUdeviceptr)pageable, c.srcMemoryType = CU_MEMORYTYPE_UNIFIED));
    ROWS("a place that the pitch has no room for", c.dstXInBytes = 1);
    ROWS("the same in a pool's memory", (c.dstXInBytes = 1, c.dstDevice = (CUdeviceptr)pool_block));
    ASK(cuMemsetD2D16, (CUdeviceptr)block + 1, 64, 1, 32, 0);
    ASK(cuMemsetD2D16, (CUdeviceptr)block + 1, 64, 1, 32, 2);
}

/* The access to a mapping that may only be read, as the host's, too; and nothing at NULL. */
CASE(mapping_access)
{
    CUmemAccessDesc d = access_of(DEVICE, 0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CUmemLocation device = place_of(DEVICE, 0), on_host = place_of(CU_MEM_LOCATION_TYPE_HOST, 0),
                  far_host = place_of(CU_MEM_LOCATION_TYPE_HOST, 99),
                  nowhere = place_of(DEVICE, 99);
    unsigned long long flags = 77;
    int number = 77;
    memory h = make(STEP, on_device());
    at = reserve(STEP);
    ASK(cuMemMap, 0, 2 * STEP, 0, h, 0);
    ASK(cuMemMap, at, STEP, 0, h, 0);
    ASK(cuMemSetAccess, at, STEP, &d, 1);
    ASK(cuMemGetAccess, &flags, &device, at);
    NOTE("%llu", flags);
    ASK(cuMemGetAccess, &flags, &on_host, at);
    NOTE("%llu", flags);
    flags = 77;
    ASK(cuMemGetAccess, &flags, &far_host, at);
    NOTE("%llu", flags);
    ASK(cuMemGetAccess, &flags, &nowhere, 0);
    NOTE("%llu", flags);
    ASK(cuPointerGetAttribute, &number, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at);
    NOTE("%d", number);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
