/* What workbook.h promises of a second process when the other side fails: second_process CASE. It includes what a lesson includes, and runs on a GPU, too. */
#define _GNU_SOURCE
#define SILENCE 2
#include "kernels.h"
#include "workbook.h"

/* The second ends in the middle, with an error of its own. */
static void second_ends(int is_second)
{
    char c;
    if (is_second) {
        fprintf(stderr, "second process: something went wrong\n");
        exit(1);
    }
    hear(&c, 1);
}

/* The first ends in the middle: the second is hearing. */
static void first_ends(int is_second)
{
    char c;
    if (!is_second) {
        fprintf(stderr, "first process: something went wrong\n");
        exit(2);
    }
    hear(&c, 1);
}

/* It is killed, which leaves it no time for anything. */
static void second_killed(int is_second)
{
    if (is_second)
        kill(getpid(), SIGKILL);
    exit(join());
}

static void first_killed(int is_second)
{
    if (is_second)
        sleep(10);
    else
        kill(getpid(), SIGKILL);
}

static void both_hear(int is_second)
{
    char c;
    (void)is_second;
    hear(&c, 1);
}

/* A message to one that is gone. */
static void told_too_late(int is_second)
{
    if (is_second)
        exit(0);
    waitpid(second, NULL, 0);
    tell("c", 1);
}

/* The first dies while the second's stream waits for its event, which can no longer be reached. */
static void exporter_killed(int is_second)
{
    cudaEvent_t event;
    cudaIpcEventHandle_t handle;
    cudaStream_t stream;
    char c;
    if (is_second) {
        hear(&handle, sizeof handle);
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaIpcOpenEventHandle(&event, handle));
        CHECK(cudaStreamWaitEvent(stream, event, 0));
        tell("w", 1);
        CHECK(cudaStreamSynchronize(stream));
        printf("second process: the wait ended\n");
        exit(0);
    }
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(launch_hold((const volatile int *)gate, stream));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaIpcGetEventHandle(&handle, event));
    tell(&handle, sizeof handle);
    hear(&c, 1);
    kill(getpid(), SIGKILL);
}

/* The second dies while the first's stream waits for its event. */
static void importer_killed(int is_second)
{
    cudaEvent_t event;
    cudaIpcEventHandle_t handle;
    cudaStream_t stream;
    char c;
    if (!is_second) {
        hear(&handle, sizeof handle);
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaIpcOpenEventHandle(&event, handle));
        CHECK(cudaStreamWaitEvent(stream, event, 0));
        tell("w", 1);
        CHECK(cudaStreamSynchronize(stream));
        printf("first process: the wait ended\n");
        exit(0);
    }
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(launch_hold((const volatile int *)gate, stream));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaIpcGetEventHandle(&handle, event));
    tell(&handle, sizeof handle);
    hear(&c, 1);
    kill(getpid(), SIGKILL);
}

/* A descriptor crosses: what the second writes into it, the first reads. */
static void descriptor_crosses(int is_second)
{
    int ends[2];
    char text[6] = "";
    if (is_second) {
        int descriptor = hear_descriptor();
        exit(write(descriptor, "hello", 5) != 5);
    }
    if (pipe(ends) != 0)
        exit(4);
    tell_descriptor(ends[1]);
    close(ends[1]);
    int status = join();
    if (read(ends[0], text, 5) != 5)
        exit(5);
    printf("%s\n", text);
    exit(status);
}

/* Bytes came where a descriptor should have. */
static void no_descriptor(int is_second)
{
    int number = 3;
    if (is_second)
        hear_descriptor();
    tell(&number, sizeof number);
    exit(join());
}

static void not_here(int is_second)
{
    char c;
    if (is_second)
        hear(&c, 1);
    skip("this needs a time machine", cudaErrorNotSupported);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(int is_second); } cases[] = {
        {"second_ends", second_ends}, {"first_ends", first_ends}, {"second_killed", second_killed}, {"first_killed", first_killed},
        {"both_hear", both_hear}, {"told_too_late", told_too_late}, {"exporter_killed", exporter_killed}, {"importer_killed", importer_killed},
        {"descriptor_crosses", descriptor_crosses}, {"no_descriptor", no_descriptor}, {"not_here", not_here},
    };
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        cases[i].run(split());
        return 0;
    }
    fprintf(stderr, "second_process: no such case\n");
    return 2;
}
