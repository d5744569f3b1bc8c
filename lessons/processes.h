/* A second process, for lessons 16 and 17.
 *
 * split() makes it and a socket between the two. send_bytes() sends bytes; receive_bytes() waits
 * until they have arrived. A process that waits prints nothing, so what the two print has one
 * order. When one of them ends early, or sends nothing for SILENCE seconds, the other prints that
 * and ends with status 1. The first does not exit before the second, and the second ends when the
 * first has died.
 *
 * A lesson defines _GNU_SOURCE before its first include: the C standard has no processes. */
#ifndef PROCESSES_H
#define PROCESSES_H

#ifndef _GNU_SOURCE
#error "processes.h: put #define _GNU_SOURCE before the first #include of your program"
#endif

#include "workbook.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SILENCE
#define SILENCE 15
#endif

static int other;    /* the socket to the other process */
static pid_t second; /* in the first process: the second one. 0 in the second */

/* Only what a signal handler may do. */
static inline void say_of_other(const char *what)
{
    const char *who = second ? "first process: the second one " : "second process: the first one ";
    if (write(STDERR_FILENO, who, strlen(who)) > 0 && write(STDERR_FILENO, what, strlen(what)) > 0)
        return;
}

static inline void on_signal(int number)
{
    say_of_other(number == SIGHUP ? "has died.\n"
                                  : "has sent nothing for too long. Does each wait for the other, "
                                    "or does the device wait forever?\n");
    _exit(1);
}

static inline void lost(void)
{
    say_of_other("has ended before it sent what was expected.\n");
    exit(1);
}

static inline void unexpected(void)
{
    say_of_other("has sent another message than the one expected.\n");
    exit(1);
}

static inline void send_bytes(const void *data, size_t bytes)
{
    alarm(SILENCE);
    if (send(other, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        lost();
}

static inline void receive_bytes(void *data, size_t bytes)
{
    alarm(SILENCE);
    if (recv(other, data, bytes, MSG_WAITALL) != (ssize_t)bytes)
        lost();
}

/* A message of one byte, whose arrival is all that matters. */
static inline void send_done(void) { send_bytes("d", 1); }

static inline void receive_done(void)
{
    char byte;
    receive_bytes(&byte, sizeof byte);
}

/* What a message can carry next to its bytes (a control message): a header, and room for one
 * descriptor after it. cmsg(3) describes its macros. */
union control_message {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

/* Waits for one message of `bytes` bytes. Returns the descriptor that came with it, which has a
 * number of this process; -1 when the message carried none. */
static inline int receive_with_descriptor(void *data, size_t bytes)
{
    union control_message control;
    struct iovec part = {data, bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int descriptor = -1;
    alarm(SILENCE);
    ssize_t came = recvmsg(other, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC);
    if (came <= 0)
        lost();
    if (came != (ssize_t)bytes)
        unexpected();
    if (CMSG_FIRSTHDR(&message) != NULL)
        memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

/* For the first process: waits until the second has ended. Returns its exit status, or 1 when a
 * signal killed it. */
static inline int join(void)
{
    int status = 0;
    if (other >= 0)
        close(other);
    other = -1;
    if (waitpid(second, &status, 0) != second)
        return 0; /* it was joined before */
    if (WIFSIGNALED(status))
        fprintf(stderr, "first process: the second one died of signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static inline void join_at_exit(void) { join(); }

/* Makes the second process; returns 1 there, and 0 in the first. Call it before the first CUDA
 * call: CUDA that was initialized before a fork is of no use in the child. */
static inline int split(void)
{
    int ends[2];
    pid_t first = getpid();
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, on_signal);
    signal(SIGHUP, on_signal);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || (second = fork()) < 0) {
        perror("a second process");
        exit(1);
    }
    if (second != 0) {
        signal(SIGHUP, SIG_DFL);
        atexit(join_at_exit);
    } else {
        prctl(PR_SET_PDEATHSIG, SIGHUP);
        if (getppid() != first)
            raise(SIGHUP); /* the first process died before prctl took effect */
    }
    other = ends[second == 0];
    close(ends[second != 0]);
    return second == 0;
}

/* For the first process, before it has sent anything: this machine lacks what the lesson needs. */
static inline void skip(const char *what, cudaError_t result)
{
    if (second > 0 && kill(second, SIGKILL) == 0)
        waitpid(second, NULL, 0);
    printf("skipped: %s: %s\n", what, cudaGetErrorName(result));
    exit(77);
}

/* The handle type of the lessons. */
#define BY_DESCRIPTOR cudaMemHandleTypePosixFileDescriptor

#endif
