/* Records what follows when a destroyed pool is made current: the process may die. */
#define CALL_COLUMNS 76
#include "probe.h"

/* The first call succeeds. Does the process survive what comes next? */
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
