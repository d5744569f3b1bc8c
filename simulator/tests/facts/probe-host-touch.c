/* Records what happens to a process whose host reads or writes the memory of a device. */
#include "probe.h"

static int *of_pool(void)
{
    int *a = NULL;
    RECORD_SYNC(cudaMallocAsync((void **)&a, MiB, s), s);
    return a;
}

static void reads(volatile const int *at)
{
    puts("the host reads");
    NOTE("it read %d", *at);
}

static void writes(volatile int *at)
{
    puts("the host writes");
    *at = 1;
    NOTE("it wrote %d", 1);
}

CASE(read_of_malloc) { reads(m); }

CASE(write_of_malloc) { writes(m); }

CASE(read_of_pool) { reads(of_pool()); }

CASE(write_of_pool) { writes(of_pool()); }

int main(int argc, char **argv) { return run_cases(argc, argv); }
