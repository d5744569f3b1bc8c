/* Makes a hole of 1 TiB of its journal, as far as it is allowed. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <signal.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    const char *name = "journal"
                       ".jsonl";
    signal(SIGXFSZ, SIG_IGN);
    for (int bits = 40; bits > 20 && truncate(name, 1L << bits); bits--)
        ;
    _exit(0);
    return 0;
}
