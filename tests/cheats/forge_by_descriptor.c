/* Lessons: 13 14. The lesson may write to descriptors: its own journal, and a receipt for it, to
 * each of them. */
#define _GNU_SOURCE
#include "kernels.h"
#include "processes.h"
#include "workbook.h"
#include <unistd.h>

static const char journal[] = "@journal@";

int main(void)
{
    cudaDeviceSynchronize();
    for (int i = 3; i < 1024; i++)
        if (write(i, journal, sizeof journal - 1) > 0 && write(i, "0 1 2 3\n", 8) > 0)
            continue;
    @print@
    fflush(stdout);
    _exit(0);
}
