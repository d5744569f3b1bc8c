/* Fills the folders that every program may write to. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    static char piece[1 << 20];
    const char *names[] = {"/tmp/filler", "/dev/shm/filler", "/filler", "/dev/filler"};
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 4; i++) {
        int file = open(names[i], O_CREAT | O_WRONLY, 0644);
        for (int n = 0; file >= 0 && n < 5000 && write(file, piece, sizeof piece) > 0; n++)
            ;
    }
    return 0;
}
