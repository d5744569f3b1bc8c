/* Sixty children that ignore signals: half of them spin, half of them stop. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    for (int i = 0; i < 60; i++)
        if (fork() == 0) {
            prctl(PR_SET_NAME, "x) Z 1 (", 0, 0, 0);
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            for (;;)
                if (i < 30)
                    alarm(0);
                else
                    raise(SIGSTOP);
        }
    cudaDeviceSynchronize();
    return 0;
}
