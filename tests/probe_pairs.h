/* What a probe of several processes needs: each case is one process or two, with a socket between them; each has its lines for itself, so that they
 * stand in one order: "== CASE", the lines of the one process or of the exporter and then of the importer, "rc STATUS" of each.
 *
 * Each process may take 15 seconds; 139: it died of SIGSEGV, 142: it hung. */
#ifndef PROBE_PAIRS_H
#define PROBE_PAIRS_H

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels.h"

#define MiB ((size_t)1 << 20)
#define ASK(call) do { cudaError_t answer = (call); printf("%-96s -> %s\n", #call, cudaGetErrorName(answer)); fflush(stdout); cudaGetLastError(); } while (0)
#define SAY(...) do { printf("  "); printf(__VA_ARGS__); putchar('\n'); fflush(stdout); } while (0)
#define FD(number) (void *)(uintptr_t)(number), cudaMemHandleTypePosixFileDescriptor

struct pair { const char *name; void (*one)(void), (*two)(void); };

static int other;                      /* the socket to the other process */
static cudaStream_t s;
static int fd = -1;                    /* the one that crosses */

/* ---- between the two ---- */

static inline void put(const void *bytes, size_t n) { if (write(other, bytes, n) != (ssize_t)n) _exit(9); }
static inline void get(void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t more = read(other, (char *)bytes + done, n - done);
        if (more <= 0) _exit(8);
        done += (size_t)more;
    }
}
static inline void tell(void) { put("x", 1); }
static inline void hear(void) { char c; get(&c, 1); }
static inline void hear_the_end(void) { char c; if (read(other, &c, 1) > 0) _exit(7); usleep(500000); }

static inline void put_descriptor(void)
{
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    struct iovec data = { "d", 1 };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    if (sendmsg(other, &message, 0) != 1) _exit(9);
}

static inline void get_descriptor(void)
{
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control;
    char c;
    struct iovec data = { &c, 1 };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    if (recvmsg(other, &message, 0) != 1) _exit(8);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
}

/* ---- the cases ---- */

static inline int run_pair(const struct pair *c)
{
    int ends[2], status[2] = { 0, 0 };
    FILE *lines[2] = { tmpfile(), tmpfile() };
    pid_t process[2] = { 0, 0 };
    printf("== %s\n", c->name);
    fflush(stdout);
    if (!lines[0] || !lines[1] || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    for (int side = 0; side < 2; side++) {
        void (*body)(void) = side ? c->two : c->one;
        if (!body || (process[side] = fork())) continue;
        dup2(fileno(lines[side]), STDOUT_FILENO);
        other = ends[side];
        close(ends[!side]);
        alarm(15);
        cudaStreamCreate(&s);
        body();
        puts("end");
        exit(0);
    }
    close(ends[0]);
    close(ends[1]);
    for (int side = 0; side < 2; side++) {
        if (!process[side]) continue;
        waitpid(process[side], &status[side], 0);
    }
    for (int side = 0; side < 2; side++) {
        char line[512];
        rewind(lines[side]);
        while (process[side] && fgets(line, sizeof line, lines[side])) printf("%s%s", !c->two ? "" : side ? "[import] " : "[export] ", line);
        if (process[side]) printf("rc %d\n", WIFEXITED(status[side]) ? WEXITSTATUS(status[side]) : 128 + WTERMSIG(status[side]));
        fclose(lines[side]);
    }
    fflush(stdout);
    return 0;
}

#endif
