/* Makes 250 processes that compute without end, each in a session of its own. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    for (int i = 0; i < 250; i++)
        if (fork() == 0) {
            setsid();
            for (;;)
                ;
        }
    for (;;)
        ;
    return 0;
}
