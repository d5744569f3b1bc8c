/* Runs a program like strace, stopping its first thread before and after each system call: traced
 * PROGRAM [ARGUMENT...]. Ends with its exit status, or with 77 and a sentence where no process may
 * trace another. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status, signal = 0;
    pid_t child = argc > 1 ? fork() : -1;
    if (child < 0)
        return 2;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
            printf("this machine lets no process trace another (ptrace)\n");
            fflush(stdout);
            _exit(77);
        }
        execv(argv[1], argv + 1);
        _exit(2);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (ptrace(PTRACE_SYSCALL, child, NULL, signal))
            return 2;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
