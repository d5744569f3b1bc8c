/* Another process while it ends. While Linux frees its memory, it is no zombie yet, but an ordinary
 * user can no longer open its files. It must not be taken for a process that stays and whose files
 * cannot be opened. Also a process that ends with a lock that others wait for. Linked with the
 * simulated device's own parts.
 *
 * Exit status: 0, or 1 with a sentence. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "os/process.h"

#define BYTES ((size_t)256 << 20)

static void *wait_for_the_end(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Sends its identity and the number of a file, and ends when it may. Never returns. */
static void child(int out, int in, bool threads)
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
        child(from[1], to[0], threads);
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

int main(void)
{
    alarm(60);
    /* Root can always open all files. */
    if (!geteuid() && (setgid(65534) || setuid(65534)))
        return 2;
    prctl(PR_SET_DUMPABLE, 1);
    for (int i = 0; i < 6; i++)
        if (!ends_well(i % 2))
            return 1;
    return !is_given_on();
}
