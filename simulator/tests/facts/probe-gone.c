/* Records what follows when a destroyed pool is made current: the process may die. */
#define CALL_COLUMNS 76
#include "probe.h"

/* Making the destroyed pool current succeeds; the process may not survive the calls after that. */
int main(void)
{
    cudaMemPool_t gone, current;
    void *a = 0;
    set_up_process();
    gone = new_pool(0);
    cudaMemPoolDestroy(gone);
    RECORD(cudaDeviceSetMemPool(0, gone));
    RECORD(cudaDeviceGetMemPool(&current, 0));
    NOTE("current is the destroyed pool: %d", current == gone);
    RECORD(cudaMallocAsync(&a, MiB, s));
    RECORD(cudaDeviceGetDefaultMemPool(&current, 0));
    RECORD(cudaDeviceSetMemPool(0, current));
    puts("end");
    return 0;
}
