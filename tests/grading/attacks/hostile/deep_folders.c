/* Makes 10000 folders, each in the one before. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    for (int i = 0; i < 10000; i++)
        if (mkdir("deep", 0700) || chdir("deep"))
            break;
    return 0;
}
