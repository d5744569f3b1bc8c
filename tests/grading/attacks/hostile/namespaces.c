/* Makes namespaces of its own, and leaves a process in them. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    unshare(CLONE_NEWUSER | CLONE_NEWNS);
    mount("none", "/tmp", "tmpfs", 0, NULL);
    unshare(CLONE_NEWPID);
    if (fork() == 0) {
        setsid();
        for (;;)
            pause();
    }
    return 0;
}
