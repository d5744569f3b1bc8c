/* Records what happens to a process whose host reads or writes the memory of a device. */
#include "probe.h"

static int *of_pool(void)
{
    int *a = NULL;
    RECORD(cudaMallocAsync((void **)&a, MiB, s));
    RECORD(cudaStreamSynchronize(s));
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

static void read_of_malloc(void) { reads(m); }

static void write_of_malloc(void) { writes(m); }

static void read_of_pool(void) { reads(of_pool()); }

static void write_of_pool(void) { writes(of_pool()); }

static const struct probe_case cases[] = {
    CASE(read_of_malloc),
    CASE(write_of_malloc),
    CASE(read_of_pool),
    CASE(write_of_pool),
};

int main(int argc, char **argv)
{
    return run_cases(argc, argv, cases, sizeof cases / sizeof *cases);
}
