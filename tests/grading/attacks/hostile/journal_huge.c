/* Writes 60 MiB of one character as its journal. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    const char *name = "journal"
                       ".jsonl";
    static char piece[1 << 20];
    int file = open(name, O_WRONLY | O_TRUNC);
    memset(piece, '[', sizeof piece);
    for (int i = 0; i < 60 && write(file, piece, sizeof piece) > 0; i++)
        ;
    _exit(0);
    return 0;
}
