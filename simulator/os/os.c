/* The environment, messages, the end of the process, forks. */
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/write.h"

const char *os_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *os_environment_entry(size_t at) { return environ ? environ[at] : NULL; }

/* ---- messages ---- */

/* Linux sends SIGXFSZ to the thread that writes behind the end that a file may have (ulimit -f),
 * and it kills. The signal is blocked meanwhile and taken away, unless it was pending before. */
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

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char line[4608];
    int used = snprintf(line, sizeof line - 1, "%s", prefix);
    int more = vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    write_all(STDERR_FILENO, line, length);
}

void diag(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("simulated device: ", format, arguments);
    va_end(arguments);
}

void diag_report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

void os_fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("simulated device: ", format, arguments);
    va_end(arguments);
    fflush(NULL);
    _exit(1);
}

void os_exit(int status)
{
    fflush(NULL);
    _exit(status);
}

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

/* Needs the lock, which is held over the whole fork. */
static struct {
    void (*child_handler)(void);
    /* The thread that forks had the lock before: a signal handler of the program forks in the midst
     * of a call. */
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
    forks.child_handler();
    after_fork();
}

void os_after_fork(void (*handler)(void))
{
    forks.child_handler = handler;
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
