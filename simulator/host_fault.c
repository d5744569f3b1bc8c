/* Addresses that the process may not touch: the signal that says so, and what becomes of it. */
#define _GNU_SOURCE
#include "host.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

static bool (*judge_address)(const void *address, void *site);
static struct sigaction before_us[2];

/* What follows the instruction that was interrupted begins here, or behind; as a return address would say it. */
static void *instruction(void *context)
{
    const ucontext_t *c = context;
#if defined __x86_64__
    return (char *)c->uc_mcontext.gregs[REG_RIP] + 1;
#elif defined __aarch64__
    return (char *)c->uc_mcontext.pc + 1;
#else
    (void)c;
    return (char *)0 + 1;
#endif
}

static void bad_address(int number, siginfo_t *information, void *context)
{
    static _Thread_local volatile sig_atomic_t inside;
    if (!inside && information->si_code > 0) {
        inside = 1;
        if (judge_address(information->si_addr, instruction(context))) {
            inside = 0;
            return;
        }
    }
    struct sigaction *old = &before_us[number == SIGBUS];
    if (old->sa_flags & SA_SIGINFO && old->sa_sigaction) {
        old->sa_sigaction(number, information, context);
        return;
    }
    sigaction(number, old, NULL);      /* the faulting instruction runs again and now dies of the signal, */
    if (information->si_code <= 0) raise(number);      /* or the signal was sent and there is none */
}

void host_on_bad_address(bool (*judge)(const void *address, void *site))
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    judge_address = judge;
    ours.sa_sigaction = bad_address;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &ours, &before_us[0]);
    sigaction(SIGBUS, &ours, &before_us[1]);
}
