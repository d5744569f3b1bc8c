/* What the lessons share: CHECK, an argument in MiB, the figures of a pool, a gate for launch_hold, a second process.
 *
 * Exit statuses of every lesson: 0 all is well; 1 a CUDA call failed or the program found something wrong;
 * 2 a bad argument; 3 (simulated device only) a hazard: an access that the stream order does not allow; 77 skipped: this
 * machine has not what the lesson needs, and a line says what. Lines printed with a "~" in front depend on the machine. */
#ifndef WORKBOOK_H
#define WORKBOOK_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MiB ((size_t)1 << 20)

/* CHECK(call): every CUDA call answers with an error code. Anything but cudaSuccess ends the program here. */
#define CHECK(call) check((call), #call, __FILE__, __LINE__)

static inline void check(cudaError_t answer, const char *call, const char *file, int line)
{
    if (answer == cudaSuccess)
        return;
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(answer), cudaGetErrorString(answer));
    exit(1);
}

/* The program's one argument, a whole number of MiB that the device could hold, or `fallback` when there is none. */
static inline size_t mib_argument(int argc, char **argv, size_t fallback)
{
    if (argc < 2)
        return fallback;
    size_t free_bytes, total_bytes;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    size_t most = total_bytes / MiB, mib = 0;
    const char *digit = argv[1];
    while (*digit >= '0' && *digit <= '9' && mib <= most)
        mib = mib * 10 + (size_t)(*digit++ - '0');
    if (argc > 2 || *digit != '\0' || mib < 1 || mib > most) {
        fprintf(stderr, "%s: \"%s\" is not the one size that it takes: give a whole number of MiB from 1 to %zu, "
                "or nothing for %zu\n", argv[0], argv[argc > 2 ? 2 : 1], most, fallback);
        exit(2);
    }
    return mib;
}

/* The pool attributes that are 64-bit numbers: the threshold and the four statistics. */
static inline uint64_t pool_get(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = 0;
    CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static inline void pool_set(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, uint64_t value)
{
    CHECK(cudaMemPoolSetAttribute(pool, attribute, &value));
}

/* The pool attributes that are ints: the three reuse policies. */
static inline int pool_get_flag(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    int value = 0;
    CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static inline void pool_set_flag(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, int value)
{
    CHECK(cudaMemPoolSetAttribute(pool, attribute, &value));
}

/* Reserved: physical memory that the pool holds. Used: what its live blocks asked for. Both in MiB. */
static inline size_t reserved_mib(cudaMemPool_t pool)
{
    return (size_t)pool_get(pool, cudaMemPoolAttrReservedMemCurrent) / MiB;
}

static inline size_t used_mib(cudaMemPool_t pool)
{
    return (size_t)pool_get(pool, cudaMemPoolAttrUsedMemCurrent) / MiB;
}

/* A new pool on device 0 with every attribute at its default. Lesson 05 does this by hand. */
static inline cudaMemPool_t pool_create(void)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

/* A gate for launch_hold: a stream that holds at it does nothing more until the host opens it.
 * Create it before the first hold; destroy it after the streams that held at it were synchronised. */
static inline volatile int *gate_create(void)
{
    void *gate;
    CHECK(cudaHostAlloc(&gate, sizeof(int), cudaHostAllocMapped));
    *(volatile int *)gate = 0;
    return gate;
}

static inline void gate_open(volatile int *gate)
{
    *gate = 1;
}

static inline void gate_destroy(volatile int *gate)
{
    CHECK(cudaFreeHost((void *)gate));
}

/* ---- A second process: for lessons that define _GNU_SOURCE before their first include ----
 *
 * split() makes it, and a socket between the two. tell() sends bytes, hear() waits for them: who hears does nothing else,
 * so what the two print has one order. When one of them ends early, or has not been heard of for SILENCE seconds, the
 * other says so and ends with status 1. The first does not exit before the second, and the second dies with the first. */
#ifdef _GNU_SOURCE

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SILENCE
#define SILENCE 15
#endif

static int other;                       /* the socket to the other process */
static pid_t second;                    /* in the first process: the second one. 0 in the second */

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
                 : "has not been heard of for too long. Does each wait for the other, or the device for ever?\n");
    _exit(1);
}

static inline void lost(void)
{
    say_of_other("has ended before it said what was waited for.\n");
    exit(1);
}

static inline void tell(const void *data, size_t bytes)
{
    alarm(SILENCE);
    if (send(other, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        lost();
}

static inline void hear(void *data, size_t bytes)
{
    alarm(SILENCE);
    if (recv(other, data, bytes, MSG_WAITALL) != (ssize_t)bytes)
        lost();
}

/* For the first process: waits until the second has ended; its exit status, or 1 when a signal killed it. */
static inline int join(void)
{
    int status = 0;
    if (other >= 0)
        close(other);
    other = -1;
    if (waitpid(second, &status, 0) != second)
        return 0;                       /* it was waited for before */
    if (WIFSIGNALED(status))
        fprintf(stderr, "first process: the second one died of signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static inline void join_at_exit(void)
{
    join();
}

/* Two processes from here on; 1 in the second. It comes before the first CUDA call: after one, none works in a child. */
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
            raise(SIGHUP);              /* it died before it was watched */
    }
    other = ends[second == 0];
    close(ends[second != 0]);
    return second == 0;
}

/* For the first process, before the second was told anything: this machine has not what the lesson needs. */
static inline void skip(const char *what, cudaError_t answer)
{
    if (second > 0 && kill(second, SIGKILL) == 0)
        waitpid(second, NULL, 0);
    printf("skipped: %s: %s\n", what, cudaGetErrorName(answer));
    exit(77);
}

#define BY_DESCRIPTOR cudaMemHandleTypePosixFileDescriptor

/* For the first process: a pool on device 0 that another process can get by a file descriptor. A pool that is made for
 * no handle type, as lesson 05 makes it, cannot be shared. */
static inline cudaMemPool_t pool_to_share(void)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = BY_DESCRIPTOR;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    cudaMemPool_t pool;
    cudaError_t made = cudaMemPoolCreate(&pool, &props);
    if (made != cudaSuccess)
        skip("no pool can be made for file descriptors here (cudaMemPoolCreate)", made);
    return pool;
}

/* The last int of a block, once the stream has got so far. */
static inline int last_of(const int *block, size_t count, cudaStream_t stream)
{
    int value = 0;
    CHECK(cudaMemcpyAsync(&value, block + count - 1, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return value;
}

/* Lesson 13 writes these two by hand. A descriptor travels beside at least one byte. */
static inline void tell_descriptor(int descriptor)
{
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct iovec data = {&descriptor, sizeof descriptor};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1,
                             .msg_control = &control, .msg_controllen = sizeof control};
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    alarm(SILENCE);
    if (sendmsg(other, &message, MSG_NOSIGNAL) < 0)
        lost();
}

static inline int hear_descriptor(void)
{
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
    int descriptor = -1;
    struct iovec data = {&descriptor, sizeof descriptor};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1,
                             .msg_control = &control, .msg_controllen = sizeof control};
    alarm(SILENCE);
    if (recvmsg(other, &message, MSG_CMSG_CLOEXEC) <= 0 || CMSG_FIRSTHDR(&message) == NULL)
        lost();
    memcpy(&descriptor, CMSG_DATA(&control.head), sizeof descriptor);
    return descriptor;
}

#endif

#endif
