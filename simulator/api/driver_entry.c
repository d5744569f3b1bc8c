/* The functions of libcuda.so.1, one for each line of driver_calls.def. libcuda.so.1 is another
 * name of this library, so both APIs have the same devices, streams, and memory. */
#include <string.h>

#include "api/copies.h"
#include "api/driver.h"
#include "api/entry.h"
#include "api/laws.h"
#include "api/own_process.h"
#include "api/unmodeled.h"
#include "base/errors.h"
#include "base/hazards.h"
#include "mem/device.h"
#include "mem/virtual_memory.h"
#include "os/os.h"

/* The structures of both APIs are the same. */
#define SAME(driver, runtime) \
    _Static_assert(sizeof(driver) == sizeof(runtime), #driver " is the runtime's " #runtime)
SAME(CUmemLocation, struct cudaMemLocation);
SAME(CUmemPoolProps, struct cudaMemPoolProps);
SAME(CUmemAccessDesc, struct cudaMemAccessDesc);
SAME(CUmemPoolPtrExportData, struct cudaMemPoolPtrExportData);
SAME(CUDA_MEMSET_NODE_PARAMS, struct cudaMemsetParams);
SAME(CUDA_HOST_NODE_PARAMS, struct cudaHostNodeParams);
SAME(CUDA_MEM_ALLOC_NODE_PARAMS, struct cudaMemAllocNodeParams);
SAME(CUDA_RESOURCE_VIEW_DESC, struct cudaResourceViewDesc);
SAME(CUgraphEdgeData, cudaGraphEdgeData);
SAME(CUgraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo);
SAME(CUlaunchAttributeValue, cudaLaunchAttributeValue);
SAME(CUlaunchAttribute, cudaLaunchAttribute);
SAME(CUmemcpyAttributes, struct cudaMemcpyAttributes);
SAME(CUipcMemHandle, cudaIpcMemHandle_t);
SAME(CUipcEventHandle, cudaIpcEventHandle_t);

/* A location by value. */
#define LOCATION(location)                                                      \
    (struct cudaMemLocation)                                                    \
    {                                                                           \
        .type = (enum cudaMemLocationType)(location).type, .id = (location).id, \
    }

/* The memsets of a row and of rows, with the parameters' names of cuda.h. */
#define SET_ROW(value, element, stream) \
    memset_2d(call, (void *)dstDevice, 0, (int)(value), element, N, 1, stream)
#define SET_ROWS(value, element, stream) \
    memset_2d(call, (void *)dstDevice, dstPitch, (int)(value), element, Width, Height, stream)

/* An operation with a value, as a batch of one. */
#define VALUE_OP(stream, member, kind) \
    do_cuStreamBatchMemOp_v2(          \
        call, stream, 1,               \
        &(CUstreamBatchMemOpParams){.member = {kind, addr, {.value64 = value}, flags, 0}}, 0)

/* ---- errors ---- */

/* Returns the driver's code of an error. The numbers are the same (documented), but some codes
 * exist only in the runtime; their translations are assumed. */
static CUresult result_of(cudaError_t e)
{
    switch (e) {
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidSymbol:
    case cudaErrorInvalidChannelDescriptor:
    case cudaErrorInvalidFilterSetting:
    case cudaErrorInvalidNormSetting:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorMissingConfiguration: return CUDA_ERROR_INVALID_VALUE;
    default: return (CUresult)e;
    }
}

/* The names are the header's. The texts are those of the runtime's code of the same number
 * (assumed). */
static const struct {
    int code;
    const char *name;
} errors[] = {
#define ERROR(name) {name, #name},
#include "driver_errors.inc"
};

static const char *name_of(CUresult result)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == (int)result)
            return errors[i].name;
    return NULL;
}

const char *driver_error_name(cudaError_t e) { return name_of(result_of(e)); }

/* Documented: an unknown code is CUDA_ERROR_INVALID_VALUE, and the text NULL. */
EXPORT CUresult cuGetErrorName(CUresult error, const char **text)
{
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = name_of(error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = name_of(error) ? error_string((cudaError_t)error) : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the calls ---- */

/* The cost of each function of the runtime, for its twins. */
#define CALL(streams, name, cost, flags, parameters, work, arguments) \
    static inline time_ns cost_##name parameters { return (time_ns)(cost); }
#include "calls.inc"

/* A stream that the program created has a context of its own (measured: probe-odd-driver.txt). */
static inline bool has_context(CUstream stream)
{
    return stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

#define ENTRY(symbol, name, per_thread, cost, stream, work, parameters)                            \
    EXPORT CUresult symbol parameters;                                                             \
    EXPORT CUresult symbol parameters                                                              \
    {                                                                                              \
        struct call call;                                                                          \
        unsigned ways = per_thread | (has_context(stream) ? HAS_CONTEXT : 0);                      \
        cudaError_t e =                                                                            \
            call_enter(&call, CALL_##name, (time_ns)(cost), OS_CALL_ADDRESS, OS_CALL_FRAME, ways); \
        e = e ? e : work;                                                                          \
        return result_of(call_leave(&call, laws_checked(#name, e)));                               \
    }
#define OWN(streams, name, version, since, cost, flags, stream, parameters, work, arguments) \
    cudaError_t do_##name##version work;
#include "driver_calls.inc"
#define TWIN(streams, name, version, since, flags, twin, stream, parameters, arguments,     \
             cost_arguments)                                                                \
    ENTRY_##streams(name##version, cost_##twin cost_arguments, stream, do_##twin arguments, \
                    parameters)
#define OWN(streams, name, version, since, cost, flags, stream, parameters, work, arguments) \
    ENTRY_##streams(name##version, cost, stream, do_##name##version arguments, parameters)
#define BODY(name, work, expression) \
    cudaError_t do_##name work { return expression; }
#include "driver_calls.inc"

/* ---- functions that are not modeled ---- */

/* Each returns CUDA_ERROR_NOT_SUPPORTED and says so once on standard error. The list is made when
 * the library is built: the functions that cuda.h declares, without those in
 * api/driver_calls.def. */
#define UNMODELLED UNMODELED_FUNCTION
#include "driver_unmodeled.inc"
#undef UNMODELLED

/* Returns the newest version of the function with this name that is not modeled, or NULL. */
static void (*find_unmodeled(const char *name))(void)
{
    static const struct {
        const char *symbol;
        int (*function)(void);
    } all[] = {
#define UNMODELLED(name) {#name, unmodeled_##name},
#include "driver_unmodeled.inc"
    };
    size_t length = strlen(name);
    int (*found)(void) = NULL;
    /* The symbols are sorted, so later versions follow. */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *rest = all[i].symbol + length;
        if (!strncmp(all[i].symbol, name, length)
            && (!*rest || (rest[0] == '_' && rest[1] == 'v' && strlen(rest) == 3)))
            found = all[i].function;
    }
    return (void (*)(void))found;
}

/* ---- finding functions by name ---- */

static const struct {
    const char *name;
    int since;
    void (*function)(void);
    /* With per-thread default streams. */
    void (*per_thread)(void);
} functions[] = {
#define POINTERS_ONE(name)                       (void (*)(void)) name, (void (*)(void))name
#define POINTERS_PTSZ(name)                      (void (*)(void)) name, (void (*)(void))name##_ptsz
#define POINTERS_PTDS(name)                      (void (*)(void)) name, (void (*)(void))name##_ptds
#define TWIN(streams, name, version, since, ...) {#name, since, POINTERS_##streams(name##version)},
#define OWN                                      TWIN
#define OTHER(name, version, since)              TWIN(ONE, name, version, since, )
#include "driver_calls.inc"
};

/* Documented: the newest function that the requested version has. If that function is not modeled,
 * its calls say so. */
EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    int newest = 0;
    bool known = false;
    if (!name || !function)
        return CUDA_ERROR_INVALID_VALUE;
    void (*found)(void) = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name))
            continue;
        known = true;
        if (functions[i].since > version || functions[i].since < newest)
            continue;
        newest = functions[i].since;
        found = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? functions[i].per_thread
                                                                      : functions[i].function;
    }
    if (!found)
        found = find_unmodeled(name);
    *(void (**)(void))function = found;
    if (status)
        *status = found ? CU_GET_PROC_ADDRESS_SUCCESS
                : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* Documented: a function that is not found is NULL, and the call succeeds. The default flag means
 * the kind of default stream for which the program was compiled. */
cudaError_t do_cudaGetDriverEntryPointByVersion(struct call *call, const char *symbol,
                                                void **funcPtr, unsigned cudaVersion,
                                                unsigned long long flags,
                                                enum cudaDriverEntryPointQueryResult *driverStatus)
{
    CUdriverProcAddressQueryResult status;
    if (!symbol || !funcPtr || flags > cudaEnablePerThreadDefaultStream
        || cudaVersion > (unsigned)settings.driver_version)
        return cudaErrorInvalidValue;
    if (flags == cudaEnableDefault && call->per_thread)
        flags = cudaEnablePerThreadDefaultStream;
    cuGetProcAddress_v2(symbol, funcPtr, (int)cudaVersion, flags, &status);
    if (driverStatus)
        *driverStatus = (enum cudaDriverEntryPointQueryResult)status;
    return cudaSuccess;
}

/* ---- NVIDIA's own libraries ---- */

/* NVIDIA's runtime and its libraries ask for these tables, which no document describes. Seen with
 * CUDA 13.0: without the runtime's, each of its calls fails; without the other one here, cuFFT's
 * plans do; NVRTC asks for a third, and does without. A program that nvcc has linked with its
 * default, the static runtime, comes here at its first call. */
EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    static const unsigned char needed[][16] = {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
                                               {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
                                                0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2}};
    static bool reported;
    if (table)
        *table = NULL;
    if (!id
        || (memcmp(id->bytes, needed[0], sizeof *needed)
            && memcmp(id->bytes, needed[1], sizeof *needed)))
        return CUDA_ERROR_NOT_SUPPORTED;
    lock_acquire();
    if (!process.started)
        process_start();
    if (!reported) {
        diag(
            "NVIDIA's CUDA runtime asks for the driver's inner tables, which are not simulated, so "
            "its calls fail. If it is linked into your program, which is nvcc's default, build "
            "with nvcc -cudart shared. If a library of NVIDIA asks (cuBLAS, cuFFT, ...), that "
            "library cannot run here: it has code for GPUs alone.");
        hazards_gave_up("NVIDIA's own CUDA runtime could not run");
    }
    reported = true;
    lock_release();
    return CUDA_ERROR_NOT_SUPPORTED;
}

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
enum { NVRTC_ERROR_INTERNAL_ERROR = 11 };

/* NVRTC's two functions that return machine code. Because machine code cannot run here, they return
 * the PTX of the same program, which cuModuleLoadData accepts, too. Seen with NVRTC 13.0: it keeps
 * the PTX even if it was asked for machine code (--gpu-architecture=sm_90). A program calls these
 * functions instead of NVRTC's if it is linked with NVRTC and the simulated device comes first, as
 * `make mine` arranges; a program that opens NVRTC itself does not. */
EXPORT int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    int (*of_ptx)(void *, size_t *);
    *(void **)&of_ptx = os_symbol("nvrtcGetPTXSize");
    return of_ptx ? of_ptx(program, bytes) : NVRTC_ERROR_INTERNAL_ERROR;
}

EXPORT int nvrtcGetCUBIN(void *program, char *image)
{
    int (*ptx)(void *, char *);
    *(void **)&ptx = os_symbol("nvrtcGetPTX");
    return ptx ? ptx(program, image) : NVRTC_ERROR_INTERNAL_ERROR;
}
