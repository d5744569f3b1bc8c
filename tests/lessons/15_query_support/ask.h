/* Calls lesson 15's functions. "support" or "unpromised": what support_find finds, whether an error
 * is left, and whether stdin is still open. "memory POOLS A B": two allocations, of A and B bytes,
 * are taken for two streams, used at their end and given back; the calls are in the journal. */
#include <unistd.h>

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
static int asked_promises = 1;

/* What the student's file calls. "unpromised": the driver promises no handle type. */
cudaError_t asked_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    cudaError_t result = cudaDeviceGetAttribute(value, attribute, device);
    if (!asked_promises && attribute == cudaDevAttrMemoryPoolSupportedHandleTypes)
        *value = 0;
    return result;
}

static int asked_support(void)
{
    struct support found = support_find();
    printf("\npools = %d\n", found.pools != 0);
    printf("\nsharing = %d\n", found.sharing != 0);
    printf("\nerror left = %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("\nstdin open = %d\n", close(0) == 0);
    return 0;
}

static int asked_memory(int pools, size_t first, size_t second)
{
    size_t bytes[2] = {first, second};
    void *data[2];
    cudaStream_t streams[2];
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CHECK(take(pools, &data[i], bytes[i], streams[i]));
    }
    for (int i = 1; i >= 0; i--) { /* meanwhile the other stream has no work */
        CHECK(launch_fill((int *)data[i] + bytes[i] / sizeof(int) - 256, i, 256, streams[i]));
        CHECK(give_back(pools, data[i], streams[i]));
    }
    return 0;
}

int main(int argc, char **argv)
{
    asked_promises = strcmp(argv[1], "unpromised") != 0;
    if (argc == 2)
        return asked_support();
    return asked_memory(atoi(argv[2]), strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
}
