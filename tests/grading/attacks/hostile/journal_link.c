/* Puts a link to what never ends in the place of its journal. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    const char *name = "journal"
                       ".jsonl";
    unlink(name);
    symlink("/dev/zero", name);
    _exit(0);
    return 0;
}
