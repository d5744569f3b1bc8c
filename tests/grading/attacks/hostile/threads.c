/* Makes 100 threads that compute without end. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>

static void *spin(void *nothing)
{
    for (;;)
        ;
    return nothing;
}

int main(void)
{
    cudaDeviceSynchronize();

    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, spin, NULL);
    }
    for (;;)
        ;
    return 0;
}
