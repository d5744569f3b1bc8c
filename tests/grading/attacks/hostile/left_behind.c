/* Leaves a process without an environment behind, in a session of its own. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            char *arguments[] = {"sh", "-c", "while :; do :; done", NULL}, *none[] = {NULL};
            int null = open("/dev/null", O_RDWR);
            for (int i = 0; i < 3; i++)
                dup2(null, i);
            execve("/bin/sh", arguments, none);
            for (;;)
                ;
        }
        _exit(0);
    }
    usleep(200000);
    return 0;
}
