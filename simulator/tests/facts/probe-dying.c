/* Destroys 50 pools while something of theirs is alive or not synchronized: dying KIND. How many
 * rounds does the process survive? The kinds:
 *
 *   0  empty and synchronized
 *   1  with a live allocation
 *   2  with frees that are not synchronized
 *   3  as 1, with the largest threshold
 *   4  as 3, without a synchronization */
#include "probe.h"

enum kind { EMPTY, LIVE, NOT_SYNCHRONIZED, LIVE_AND_KEPT, LIVE_KEPT_NOT_SYNCHRONIZED };

/* Makes and destroys one pool, and prints how much of the device's memory is gone after which
 * call. */
static void destroy_pool(enum kind kind, int with_lines)
{
    int keeps = kind == LIVE_AND_KEPT || kind == LIVE_KEPT_NOT_SYNCHRONIZED;
    cudaMemPool_t pool = new_pool(keeps ? UINT64_MAX : 0);
    int lives = kind != EMPTY && kind != NOT_SYNCHRONIZED;
    void *first, *second;
    cudaMallocFromPoolAsync(&first, 64 * MiB, pool, s);
    cudaMallocFromPoolAsync(&second, 64 * MiB, pool, s);
    cudaMemsetAsync(first, 0, MiB, s);
    cudaFreeAsync(first, s);
    if (kind != NOT_SYNCHRONIZED)
        cudaStreamSynchronize(s);
    if (!lives)
        cudaFreeAsync(second, s);
    if (kind == EMPTY)
        cudaStreamSynchronize(s);
    cudaMemPoolDestroy(pool);
    long long at_destroy = fallen() / (long long)MiB;
    if (with_lines)
        printf("destroyed: free memory is lower by %lld MiB\n", at_destroy);
    if (lives)
        cudaFreeAsync(second, s);
    if (kind != LIVE_KEPT_NOT_SYNCHRONIZED)
        cudaStreamSynchronize(s);
    const char *synchronized = kind == LIVE_KEPT_NOT_SYNCHRONIZED ? "" : " and synchronised";
    long long at_end = fallen() / (long long)MiB;
    if (with_lines)
        printf("all freed%s: lower by %lld MiB\n", synchronized, at_end);
}

int main(int argc, char **argv)
{
    enum kind kind = argc > 1 ? (enum kind)atoi(argv[1]) : EMPTY;
    set_up_process();
    free_at_first = free_now();
    for (int round = 0; round < 50; round++)
        destroy_pool(kind, round == 0);
    puts("survived 50 rounds");
    return 0;
}
