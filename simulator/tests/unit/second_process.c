/* What processes.h promises a process when the other one fails: second_process CASE. It includes
 * what a lesson includes, and runs on a GPU, too. */
#define _GNU_SOURCE
static unsigned silence = 600; /* far: the machine may be busy */
#define SILENCE silence
#include "kernels.h"
#include "processes.h"
#include "workbook.h"

/* The second process ends in the middle, with an error of its own. */
static void second_ends(int is_second)
{
    if (is_second) {
        fprintf(stderr, "second process: something went wrong\n");
        exit(1);
    }
    receive_done();
}

/* The first process ends in the middle, while the second is receiving. */
static void first_ends(int is_second)
{
    if (!is_second) {
        fprintf(stderr, "first process: something went wrong\n");
        exit(2);
    }
    receive_done();
}

/* A process is killed, which leaves it no time for anything. */
static void second_killed(int is_second)
{
    if (is_second)
        kill(getpid(), SIGKILL);
    exit(join());
}

static void first_killed(int is_second)
{
    if (is_second)
        sleep(600);
    else
        kill(getpid(), SIGKILL);
}

static void both_hear(int is_second)
{
    (void)is_second;
    silence = 2;
    receive_done();
}

/* A message to a process that is gone. */
static void told_too_late(int is_second)
{
    if (is_second)
        exit(0);
    waitpid(second, NULL, 0);
    send_done();
}

/* A process records an event that is never reached, and dies while the other's stream waits for
 * it. */
static void killed_while_waited_for(int dies)
{
    cudaEvent_t event;
    cudaIpcEventHandle_t handle;
    cudaStream_t stream;
    if (!dies) {
        receive_bytes(&handle, sizeof handle);
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaIpcOpenEventHandle(&event, handle));
        CHECK(cudaStreamWaitEvent(stream, event, 0));
        send_done();
        CHECK(cudaStreamSynchronize(stream));
        printf("the wait ended\n");
        exit(0);
    }
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(launch_hold((const volatile int *)gate, stream));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaIpcGetEventHandle(&handle, event));
    send_bytes(&handle, sizeof handle);
    receive_done();
    kill(getpid(), SIGKILL);
}

static void exporter_killed(int is_second) { killed_while_waited_for(!is_second); }

static void importer_killed(int is_second) { killed_while_waited_for(is_second); }

/* Sends bytes and, with them, a descriptor, as the solution of lesson 16 does. */
static void send_with_descriptor(const void *data, size_t bytes, int descriptor)
{
    union control_message control = {.head = {.cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS,
                                              .cmsg_len = CMSG_LEN(sizeof descriptor)}};
    struct iovec part = {(void *)data, bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    if (sendmsg(other, &message, MSG_NOSIGNAL) != (ssize_t)bytes)
        exit(7);
}

/* A descriptor is sent with bytes: what the second process writes into it, the first one reads. */
static void descriptor_crosses(int is_second)
{
    int ends[2];
    char text[6] = "hello";
    if (is_second) {
        char received[6];
        int descriptor = receive_with_descriptor(received, sizeof received);
        exit(write(descriptor, received, 5) != 5);
    }
    if (pipe(ends) != 0)
        exit(4);
    send_with_descriptor(text, sizeof text, ends[1]);
    close(ends[1]);
    int status = join();
    memset(text, 0, sizeof text);
    if (read(ends[0], text, 5) != 5)
        exit(5);
    printf("%s\n", text);
    exit(status);
}

/* Bytes came without a descriptor. */
static void no_descriptor(int is_second)
{
    char byte;
    if (is_second && receive_with_descriptor(&byte, sizeof byte) < 0)
        exit(6);
    send_done();
    exit(join());
}

/* A descriptor arrived, but not with the expected bytes. */
static void two_messages(int is_second)
{
    char text[6] = "hello";
    if (is_second)
        receive_with_descriptor(text, sizeof text);
    send_with_descriptor("d", 1, STDERR_FILENO);
    send_bytes(text, sizeof text);
    exit(join());
}

static void not_here(int is_second)
{
    if (is_second)
        receive_done();
    skip("this needs a time machine", cudaErrorNotSupported);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int is_second);
    } cases[] = {
        {"second_ends", second_ends},
        {"first_ends", first_ends},
        {"second_killed", second_killed},
        {"first_killed", first_killed},
        {"both_hear", both_hear},
        {"told_too_late", told_too_late},
        {"exporter_killed", exporter_killed},
        {"importer_killed", importer_killed},
        {"descriptor_crosses", descriptor_crosses},
        {"no_descriptor", no_descriptor},
        {"two_messages", two_messages},
        {"not_here", not_here},
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
