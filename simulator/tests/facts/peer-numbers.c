/* cudaMemcpyPeerAsync is given on which GPU each end lies. Which numbers does it take? Two
 * processes ask: for memory of every kind, and for pools, one of them open to another GPU. */
#include "workbook.h"
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 4096 };

static cudaStream_t zero, one;

/* Every pair of blocks, each with the four pairs of numbers. */
static void ask(int **block, const char *const *names, int count, int width)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            if (i == j)
                continue;
            printf("to %-*s from %-*s:", width, names[i], width, names[j]);
            for (int to = 0; to < 2; to++)
                for (int from = 0; from < 2; from++) {
                    cudaError_t call =
                        cudaMemcpyPeerAsync(block[i], to, block[j], from, BYTES, one);
                    cudaError_t end = cudaStreamSynchronize(one);
                    printf("  %d<-%d %s%s", to, from,
                           call == cudaSuccess ? "ok" : cudaGetErrorName(call) + 9,
                           end == cudaSuccess ? "" : " SYNC");
                }
            puts("");
        }
}

static void of_every_kind(int *pool_0, int *pool_1)
{
    static const char *const names[] = {"pool of 0",   "pool of 1", "malloc of 0",
                                        "malloc of 1", "pinned",    "managed"};
    int *block[6] = {pool_0, pool_1}, plain[4] = {0};
    CHECK(cudaMalloc((void **)&block[2], BYTES));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **)&block[3], BYTES));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMallocHost((void **)&block[4], BYTES));
    CHECK(cudaMallocManaged((void **)&block[5], BYTES, cudaMemAttachGlobal));
    CHECK(cudaDeviceSynchronize());
    ask(block, names, 6, 11);
    cudaError_t as_0 = cudaMemcpyPeerAsync(plain, 0, pool_0, 0, 16, one);
    printf("plain: %s", cudaGetErrorName(as_0));
    printf(" %s\n", cudaGetErrorName(cudaMemcpyPeerAsync(plain, 1, pool_0, 0, 16, one)));
    for (int i = 2; i < 4; i++)
        CHECK(cudaFree(block[i]));
    CHECK(cudaFreeHost(block[4]));
    CHECK(cudaFree(block[5]));
}

static cudaMemPool_t pool_at(enum cudaMemLocationType where, enum cudaMemAllocationType kind)
{
    struct cudaMemPoolProps props = {.allocType = kind, .location = {where, 0}};
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static void of_pools(int *open, int *pool_1)
{
    static const char *const names[] = {"pool 0, open to 1", "pool 1", "host pool",
                                        "managed pool of 0"};
    struct cudaMemAccessDesc desc = {{cudaMemLocationTypeDevice, 1},
                                     cudaMemAccessFlagsProtReadWrite};
    int *block[4] = {open, pool_1};
    cudaMemPool_t pool, host = pool_at(cudaMemLocationTypeHost, cudaMemAllocationTypePinned),
                        managed = pool_at(cudaMemLocationTypeDevice, cudaMemAllocationTypeManaged);
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAccess(pool, &desc, 1));
    CHECK(cudaMallocFromPoolAsync((void **)&block[2], BYTES, host, zero));
    CHECK(cudaMallocFromPoolAsync((void **)&block[3], BYTES, managed, zero));
    CHECK(cudaStreamSynchronize(zero));
    ask(block, names, 4, 18);
    CHECK(cudaMemPoolSetAccess(host, &desc, 1));
    puts("host pool open to 1, too");
    ask(block, names, 4, 18);
    CHECK(cudaFreeAsync(block[2], zero));
    CHECK(cudaFreeAsync(block[3], zero));
    CHECK(cudaStreamSynchronize(zero));
    CHECK(cudaMemPoolDestroy(host));
    CHECK(cudaMemPoolDestroy(managed));
}

static int ask_apart(void (*question)(int *, int *))
{
    int status, *pool_0, *pool_1;
    if (fork())
        return wait(&status) < 0 || status;
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaMallocAsync((void **)&pool_1, BYTES, one));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&zero));
    CHECK(cudaMallocAsync((void **)&pool_0, BYTES, zero));
    CHECK(cudaDeviceSynchronize());
    question(pool_0, pool_1);
    CHECK(cudaFreeAsync(pool_0, zero));
    CHECK(cudaFreeAsync(pool_1, one));
    CHECK(cudaStreamDestroy(zero));
    CHECK(cudaStreamDestroy(one));
    exit(0);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    return ask_apart(of_every_kind) | ask_apart(of_pools);
}
