/* A program that ends with 2000 host functions pending. Only the thread that ends it makes the
 * simulated device run them all. */
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
