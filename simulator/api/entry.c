/* The functions that a program calls, one for each line of calls.def. Each makes a struct call,
 * enters, does the work, and leaves. */
#include "api/array.h"
#include "api/context.h"
#include "api/copies.h"
#include "api/entry.h"
#include "api/graph_arguments.h"
#include "api/launches.h"
#include "api/laws.h"
#include "base/errors.h"
#include "graph/capture.h"
#include "graph/graph_memory.h"
#include "graph/kernel_node.h"
#include "mem/device.h"
#include "os/os.h"

#define PLACE        ((struct call_place){OS_CALL_ADDRESS, OS_CALL_FRAME})
#define LAUNCH_PLACE launch_place(OS_CALL_ADDRESS, OS_CALL_FRAME)

#define ENTRY(symbol, name, per_thread, cost, parameters, arguments, place)                    \
    EXPORT cudaError_t symbol parameters;                                                      \
    EXPORT cudaError_t symbol parameters                                                       \
    {                                                                                          \
        struct call call;                                                                      \
        const struct call_place at = place;                                                    \
        cudaError_t e =                                                                        \
            call_enter(&call, CALL_##name, (time_ns)(cost), at.address, at.frame, per_thread); \
        e = e ? e : do_##name arguments;                                                       \
        return call_leave(&call, laws_checked(#name, e));                                      \
    }

#define CALL(streams, name, cost, flags, parameters, work, arguments) \
    ENTRY_##streams(name, cost, parameters, arguments, PLACE)
#define LAUNCH(streams, name, cost, flags, parameters, work, arguments) \
    ENTRY_##streams(name, cost, parameters, arguments, LAUNCH_PLACE)
#define BODY(name, work, expression) \
    cudaError_t do_##name work { return expression; }
#define NVCC(name)           \
    EXPORT void *name(void); \
    EXPORT void *name(void) { return 0; }
#include "calls.inc"

const char *cudaGetErrorName(cudaError_t error) { return error_name(error); }
const char *cudaGetErrorString(cudaError_t error) { return error_string(error); }

void *kernel_fill(void) { return kernel_function(TASK_FILL); }
void *kernel_add(void) { return kernel_function(TASK_ADD); }
void *kernel_hold(void) { return kernel_function(TASK_HOLD); }

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}
