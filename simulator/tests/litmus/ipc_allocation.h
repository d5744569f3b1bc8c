/* For ipc_correct.c and ipc_incorrect.c: one allocation that an exporter shares with an importer,
 * and the end of both processes. */
#ifndef IPC_ALLOCATION_H
#define IPC_ALLOCATION_H

#include "../unit/ipc_pair.h"

static const size_t count = MiB / sizeof(int);
static int *data;
static cudaMemPool_t pool;

/* Returns the exporter's allocation, filled with 7 by work that no one has waited for. */
static void share(void)
{
    pool = shared_pool();
    OK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, s));
    OK(launch_fill(data, 7, count, s));
    send_block(pool, data);
}

static void import(void) { data = receive_block(&pool); }

/* The importer's last calls, after which the exporter may free; and the exporter's last calls,
 * after a message from the importer. */
static void importer_ends(void)
{
    OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    go();
    wait_for_go();
    OK(cudaMemPoolDestroy(pool));
}

static void exporter_ends(void)
{
    wait_for_go();
    OK(cudaFreeAsync(data, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    go();
}

static void expect_elements(int value)
{
    static int h[MiB / sizeof(int)];
    OK(cudaMemcpyAsync(h, data, MiB, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (size_t i = 0; i < count; i++)
        if (h[i] != value)
            _exit(6);
}

#endif
