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
    RECORD(cudaGraphLaunch(x, s));
    RECORD(cudaStreamSynchronize(s));
}

static void by_address(void)
{
    prepare(0);
    RECORD(cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, s));
    end();
}

static void by_address_with_access(void)
{
    prepare(1);
    RECORD(cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, s));
    end();
}

static void by_devices(void)
{
    prepare(0);
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, s));
    end();
}

static void by_devices_with_access(void)
{
    prepare(1);
    RECORD(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, s));
    end();
}

static const struct probe_case cases[] = {
    CASE(by_address),
    CASE(by_address_with_access),
    CASE(by_devices),
    CASE(by_devices_with_access),
};

int main(int argc, char **argv)
{
    return run_cases(argc, argv, cases, sizeof cases / sizeof *cases);
}
