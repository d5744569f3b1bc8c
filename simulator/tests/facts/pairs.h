/* What the probes of several processes share. A CASE is one process, and a CASE_OF_TWO an exporter
 * and an importer with a socket between them. Each has its lines for itself, so that they stand in
 * one order: "== CASE", the lines of the exporter, its "rc STATUS", those of the importer.
 *
 * Each process may take 15 seconds. Status 139: it died of SIGSEGV; 142: it hung. */
#ifndef PAIRS_H
#define PAIRS_H

#include "probe.h"

#include "messages.h"
#include <fcntl.h>

#define FD(number) (void *)(uintptr_t)(number), cudaMemHandleTypePosixFileDescriptor

/* Returns when the other process has ended and the driver has had time to see it. */
static inline void await_end(void)
{
    char byte;
    if (read(channel, &byte, 1) > 0)
        _exit(7);
    usleep(500000);
}

/* ---- an allocation of a pool that both processes use ---- */

static int fd = -1;         /* the descriptor that crosses */
static cudaMemPool_t p, im; /* the exporter's pool; the imported one */
static void *a, *q;         /* the exporter's memory; its address in the importer */
static struct cudaMemPoolPtrExportData x;

/* Exports the pool and allocates from it; the probe fills the memory before it sends it. */
static inline void share(cudaMemPool_t pool, size_t bytes)
{
    p = pool;
    cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0);
    cudaMallocFromPoolAsync(&a, bytes, p, s);
}

static inline void export_shared(void)
{
    cudaStreamSynchronize(s);
    cudaMemPoolExportPointer(&x, a);
}

static inline void send_shared(void)
{
    export_shared();
    send_descriptor(fd);
    send_bytes(&x, sizeof x);
}

static inline void receive_shared(void)
{
    fd = receive_descriptor();
    receive_bytes(&x, sizeof x);
}

static inline void import_shared(void)
{
    receive_shared();
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    cudaMemPoolImportPointer(&q, im, &x);
}

static inline int first_value(const void *memory)
{
    int value = 0;
    cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost);
    return value;
}

/* ---- two processes ---- */

/* A case of two: `exporter` is the function of the one process, and what follows that of the
 * other. */
#define IMPORTER(title, exporter)                  \
    static void title##_importer(void);            \
    CASE_OF_TWO(title, exporter, title##_importer) \
    static void title##_importer(void)

/* Starts one process of a pair. Its lines go to the file; the processes of other people's programs
 * have none. Returns -1 if there is no such process. */
static inline pid_t start(void (*body)(void), const int ends[2], int role, FILE *lines)
{
    pid_t process = body ? fork() : -1;
    if (process)
        return process;
    close(ends[!role]);
    channel = ends[role];
    alarm(15);
    if (lines) {
        dup2(fileno(lines), STDOUT_FILENO);
        shows_last_error = 0;
        cudaStreamCreate(&s);
    }
    body();
    if (!lines)
        _exit(0);
    puts("end");
    exit(0);
}

static inline void print_process(FILE *lines, const char *prefix, int status)
{
    char line[512];
    rewind(lines);
    while (fgets(line, sizeof line, lines))
        printf("%s%s", prefix, line);
    printf("rc %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static inline int run_pair(const struct named_case *c)
{
    int ends[2], status[2] = {0, 0};
    FILE *lines[2] = {tmpfile(), tmpfile()};
    pid_t process[2];
    static const char *const prefixes[] = {"[export] ", "[import] "};
    printf("== %s\n", c->name);
    if (!lines[0] || !lines[1] || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    for (int role = 0; role < 2; role++)
        process[role] = start(role ? c->other : c->run, ends, role, lines[role]);
    close(ends[0]);
    close(ends[1]);
    for (int role = 0; role < 2; role++)
        if (process[role] > 0)
            waitpid(process[role], &status[role], 0);
    for (int role = 0; role < 2; role++) {
        if (process[role] > 0)
            print_process(lines[role], c->other ? prefixes[role] : "", status[role]);
        fclose(lines[role]);
    }
    return 0;
}

/* Runs every case, or the one that the first argument names. */
static inline int run_pairs(int argc, char **argv)
{
    int failed = 0;
    for (const struct named_case *one = named_cases; one; one = one->next)
        if (argc < 2 || !strcmp(argv[1], one->name))
            failed |= run_pair(one);
    return failed;
}

/* ---- lines of other people's programs ----
 *
 * They stand as they were printed, without the name of the process, and how a process ended is said
 * only if that was not with 0. */

static inline int run_plain_pairs(void)
{
    for (const struct named_case *one = named_cases; one; one = one->next) {
        int ends[2], status = 0;
        printf("== %s\n", one->name);
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
            return 1;
        pid_t importer = start(one->other, ends, 1, NULL);
        pid_t exporter = start(one->run, ends, 0, NULL);
        close(ends[0]);
        close(ends[1]);
        if (importer > 0 && waitpid(importer, &status, 0) > 0)
            print_end(status, "");
        waitpid(exporter, &status, 0);
        print_end(status, "");
    }
    return 0;
}

#endif
