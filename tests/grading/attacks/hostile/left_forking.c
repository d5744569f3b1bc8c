/* Leaves a process behind that changes its number all the time. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    if (fork() == 0) {
        setsid();
        for (;;)
            if (fork() != 0)
                _exit(0);
    }
    usleep(200000);
    return 0;
}
