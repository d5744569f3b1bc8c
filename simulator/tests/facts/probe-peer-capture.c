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

CASE(by_address)
{
    prepare(0);
    RECORD(cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, s));
    end();
}

CASE(by_address_with_access)
{
    prepare(1);
    RECORD(cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, s));
    end();
}

CASE(by_devices)
{
    prepare(0);
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, s));
    end();
}

CASE(by_devices_with_access)
{
    prepare(1);
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, s));
    end();
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
