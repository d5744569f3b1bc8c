/* Handles the signals of accesses that the process may not make. */
#define _GNU_SOURCE
#include "os/os.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/needs_lock.h"

/* Written before the first fault and at a thread's first call, with the lock; read in signal
 * handlers, without it. Index 0 is SIGSEGV, 1 is SIGBUS. */
static struct {
    bool (*handler)(const void *address, void *site, bool in_program);
    struct sigaction ours;
    /* The handlers that were there at first, and those that the program has set since. */
    struct sigaction first[2], program[2];
    void (*stopped)(void *site, const char *call);
} faults;

static bool is_of_program(const void *code)
{
    Dl_info here, program;
    return dladdr(code, &here) && dladdr((void *)getauxval(AT_ENTRY), &program)
        && here.dli_fbase == program.dli_fbase;
}

/* Returns the place in the program, in the form of a return address: the interrupted instruction,
 * if it is the program's (`call` is then NULL), or the call of the library that the thread is in,
 * whose name is "" if it is unknown. */
static void *site_of(void *context, const char **call)
{
    const ucontext_t *c = context;
    void *frames[32];
#if defined __x86_64__
    char *here = (char *)c->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    char *here = (char *)c->uc_mcontext.pc;
#else
    char *here = NULL;
    (void)c;
#endif
    *call = NULL;
    if (is_of_program(here))
        return here + 1;
    *call = "";
    int count = backtrace(frames, 32);
    for (int i = 0; i < count; i++) {
        Dl_info library;
        if (is_of_program(frames[i]))
            return frames[i];
        if (dladdr(frames[i], &library) && library.dli_sname)
            *call = library.dli_sname;
    }
    return here + 1;
}

/* Passes the signal to the program's handler. That handler may pass it on to the handler it
 * replaced, which is ours; then the signal goes to the one that was there at first. */
static void forward_signal(int signo, siginfo_t *information, void *context)
{
    /* The stack grows down, so a deeper frame was called from `passing`. */
    static _Thread_local char *volatile passing;
    char here;
    bool is_passed_back = passing && &here < passing;
    struct sigaction *old = is_passed_back ? faults.first : faults.program;
    old += signo == SIGBUS;
    if (old->sa_flags & SA_SIGINFO && old->sa_sigaction) {
        passing = &here;
        old->sa_sigaction(signo, information, context);
        passing = NULL;
        return;
    }
    /* Runs the faulting instruction again, so that the process dies of the signal. A signal that a
     * process has sent has no such instruction. */
    sigaction(signo, old, NULL);
    if (information->si_code <= 0)
        raise(signo);
}

static void bad_address(int signo, siginfo_t *information, void *context)
{
    static _Thread_local volatile sig_atomic_t inside;
    bool go_on = false;
    const char *call;
    if (!inside && information->si_code > 0) {
        inside = 1;
        os_rest_exclude_begin();
        void *site = site_of(context, &call);
        go_on = faults.handler(information->si_addr, site, !call);
        inside = 0;
        if (go_on)
            os_rest_exclude_end();
    }
    if (!go_on)
        forward_signal(signo, information, context);
}

/* Sends the signal to the other threads, and gives them time for a message. */
static void signal_others(int signo)
{
    DIR *tasks = opendir("/proc/self/task");
    pid_t own = (pid_t)syscall(SYS_gettid);
    bool any = false;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        pid_t id = (pid_t)atoi(task->d_name);
        if (id > 0 && id != own)
            any |= !syscall(SYS_tgkill, getpid(), id, signo);
    }
    if (tasks)
        closedir(tasks);
    if (any)
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

/* The time is over (SIGXCPU): each thread says where it is, and then the process dies of that. */
static void out_of_time(int signo, siginfo_t *information, void *context)
{
    static volatile sig_atomic_t begun;
    static _Thread_local volatile sig_atomic_t said;
    const char *call;
    (void)information;
    if (said)
        return;
    said = 1;
    bool is_first = !begun;
    begun = 1;
    void *site = site_of(context, &call);
    faults.stopped(site, call);
    if (!is_first)
        return;
    signal_others(signo);
    signal(signo, SIG_DFL);
    raise(signo);
}

void os_on_time_over(void (*stopped)(void *site, const char *call))
{
    struct sigaction ours = {.sa_sigaction = out_of_time, .sa_flags = SA_SIGINFO}, now;
    faults.stopped = stopped;
    if (!sigaction(SIGXCPU, NULL, &now) && now.sa_handler == SIG_DFL)
        sigaction(SIGXCPU, &ours, NULL);
}

void os_expect_faults(void)
{
    NEEDS_LOCK();
    sigset_t both;
    sigemptyset(&both);
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        int signo = i ? SIGBUS : SIGSEGV;
        sigaddset(&both, signo);
        if (sigaction(signo, NULL, &now) || now.sa_sigaction == bad_address)
            continue;
        faults.program[i] = now;
        sigaction(signo, &faults.ours, NULL);
    }
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
}

void os_on_bad_address(bool (*handler)(const void *address, void *site, bool in_program))
{
    void *frame;
    /* The first call of backtrace loads a library, which is not allowed in a signal handler. */
    (void)backtrace(&frame, 1);
    faults.handler = handler;
    faults.ours.sa_sigaction = bad_address;
    faults.ours.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &faults.ours, &faults.program[0]);
    sigaction(SIGBUS, &faults.ours, &faults.program[1]);
    faults.first[0] = faults.program[0];
    faults.first[1] = faults.program[1];
}
