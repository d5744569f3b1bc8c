/* A program that ends with 2000 host functions pending: the simulated device runs them all, and
 * nobody but the thread that ends it. */
#include "workbook.h"

static void nothing(void *unused) { (void)unused; }

int main(void)
{
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    for (int i = 0; i < 2000; i++)
        CHECK(cudaLaunchHostFunc(s, nothing, NULL));
    return 0;
}
