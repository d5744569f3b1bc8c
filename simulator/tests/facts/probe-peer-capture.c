/* Records, with two GPUs, which copies between them can be captured. */
#include "probe.h"

static int *from, *to;

static void prepare(int access)
{
    cudaMalloc((void **)&from, MiB);
    cudaSetDevice(1);
    cudaMalloc((void **)&to, MiB);
    if (access)
        cudaDeviceEnablePeerAccess(0, 0);
    cudaSetDevice(0);
    if (access)
        cudaDeviceEnablePeerAccess(1, 0);
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
}

static void end(void)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t x = NULL;
    RECORD(cudaStreamEndCapture(s, &graph));
    if (!graph)
        return;
    RECORD(cudaGraphInstantiate(&x, graph, 0));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

/* A case that captures one copy, without or with access of each GPU to the other. */
#define CAPTURED(title, access, call) \
    CASE(title)                       \
    {                                 \
        prepare(access);              \
        record(#call, (call));        \
        end();                        \
    }

CAPTURED(by_address, 0, cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, s))
CAPTURED(by_address_with_access, 1, cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, s))
CAPTURED(by_devices, 0, cudaMemcpyPeerAsync(to, 1, from, 0, MiB, s))
CAPTURED(by_devices_with_access, 1, cudaMemcpyPeerAsync(to, 1, from, 0, MiB, s))

int main(int argc, char **argv) { return run_cases(argc, argv); }
