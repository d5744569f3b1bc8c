/* 10 Reuse: opportunistic
 *
 * Shows  a pool may give memory that one stream freed to another stream if the device happens to
 *        have got to the free: the opportunistic policy. Whether it has is a matter of time, so the
 *        same calls give different addresses. With the policy off it does not matter. What the host
 *        has synchronised may go to every stream, policy or not; that the host has only asked
 *        counts for nothing.
 * Yours  predict: does the second block lie where the first was? Write it as a rule.
 * Run    make 10          check   make check-10          page   docs/10_reuse_opportunistic
 */
#include "kernels.h"
#include "workbook.h"

/* How far the free has got when the other stream allocates: the device has not reached it; it has,
 * and a query said so; the host has waited for it. */
enum state { PENDING, FINISHED, SYNCHRONISED };

/* YOUR WORK. Answer 1 when the second block lies at the first one's address. */
static int predict_same(int opportunistic, enum state state)
{
    (void)opportunistic;
    (void)state;
    return 1; /* same program, same addresses, so say many people */
}

/* A new pool for each line; the two other policies are off. Up to the second allocation the calls
 * are the same: only when the gate opens differs, and how the host learns of it. */
static int try_state(int opportunistic, enum state state, size_t mib, cudaStream_t giver,
                     cudaStream_t taker)
{
    static const char *const names[] = {"pending", "finished", "synchronised"};
    int *first, *second, value = -1;
    size_t count = mib * MiB / sizeof(int);
    volatile int *gate = gate_create();
    cudaMemPool_t pool = pool_create();
    /* A synchronise gives nothing back. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, opportunistic);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);

    CHECK(cudaMallocFromPoolAsync((void **)&first, mib * MiB, pool, giver));
    CHECK(launch_hold(gate, giver));
    CHECK(launch_fill(first, 1, count, giver));
    CHECK(cudaFreeAsync(first, giver));
    if (state != PENDING)
        gate_open(gate);
    while (state == FINISHED && cudaStreamQuery(giver) == cudaErrorNotReady)
        continue; /* ask until it is done: a sleep proves nothing */
    if (state == SYNCHRONISED)
        CHECK(cudaStreamSynchronize(giver));
    CHECK(cudaMallocFromPoolAsync((void **)&second, mib * MiB, pool, taker));
    int same = second == first, predicted = predict_same(opportunistic, state);
    printf("policy %-3s  free %-12s   predicted %-7s happened %-7s reserved %4zu MiB\n",
           opportunistic ? "on" : "off", names[state], predicted ? "same" : "another",
           same ? "same" : "another", reserved_mib(pool));

    gate_open(gate);
    CHECK(launch_fill(second, 2, count, taker));
    CHECK(cudaMemcpyAsync(&value, second + count - 1, sizeof value, cudaMemcpyDeviceToHost, taker));
    CHECK(cudaFreeAsync(second, taker));
    CHECK(cudaStreamSynchronize(giver));
    CHECK(cudaStreamSynchronize(taker));
    CHECK(cudaMemPoolDestroy(pool));
    gate_destroy(gate);
    return value == 2 && predicted == same;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 64);
    int right = 0;
    cudaStream_t giver, taker;
    CHECK(cudaStreamCreateWithFlags(&giver, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&taker, cudaStreamNonBlocking));

    for (int opportunistic = 1; opportunistic >= 0; opportunistic--)
        for (enum state state = PENDING; state <= SYNCHRONISED; state++)
            right += try_state(opportunistic, state, mib, giver, taker);
    printf("right predictions    %d of 6\n", right);

    CHECK(cudaStreamDestroy(taker));
    CHECK(cudaStreamDestroy(giver));
    return right == 6 ? 0 : 1;
}
