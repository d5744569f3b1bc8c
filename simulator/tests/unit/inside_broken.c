/* Breaks something on which the simulated device relies, or lets another process end: inside_broken
 * NAME. Linked with the simulated device's own parts. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cases.h"

#include "base/handle.h"
#include "check/checker.h"
#include "graph/graph_memory.h"
#include "ipc/ipc_memory.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "os/os.h"
#include "os/process.h"
#include "run/commands.h"
#include "sched/stream.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define CLOSE(from, bytes) __asan_poison_memory_region(from, bytes)
#else
#define CLOSE(from, bytes) (void)0
#endif

/* ---- a law of its memory: with SIM_CHECK_LAWS=1 the next call ends the process ---- */

static struct pool *pool;

static void break_law(void (*break_it)(void))
{
    const size_t bytes = (size_t)40 << 20;
    void *p, *q, *plain;
    if (cudaMallocAsync(&p, bytes, NULL) || cudaMallocAsync(&q, bytes, NULL)
        || cudaMalloc(&plain, bytes))
        os_exit(2);
    lock_acquire();
    pool = pool_default(0);
    break_it();
    lock_release();
    cudaGetLastError();
    puts("returned");
    os_exit(0);
}

#define LAW(title, breaks)                                      \
    static void break_##title(void) { breaks; }                 \
    static void law_##title(void) { break_law(break_##title); } \
    LIST_CASE(title, law_##title)

LAW(segments, pool->heap.mapped_count++)
LAW(watermark, pool->used_high = pool->used - 1)
LAW(capped, pool->policy.max_segments = 1)
LAW(ranges, pool->heap.first->next->previous = NULL)
LAW(plain_heap, memory_heap(0)->mapped_count--)
LAW(account, device_take(0, 1))
LAW(nothing, (void)0)

/* ---- a room's function is called without the lock or, with a second argument, with it: in a
 * sanitizer build that ends the process (simulator/os/needs_lock.h) ---- */

static int with_lock;

static void call_unlocked(void (*call)(void))
{
    if (cudaFree(0)) /* the first call of the process reads the settings */
        os_exit(2);
    if (with_lock)
        lock_acquire();
    call();
    if (with_lock)
        lock_release();
    puts("returned");
}

#define ROOM(title, call)                                           \
    static void call_##title(void) { call; }                        \
    static void room_##title(void) { call_unlocked(call_##title); } \
    LIST_CASE(title, room_##title)

ROOM(os, os_process())
ROOM(base, handle_state(HANDLE_POOL, NULL))
ROOM(sched, stream_first())
ROOM(check, checker_newest_allocation())
ROOM(mem, pool_first())
ROOM(run, command_blocking_copy_wait(NULL, NULL))
ROOM(graph, graph_segments_figures(0))
ROOM(ipc, ipc_pool_count_open())

/* ---- a frame pointer may be any number: here it points to memory that the address sanitizer has
 * closed ---- */

CASE(frame)
{
    /* What looks like a frame: the caller's frame and the return address. */
    static _Alignas(16) void *frames[64];
    frames[0] = &frames[32];
    frames[1] = (void *)(uintptr_t)0x1000;
    CLOSE(&frames[32], 16 * sizeof *frames);
    lock_acquire();
    void *site = os_call_site((void *)(uintptr_t)0x2000, frames);
    lock_release();
    puts(site ? "a site" : "none");
}

/* ---- another process while it ends ----
 *
 * While Linux frees its memory, it is no zombie yet, but an ordinary user can no longer open its
 * files. It must not be taken for a process that stays and whose files cannot be opened. Also a
 * process that ends with a lock for which others wait. The exit status is 0, or 1 with a
 * sentence. */

#define BYTES ((size_t)256 << 20)

static void *wait_for_the_end(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Sends its identity and the number of a file, and ends when it may. Never returns. */
static void be_child(int out, int in, bool threads)
{
    char *memory = malloc(BYTES), byte;
    pthread_t thread;
    lock_acquire();
    uint64_t self = os_process();
    int file = os_memfd_new();
    lock_release();
    for (int i = 0; threads && i < 20; i++)
        if (pthread_create(&thread, NULL, wait_for_the_end, NULL))
            _exit(2);
    memset(memory, 1, BYTES);
    if (write(out, &self, sizeof self) != sizeof self || write(out, &file, sizeof file) < 0)
        _exit(2);
    _exit(read(in, &byte, 1) != 0);
}

/* Returns false if the process was said to stay although its file could not be opened. */
static bool ends_well(bool threads)
{
    int from[2], to[2], file, opened = 0;
    uint64_t process;
    if (pipe(from) || pipe(to))
        exit(2);
    pid_t pid = fork();
    if (!pid) {
        close(to[1]);
        be_child(from[1], to[0], threads);
    }
    close(from[1]);
    if (read(from[0], &process, sizeof process) != sizeof process
        || read(from[0], &file, sizeof file) != sizeof file)
        exit(2);
    lock_acquire();
    for (;; opened++) {
        int fd = os_fd_of_process(process, file);
        if (fd < 0)
            break;
        os_fd_close(fd);
        if (opened == 10)
            close(to[1]);
    }
    bool stays = os_process_stays(process);
    lock_release();
    waitpid(pid, NULL, 0);
    close(from[0]);
    if (opened < 10)
        printf("The file of a process that waits was opened %d times only.\n", opened);
    else if (stays)
        puts("A process that was ending was said to stay.");
    return opened >= 10 && !stays;
}

/* Returns false if another process gets a lock that its owner left locked. If none gets it, the
 * program is killed. */
static bool is_given_on(void)
{
    uint64_t *lock =
        mmap(NULL, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lock == MAP_FAILED)
        exit(2);
    pid_t pid = fork();
    lock_acquire();
    os_shm_lock(lock);
    if (!pid)
        _exit(0);
    /* The child may get it first, and end with it. */
    bool is_own = *lock == os_process();
    os_shm_unlock(lock);
    waitpid(pid, NULL, 0);
    os_shm_lock(lock);
    is_own &= *lock == os_process();
    os_shm_unlock(lock);
    is_own &= !*lock;
    lock_release();
    if (!is_own)
        puts("A lock was taken, and is another's.");
    return is_own;
}

CASE(process_ending)
{
    alarm(60);
    /* Root can always open all files. */
    if (!geteuid() && (setgid(65534) || setuid(65534)))
        exit(2);
    prctl(PR_SET_DUMPABLE, 1);
    bool is_good = true;
    for (int i = 0; is_good && i < 6; i++)
        is_good = ends_well(i % 2);
    exit(!is_good || !is_given_on());
}

int main(int argc, char **argv)
{
    with_lock = argc > 2;
    return run_case(argc, argv);
}
