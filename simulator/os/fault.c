/* Handles the signals of touches that the process may not make. */
#define _GNU_SOURCE
#include "os/os.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "os/needs_lock.h"

/* Written before the first fault and at a thread's first call, with the lock; read in signal
 * handlers, without it. Index 0 is SIGSEGV, 1 is SIGBUS. */
static struct {
    bool (*handler)(const void *address, void *site, bool in_program);
    struct sigaction ours;
    /* The handlers that were there at first, and those that the program has set since. */
    struct sigaction first[2], program[2];
} faults;

static bool is_of_program(const void *code)
{
    Dl_info here, program;
    return dladdr(code, &here) && dladdr((void *)getauxval(AT_ENTRY), &program)
        && here.dli_fbase == program.dli_fbase;
}

/* Returns the place in the program, in the form of a return address: the interrupted instruction,
 * if it is the program's (`in_program` is then set), or the call of the library that the thread is
 * in. */
static void *site_of(void *context, bool *in_program)
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
    *in_program = is_of_program(here);
    if (*in_program)
        return here + 1;
    int count = backtrace(frames, 32);
    for (int i = 0; i < count; i++)
        if (is_of_program(frames[i]))
            return frames[i];
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
    /* The faulting instruction runs again, and the process dies of the signal. A signal that was
     * sent has no such instruction. */
    sigaction(signo, old, NULL);
    if (information->si_code <= 0)
        raise(signo);
}

static void bad_address(int signo, siginfo_t *information, void *context)
{
    static _Thread_local volatile sig_atomic_t inside;
    bool go_on = false, in_program;
    if (!inside && information->si_code > 0) {
        inside = 1;
        os_rest_exclude_begin();
        void *site = site_of(context, &in_program);
        go_on = faults.handler(information->si_addr, site, in_program);
        inside = 0;
        if (go_on)
            os_rest_exclude_end();
    }
    if (!go_on)
        forward_signal(signo, information, context);
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
