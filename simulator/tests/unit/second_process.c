/* What processes.h promises a process when the other one fails: second_process CASE. It includes
 * what a lesson includes, and runs on a GPU, too. */
#define _GNU_SOURCE
static unsigned silence = 600; /* far: the machine may be busy */
#define SILENCE silence
#include "../cases.h"
#include "kernels.h"
#include "processes.h"
#include "workbook.h"

static int is_second;

/* The second process ends in the middle, with an error of its own. */
CASE(second_ends)
{
    if (is_second) {
        fprintf(stderr, "second process: something went wrong\n");
        exit(1);
    }
    receive_done();
}

/* The first process ends in the middle, while the second is receiving. */
CASE(first_ends)
{
    if (!is_second) {
        fprintf(stderr, "first process: something went wrong\n");
        exit(2);
    }
    receive_done();
}

/* A process is killed, which leaves it no time for anything. */
CASE(second_killed)
{
    if (is_second)
        kill(getpid(), SIGKILL);
    exit(join());
}

CASE(first_killed)
{
    if (is_second)
        sleep(600);
    else
        kill(getpid(), SIGKILL);
}

CASE(both_hear)
{
    silence = 2;
    receive_done();
}

/* A message to a process that is gone. */
CASE(told_too_late)
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

CASE(exporter_killed) { killed_while_waited_for(!is_second); }

CASE(importer_killed) { killed_while_waited_for(is_second); }

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
CASE(descriptor_crosses)
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
CASE(no_descriptor)
{
    char byte;
    if (is_second && receive_with_descriptor(&byte, sizeof byte) < 0)
        exit(6);
    send_done();
    exit(join());
}

/* A descriptor arrived, but not with the expected bytes. */
CASE(two_messages)
{
    char text[6] = "hello";
    if (is_second)
        receive_with_descriptor(text, sizeof text);
    send_with_descriptor("d", 1, STDERR_FILENO);
    send_bytes(text, sizeof text);
    exit(join());
}

CASE(not_here)
{
    if (is_second)
        receive_done();
    skip("this needs a time machine", cudaErrorNotSupported);
}

int main(int argc, char **argv)
{
    is_second = split();
    return run_case(argc, argv);
}
