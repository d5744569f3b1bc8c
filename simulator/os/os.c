/* Writing to a descriptor, the end of the program, and forks. */
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/write.h"

/* ---- writing ---- */

/* Blocks SIGXFSZ, which Linux sends to a thread that writes beyond the file size limit (ulimit -f),
 * and which kills. A signal that arrives meanwhile is removed, unless it was pending before. */
struct blocked_signal {
    sigset_t before;
    bool was_pending;
};

static void block_file_signal(const sigset_t *signal, struct blocked_signal *state)
{
    sigset_t pending;
    state->was_pending = !sigpending(&pending) && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, signal, &state->before);
}

static void unblock_file_signal(const sigset_t *signal, const struct blocked_signal *state)
{
    int error = errno;
    if (!state->was_pending && error == EFBIG)
        sigtimedwait(signal, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &state->before, NULL);
    errno = error;
}

bool write_all(int descriptor, const char *text, size_t length)
{
    sigset_t signal;
    struct blocked_signal state;
    size_t done = 0;
    sigemptyset(&signal);
    sigaddset(&signal, SIGXFSZ);
    block_file_signal(&signal, &state);
    while (done < length) {
        ssize_t n = write(descriptor, text + done, length - done);
        if (n <= 0 && (n == 0 || errno != EINTR))
            break;
        if (n > 0)
            done += (size_t)n;
    }
    unblock_file_signal(&signal, &state);
    return done == length;
}

/* ---- the end of the program ---- */

/* Set once. */
static void (*exit_handler)(int status);

static void program_exits(int status, void *unused)
{
    (void)unused;
    exit_handler(status);
}

void os_at_exit(void (*handler)(int status))
{
    exit_handler = handler;
    on_exit(program_exits, NULL);
}

/* ---- forks ---- */

/* Needs the lock, which is held during the whole fork. */
static struct {
    void (*child_handler)(void);
    /* Whether the forking thread already had the lock, because a signal handler of the program
     * forks in the middle of a call. */
    bool had_lock;
} forks;

static void before_fork(void)
{
    bool has = lock_is_held();
    if (!has)
        lock_acquire();
    forks.had_lock = has;
}

static void after_fork(void)
{
    if (!forks.had_lock)
        lock_release();
}

static void after_fork_in_child(void)
{
    lock_forked();
    forks.child_handler();
    after_fork();
}

void os_after_fork(void (*handler)(void))
{
    forks.child_handler = handler;
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
