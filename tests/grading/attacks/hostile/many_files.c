/* Makes 10000 files, and shuts their folder. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    char name[64];
    mkdir("many", 0777);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        int file = open(name, O_CREAT | O_WRONLY, 0);
        if (file < 0)
            break;
        close(file);
    }
    chmod("many", 0);
    return 0;
}
