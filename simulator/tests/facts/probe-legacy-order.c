/* Records which freed memory an allocation gets when blocking streams, a non-blocking one, and the
 * legacy stream use one pool. A script has the kinds of four streams (b: blocking, n: non-blocking,
 * L: the legacy stream) and steps:
 *   a1 s0 8  allocates block 1 of 8 MiB in stream 0     f1 s2  frees block 1 in stream 2
 *   h0       lets a kernel hold stream 0                o0     ends that kernel
 *   r0       records the event of stream 0              w2 e0  lets stream 2 wait for that event
 *   y0       synchronizes stream 0
 * Each line of the recording has the blocks of a script, and =N after a block that got memory of
 * block N. Between two steps all that can end has ended. The legacy stream stays the same in all
 * scripts, and the other streams are new in each. */
#include <stdbool.h>

#include "probe.h"

enum { STREAMS = 4, BLOCKS = 10 };

static const char *const scripts[] = {
    "bbnL a0 s0 1; a1 s1 1; a2 s3 1; a9 s2 1",
    "nnnn a5 s3 1; r3; w1 e3; a0 s0 8; a1 s0 1; f0 s0; f1 s1; a9 s2 1",
    "nnnn r1; w0 e1; a0 s0 8; a1 s0 1; f0 s0; f1 s1; a9 s2 1",
    "bnLn a0 s1 1; h2; a2 s0 4; f2 s2; a3 s2 2; o2; h0; f0 s2; a9 s2 4",
    "bbLn a0 s1 4; h2; f0 s0; o2; h2; h0; a9 s2 8",
    "nnnn a5 s3 1; r1; a0 s0 8; a1 s0 1; f0 s0; f1 s1; a9 s2 1",
    "nnnn a5 s3 1; h1; o1; a0 s0 8; a1 s0 1; f0 s0; f1 s1; a9 s2 1",
    "bbnL a5 s3 1; f5 s3; h1; o1; a0 s0 8; a1 s0 1; f0 s0; f1 s1; a9 s2 1",
    "bbnL a5 s3 1; f5 s3; r1; a0 s0 8; a1 s0 1; f0 s0; f1 s1; a9 s2 1",
    "bbnL a0 s2 8; h2; f0 s2; r2; w0 e2; a9 s3 8",
    "bbnL a0 s2 8; a1 s2 1; h2; f0 s2; r2; w0 e2; f1 s0; a9 s3 8",
    "bbnL a5 s0 1; f5 s0; r3; a0 s1 8; h1; a2 s3 1; f0 s0; a9 s2 8",
    "bbnL a5 s0 1; f5 s0; a0 s1 8; h1; a2 s3 1; f0 s0; a9 s2 8",
    "bbnL a0 s3 8; a4 s3 1; h1; a2 s3 1; f0 s0; a9 s2 8",
    "bbnL a0 s3 8; a4 s3 1; f4 s0; h1; a2 s3 1; f0 s0; a9 s2 8",
    "bbnL a0 s3 8; a4 s3 1; h1; f4 s3; f0 s0; a9 s2 8",
    "bbnL a0 s3 8; a4 s3 1; h1; r3; f0 s0; a9 s2 8",
    "bbnL a0 s3 8; a4 s3 1; h1; r2; w3 e2; f0 s0; a9 s2 8",
    "bbnL a0 s1 2; a1 s1 8; a5 s1 1; f0 s1; f1 s3; r1; y1; a9 s2 8",
    "bbnL a0 s1 2; a1 s1 8; a5 s1 1; f0 s1; f1 s3; f5 s1; y1; a9 s2 8",
    "bbnL a0 s1 2; a1 s1 8; a5 s1 1; f0 s1; f1 s3; a2 s1 1; y1; a9 s2 8",
    "bbnL a0 s1 2; a1 s1 8; a5 s1 1; f0 s1; f1 s3; a2 s0 1; y0; a9 s2 8",
    "bbnL a0 s1 2; a1 s1 8; a5 s1 1; f0 s1; f1 s3; h1; o1; y1; a9 s2 8",
    "bbnL a0 s1 2; a1 s1 8; a5 s1 1; f0 s1; f1 s3; r0; w1 e0; y1; a9 s2 8",
    "bbnL a0 s1 2; a1 s1 8; a5 s1 1; f0 s1; f1 s3; r2; w1 e2; y1; a9 s2 8",
    "bbnL a0 s0 8; a1 s0 1; f0 s3; f1 s1; a9 s2 1",
    "bbnL a0 s1 8; a1 s0 1; f0 s0; f1 s3; a9 s1 1",
    "nnnn a0 s2 8; a1 s0 1; f1 s0; f0 s1; a9 s3 1",
    "nnnn a0 s2 8; a1 s0 1; a2 s1 1; f1 s0; f0 s1; r0; w3 e0; r1; w3 e1; h0; h1; a9 s3 1",
    "nnnn a0 s1 1; a1 s0 8; f0 s0; f1 s1; h0; r1; w0 e1; a9 s3 1; a8 s0 1",
    "bbnL a0 s1 1; a1 s3 8; f1 s0; a2 s2 4; f0 s3; a4 s1 1; a9 s3 8",
    "bbLn a0 s1 2; a1 s2 4; h1; a2 s2 4; f2 s0; r1; a3 s1 8; a9 s2 4",
    "bbLn a0 s1 2; a2 s1 8; f0 s1; f2 s2; r0; r1; y1; a9 s1 8",
    "bbnL a0 s0 1; a1 s0 8; f1 s1; f0 s3; a2 s1 1; a3 s2 1; f3 s2; a9 s2 4",
    "bbnL a0 s0 1; f0 s3; h3; o3; h1; a3 s3 1; f3 s0; a9 s1 4",
    "bbLn a0 s0 2; a1 s2 1; f1 s2; o1; f0 s1; r2; a2 s0 1; f2 s2; a9 s2 8",
    "bbLn a0 s0 2; h0; f0 s2; r1; a3 s2 8; w2 e1; w0 e1; f3 s0; a4 s2 2; a9 s1 8",
    "bbLn a0 s1 8; a1 s1 4; h1; f1 s0; r1; f0 s2; h2; o2; a3 s2 1; a9 s1 4",
    "bbLn a1 s0 1; r2; h1; h2; f1 s0; a2 s1 2; f2 s2; a4 s1 1; f4 s0; a9 s1 4",
    "bbLn a1 s2 1; a2 s0 8; a3 s0 2; f2 s2; h1; f3 s1; r1; w2 e1; r1; a9 s0 2",
    "bnLn a0 s2 1; a1 s0 2; f1 s0; f0 s2; a2 s1 1; a3 s1 1; r1; a4 s2 2; r2; a9 s2 4",
    "bLnn a0 s0 1; a2 s1 1; a3 s0 2; y1; f2 s0; f3 s1; y0; r0; y0; r0; a9 s1 2",
    "bbLn a0 s0 4; a1 s1 1; f1 s1; h1; r1; f0 s1; w2 e1; a4 s0 2; w0 e1; a5 s0 1; a9 s1 2",
    "bbLn a0 s0 8; a1 s1 2; f1 s0; r0; h0; w2 e0; f0 s2; r1; o0; y1; a9 s0 2",
    "bbLn a0 s1 2; f0 s2; h2; a3 s2 4; r0; r2; a4 s2 2; f4 s0; w2 e0; a5 s1 2; a9 s1 8",
    "bbLn a2 s1 8; a3 s0 8; a4 s0 8; f4 s2; h1; f2 s0; r2; a5 s1 4; f3 s0; r2; a9 s2 2",
    "bbnL a1 s3 4; r2; f1 s1; a3 s0 2; h2; f3 s3; w0 e2; o2; h3; o3; a9 s0 2",
    "bbLn a1 s0 8; f1 s2; h0; a3 s2 4; f3 s1; r1; w0 e1; r0; a4 s0 1; a5 s2 1; r0; a9 s2 8",
    "bbLn a1 s2 4; a2 s0 8; r0; r2; r1; h0; r1; r1; f2 s0; a4 s1 4; w2 e1; a9 s1 4",
    "bbnL a0 s0 1; a1 s2 1; a2 s0 2; a3 s1 4; f1 s0; h1; o0; f0 s2; f3 s3; f2 s1; h3; a9 s0 2",
    "bbnL a0 s2 8; a2 s2 8; h0; h2; f0 s1; f2 s2; a4 s1 4; h1; f4 s3; r3; a5 s0 1; a9 s3 2",
    "bbnL a0 s3 8; h0; h2; a2 s3 4; a3 s3 4; r1; f3 s1; a4 s0 1; r1; o0; a5 s3 1; a9 s0 8",
    "bbLn a0 s2 1; a1 s1 2; f0 s0; a2 s1 8; f2 s2; f1 s2; r0; o2; y0; r0; r0; r0; a9 s0 4",
    "bbnL a0 s0 2; a1 s1 2; h3; o3; h2; r0; a4 s2 1; f1 s3; f4 s1; w3 e0; a5 s0 1; r0; a9 s1 4",
    "bbnL a0 s1 8; a1 s0 2; f1 s1; f0 s3; a2 s1 2; y1; h0; f2 s1; r2; r1; h3; h2; a9 s2 8",
    "bLnn a1 s0 4; a2 s1 8; f2 s1; r0; r1; r1; r1; y0; f1 s0; h0; a3 s0 1; r0; o0; a9 s1 2",
    "bbnL a0 s1 4; a1 s3 8; f0 s3; r0; y2; y0; y2; r0; f1 s3; y0; r1; a3 s2 1; h0; a9 s3 2",
};

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];
static volatile int *gates;
static struct {
    char *start;
    size_t bytes;
    bool freed;
} blocks[BLOCKS];

static void end_what_can_end(void)
{
    for (int i = 0; i < STREAMS; i++)
        for (int n = 0; gates[i] && n < 2000; n++)
            if (cudaStreamQuery(streams[i]) != cudaErrorNotReady)
                break;
    cudaGetLastError();
}

static void allocate(int x, int stream, size_t bytes, cudaMemPool_t pool)
{
    cudaMallocFromPoolAsync((void **)&blocks[x].start, bytes, pool, streams[stream]);
    blocks[x].bytes = bytes;
    printf(" a%d", x);
    for (int i = 0; i < BLOCKS; i++)
        if (i != x && blocks[i].start < blocks[x].start + bytes
            && blocks[x].start < blocks[i].start + blocks[i].bytes)
            printf("=%d", i);
}

static void run_step(const char *step, cudaMemPool_t pool)
{
    int x, s;
    size_t mib;
    if (sscanf(step, " a%d s%d %zu", &x, &s, &mib) == 3) {
        allocate(x, s, mib * MiB, pool);
    } else if (sscanf(step, " f%d s%d", &x, &s) == 2) {
        cudaFreeAsync(blocks[x].start, streams[s]);
        blocks[x].freed = true;
    } else if (sscanf(step, " h%d", &s) == 1) {
        gates[s] = 0;
        launch_hold(gates + s, streams[s]);
        usleep(400);
    } else if (sscanf(step, " o%d", &s) == 1) {
        gates[s] = 1;
        usleep(400);
        end_what_can_end();
    } else if (sscanf(step, " r%d", &s) == 1) {
        cudaEventRecord(events[s], streams[s]);
    } else if (sscanf(step, " w%d e%d", &s, &x) == 2) {
        cudaStreamWaitEvent(streams[s], events[x], 0);
    } else if (sscanf(step, " y%d", &s) == 1) {
        cudaStreamSynchronize(streams[s]);
    }
    end_what_can_end();
}

static void run_script(const char *script)
{
    char text[200];
    cudaMemPool_t pool = new_pool(0);
    memset(blocks, 0, sizeof blocks);
    for (int i = 0; i < STREAMS; i++) {
        gates[i] = 1;
        streams[i] = NULL;
        if (script[i] != 'L')
            cudaStreamCreateWithFlags(&streams[i], script[i] == 'n' ? cudaStreamNonBlocking : 0);
        cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming);
    }
    printf("%s:", script);
    snprintf(text, sizeof text, "%s", script + STREAMS);
    for (char *step = strtok(text, ";"); step; step = strtok(NULL, ";"))
        run_step(step, pool);
    puts("");
    for (int i = 0; i < STREAMS; i++)
        gates[i] = 1;
    cudaDeviceSynchronize();
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].start && !blocks[i].freed)
            cudaFree(blocks[i].start);
    cudaMemPoolDestroy(pool);
    for (int i = 0; i < STREAMS; i++) {
        cudaEventDestroy(events[i]);
        if (streams[i])
            cudaStreamDestroy(streams[i]);
    }
    cudaDeviceSynchronize();
}

int main(void)
{
    cudaHostAlloc((void **)&gates, STREAMS * sizeof *gates, cudaHostAllocMapped);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        run_script(scripts[i]);
}
