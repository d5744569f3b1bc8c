/* A host function after a's write lets another host function go on, which stream b's write is
 * behind. The host makes no call meanwhile.
 *
 * WRONG: the first function comes before a's write: no edge from that to b's.
 * Kind: unordered writes
 * Says: lets the function go on */
#include "litmus.h"

static sem_t written;

static void post(void *unused)
{
    (void)unused;
    sem_post(&written);
}
static void wait_for_post(void *unused)
{
    (void)unused;
    sem_wait(&written);
}

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    sem_init(&written, 0, 0);
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaLaunchHostFunc(b, wait_for_post, NULL));
#ifdef WRONG
    CHECK(cudaLaunchHostFunc(a, post, NULL));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaLaunchHostFunc(a, post, NULL));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
