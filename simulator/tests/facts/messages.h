/* Messages between two processes that have a socket between them, of probes and of tests. Where the
 * other one has ended, so does this one: with status 8 if it waits for a message, and with 9 if it
 * sends one. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int channel; /* the socket to the other process */

static inline void send_bytes(const void *bytes, size_t n)
{
    if (write(channel, bytes, n) != (ssize_t)n)
        _exit(9);
}

static inline void receive_bytes(void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t more = read(channel, (char *)bytes + done, n - done);
        if (more <= 0)
            _exit(8);
        done += (size_t)more;
    }
}

/* The two take turns: one goes on when the other has passed the turn. */
static inline void pass_turn(void) { send_bytes("x", 1); }

static inline void await_turn(void)
{
    char byte;
    receive_bytes(&byte, 1);
}

/* The other one goes on until it passes the turn back. */
static inline void take_turns(void)
{
    pass_turn();
    await_turn();
}

/* A descriptor crosses as a message of its own. */
static inline void send_descriptor(int descriptor)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct iovec data = {"d", 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    if (sendmsg(channel, &message, 0) != 1)
        _exit(9);
}

static inline int receive_descriptor(void)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    int descriptor;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(channel, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
        _exit(8);
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

#endif
