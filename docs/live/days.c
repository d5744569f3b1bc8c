/* The program of the first page: three streams share one piece of memory, and only the arrows that
 * the reader has drawn order them. A run under SIM_SCHEDULE=random:N is one day.
 *
 *   days [BUSY [FROM-TO...]]   such as: days 2 fill-add add-copy
 *
 * BUSY is how many kernels of other programs a stream runs before each step. FROM and TO are two
 * of the steps fill, add, copy, and free: TO waits for an event that is recorded after FROM. Prints
 * the number that was copied to the host. Exit statuses as of a lesson (workbook.h). */
#include <stdbool.h>

#include "kernels.h"
#include "workbook.h"

#define BUSY_MAX 64
#define OTHERS   (64 * MiB) /* bytes that a kernel of others writes */
/* Kernels of others for which the host waits: longer than a step takes, under each schedule. */
#define PAUSE 64

enum { FILL, ADD, COPY, FREE, STEPS };
static const char *const names[STEPS] = {"fill", "add", "copy", "free"};

/* A stream, and memory for the kernels of others in it. */
struct lane {
    cudaStream_t stream;
    int *of_others;
};

static struct {
    struct lane loader, worker, reader, others;
    cudaEvent_t done[STEPS];
    int *data;
    int busy;                 /* kernels before each step */
    bool waits[STEPS][STEPS]; /* [for][who] */
} day;

/* Page-locked, so that the copy does not make the host wait. */
static _Alignas(4096) int result[1024];

static void others_work(const struct lane *lane, int kernels, size_t bytes)
{
    for (int i = 0; i < kernels; i++)
        CHECK(launch_fill(lane->of_others, 1, bytes / sizeof(int), lane->stream));
}

static void do_step(int step, const struct lane *lane)
{
    cudaStream_t stream = lane->stream;
    others_work(lane, day.busy, OTHERS);
    for (int first = 0; first < step; first++)
        if (day.waits[first][step])
            CHECK(cudaStreamWaitEvent(stream, day.done[first], 0));
    switch (step) {
    case FILL: CHECK(launch_fill(day.data, 40, 1, stream)); break;
    case ADD: CHECK(launch_add(day.data, 2, 1, stream)); break;
    case COPY:
        CHECK(cudaMemcpyAsync(result, day.data, sizeof *result, cudaMemcpyDeviceToHost, stream));
        break;
    default: CHECK(cudaFreeAsync(day.data, stream)); break;
    }
    CHECK(cudaEventRecord(day.done[step], stream));
}

/* The host waits for other work. On a quiet day the step before is over by then. */
static void pause_host(void)
{
    others_work(&day.others, PAUSE, sizeof(int));
    CHECK(cudaStreamSynchronize(day.others.stream));
}

static void open_lane(struct lane *lane, size_t bytes)
{
    CHECK(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync((void **)&lane->of_others, bytes, lane->stream));
}

static void close_lane(struct lane *lane)
{
    CHECK(cudaFreeAsync(lane->of_others, lane->stream));
    CHECK(cudaStreamSynchronize(lane->stream));
    CHECK(cudaStreamDestroy(lane->stream));
}

static void read_arrow(const char *text)
{
    for (int from = 0; from < STEPS; from++)
        for (int to = from + 1; to < STEPS; to++) {
            char arrow[16];
            snprintf(arrow, sizeof arrow, "%s-%s", names[from], names[to]);
            if (!strcmp(arrow, text)) {
                day.waits[from][to] = true;
                return;
            }
        }
    fprintf(stderr,
            "\"%s\" is no arrow; expected two of fill, add, copy and free in this order, "
            "such as fill-add.\n",
            text);
    exit(2);
}

int main(int argc, char **argv)
{
    char *end = "";
    long busy = argc > 1 ? strtol(argv[1], &end, 10) : 0;
    if (busy < 0 || busy > BUSY_MAX || *end) {
        fprintf(stderr, "\"%s\" is no number of kernels; expected 0 to %d.\n", argv[1], BUSY_MAX);
        return 2;
    }
    day.busy = (int)busy;
    for (int i = 2; i < argc; i++)
        read_arrow(argv[i]);
    /* The pool keeps freed memory, so a late copy reads the next owner's number and is no fault. */
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    open_lane(&day.loader, OTHERS);
    open_lane(&day.worker, OTHERS);
    open_lane(&day.reader, OTHERS);
    open_lane(&day.others, sizeof(int));
    for (int i = 0; i < STEPS; i++)
        CHECK(cudaEventCreateWithFlags(&day.done[i], cudaEventDisableTiming));
    CHECK(cudaHostRegister(result, sizeof result, cudaHostRegisterDefault));
    CHECK(cudaMallocAsync((void **)&day.data, sizeof *day.data, day.worker.stream));
    CHECK(cudaDeviceSynchronize());

    do_step(FILL, &day.loader);
    pause_host();
    do_step(ADD, &day.worker);
    pause_host();
    do_step(COPY, &day.reader);
    pause_host();
    do_step(FREE, &day.worker);
    /* The memory's next owner */
    int *next;
    CHECK(cudaMallocAsync((void **)&next, sizeof *next, day.worker.stream));
    CHECK(launch_fill(next, 7, 1, day.worker.stream));

    CHECK(cudaFreeAsync(next, day.worker.stream));
    close_lane(&day.loader);
    close_lane(&day.worker);
    close_lane(&day.reader);
    close_lane(&day.others);
    int copied = *result;
    printf("%d\n", copied);
    for (int i = 0; i < STEPS; i++)
        CHECK(cudaEventDestroy(day.done[i]));
    CHECK(cudaHostUnregister(result));
    return copied == 42 ? 0 : 1;
}
