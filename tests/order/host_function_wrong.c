/* The host waits for a host function, but the function is queued before the writing: only what lies before it is
 * over.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

#include <semaphore.h>

static sem_t reached;

static void tell(void *unused)
{
    (void)unused;
    sem_post(&reached);
}

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    sem_init(&reached, 0, 0);
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
    CHECK(cudaLaunchHostFunc(a, tell, NULL));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    gate_open(gate);
    sem_wait(&reached);
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    gate_destroy(gate);
    return 0;
}
