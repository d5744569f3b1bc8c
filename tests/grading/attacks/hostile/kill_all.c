/* Kills every process that it may kill. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    pid_t parent = getppid();
    for (int i = 0; i < 5; i++) {
        kill(-1, SIGKILL);
        kill(parent, SIGKILL);
        kill(0, SIGTERM);
    }
    for (int i = 0; i < 3; i++)
        kill(parent - i, SIGKILL);
    return 0;
}
