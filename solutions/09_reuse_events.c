/* 09 Reuse: events
 *
 * Shows  a pool may give memory that one stream freed to another stream that comes later by an
 *        event: that is the policy "follow event dependencies". Not any event will do. A wait
 *        stands for one record, the newest at the time of the wait, and a record for what was in
 *        its stream by then. The free must be in front of it.
 * Yours  predict: does the second block lie where the first was? Write a rule; the check tries more
 *        orders.
 * Run    make 09          check   make check-09          page   docs/09_reuse_events
 */
#include "kernels.h"
#include "workbook.h"

/* YOUR WORK. `calls` are the calls between the first block's last use and the second allocation, in
 * order: 'F' the giver frees the first block, 'R' an event is recorded in the giver, 'W' the taker
 * waits for the event. `follow` says whether the policy is on. Answer 1 when the second block lies
 * at the first one's address. */
static int predict_same(int follow, const char *calls)
{
    int freed = 0, record_covers = 0, wait_covers = 0;
    for (; *calls != '\0'; calls++) {
        if (*calls == 'F')
            freed = 1;
        else if (*calls == 'R')
            record_covers = freed; /* the newest record counts: what was in the giver by then */
        else if (record_covers)
            wait_covers = 1; /* the wait takes the record as it is now */
    }
    return follow && wait_covers;
}

/* A new pool for each line. The giver holds, so the free is pending all the time; the two other
 * policies are off. Nothing but an event can then let the taker have the memory. */
static int try_calls(int follow, const char *calls, size_t mib, cudaStream_t giver,
                     cudaStream_t taker)
{
    int *first, *second, value = -1;
    size_t count = mib * MiB / sizeof(int);
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    volatile int *gate = gate_create();
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, follow);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);

    CHECK(cudaMallocFromPoolAsync((void **)&first, mib * MiB, pool, giver));
    CHECK(launch_hold(gate, giver));
    CHECK(launch_fill(first, 1, count, giver));
    for (const char *call = calls; *call != '\0'; call++) {
        if (*call == 'F')
            CHECK(cudaFreeAsync(first, giver));
        else if (*call == 'R')
            CHECK(cudaEventRecord(event, giver));
        else
            CHECK(cudaStreamWaitEvent(taker, event, 0));
    }
    CHECK(cudaMallocFromPoolAsync((void **)&second, mib * MiB, pool, taker));
    int same = second == first, predicted = predict_same(follow, calls);
    printf("%-6s policy %-3s   predicted %-7s happened %-7s reserved %4zu MiB\n", calls,
           follow ? "on" : "off", predicted ? "same" : "another", same ? "same" : "another",
           reserved_mib(pool));

    gate_open(gate);
    CHECK(launch_fill(second, 2, count, taker));
    CHECK(cudaMemcpyAsync(&value, second + count - 1, sizeof value, cudaMemcpyDeviceToHost, taker));
    CHECK(cudaFreeAsync(second, taker));
    CHECK(cudaStreamSynchronize(giver));
    CHECK(cudaStreamSynchronize(taker));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaEventDestroy(event));
    gate_destroy(gate);
    return value == 2 && predicted == same;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 64);
    const char *orders[] = {"F", "FRW", "RFW", "RFRW", "FWR", "RWFR"};
    int right = 0, count = sizeof orders / sizeof *orders;
    cudaStream_t giver, taker;
    CHECK(cudaStreamCreateWithFlags(&giver, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&taker, cudaStreamNonBlocking));

    for (int i = 0; i < count; i++)
        right += try_calls(1, orders[i], mib, giver, taker);
    right += try_calls(0, "FRW", mib, giver, taker);
    printf("right predictions    %d of %d\n", right, count + 1);

    CHECK(cudaStreamDestroy(taker));
    CHECK(cudaStreamDestroy(giver));
    return right == count + 1 ? 0 : 1;
}
