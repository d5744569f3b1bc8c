/* Fills the folder of its run with 5 GiB. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    int file = open("filler", O_CREAT | O_WRONLY, 0644);
    posix_fallocate(file, 0, 5L << 30);
    sleep(2);
    return 0;
}
