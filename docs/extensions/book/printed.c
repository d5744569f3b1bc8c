/* Which function of a program printed what: a library that printed.py loads before a program's own
 * (LD_PRELOAD). Each call that prints on stdout or stderr is made as usual, and written with its
 * bytes into the file PRINTED: "PROCESS STREAM BYTES CALLS OFFSET...", then the bytes. STREAM is 1
 * or 2; an OFFSET is that of a return address in the program itself, the innermost first.
 *
 * A process sleeps for 100 ms when it has received something from another one.
 *
 * CALLS is how many calls of CUDA the process had made by then, which is the last one's number in
 * its journal; 0: none, or the simulated device printed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 24, MOST = 1 << 16 };

/* The program's own code: the first object that is loaded. */
static struct {
    char *base, *from, *to;
} program;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    program.base = (char *)info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            program.from = program.base + info->dlpi_phdr[i].p_vaddr;
            program.to = program.from + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

/* `caller`: the innermost address that is not of this library. */
static unsigned calls_before(const char *caller)
{
    unsigned (*calls)(void) = (unsigned (*)(void))dlsym(RTLD_DEFAULT, "sim_calls");
    return calls && caller >= program.from && caller < program.to ? calls() : 0;
}

/* Is it an address of this library? */
static bool is_own(const void *address)
{
    Dl_info own, other;
    return dladdr((void *)is_own, &own) && dladdr(address, &other)
        && own.dli_fbase == other.dli_fbase;
}

static void note(FILE *stream, const char *text, size_t bytes)
{
    static int file = -1;
    const char *name = getenv("PRINTED");
    void *frames[FRAMES];
    char record[MOST];
    if (!name || (stream != stdout && stream != stderr) || bytes > MOST / 2)
        return;
    if (file < 0)
        file = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (!program.base)
        dl_iterate_phdr(find_program, NULL);
    int count = backtrace(frames, FRAMES);
    int first = 0;
    while (first < count && is_own(frames[first]))
        first++;
    int used =
        snprintf(record, sizeof record, "%d %d %zu %u", (int)getpid(), stream == stdout ? 1 : 2,
                 bytes, first < count ? calls_before(frames[first]) : 0);
    for (int i = 0; i < count; i++) {
        char *at = frames[i];
        if (at >= program.from && at < program.to)
            used += snprintf(record + used, 32, " %td", at - program.base);
    }
    record[used++] = '\n';
    memcpy(record + used, text, bytes);
    used += (int)bytes;
    /* One write: two processes may print at once. */
    if (write(file, record, (size_t)used) != used)
        abort();
}

int vfprintf(FILE *stream, const char *format, va_list arguments)
{
    char *text;
    int bytes = vasprintf(&text, format, arguments);
    if (bytes < 0)
        return bytes;
    note(stream, text, (size_t)bytes);
    bytes = (int)fwrite_unlocked(text, 1, (size_t)bytes, stream);
    free(text);
    return bytes;
}

int fprintf(FILE *stream, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = vfprintf(stream, format, arguments);
    va_end(arguments);
    return bytes;
}

int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = vfprintf(stdout, format, arguments);
    va_end(arguments);
    return bytes;
}

int vprintf(const char *format, va_list arguments) { return vfprintf(stdout, format, arguments); }

size_t fwrite(const void *from, size_t size, size_t count, FILE *stream)
{
    note(stream, from, size * count);
    return fwrite_unlocked(from, size, count, stream);
}

int fputs(const char *text, FILE *stream)
{
    note(stream, text, strlen(text));
    return (int)fwrite_unlocked(text, 1, strlen(text), stream);
}

int puts(const char *text)
{
    char *line; /* one piece, of any length: note writes down what one call has printed */
    int bytes = asprintf(&line, "%s\n", text);
    if (bytes < 0)
        return EOF;
    note(stdout, line, (size_t)bytes);
    bytes = (int)fwrite_unlocked(line, 1, (size_t)bytes, stdout);
    free(line);
    return bytes;
}

int fputc(int character, FILE *stream)
{
    char one = (char)character;
    note(stream, &one, 1);
    return fwrite_unlocked(&one, 1, 1, stream) == 1 ? character : EOF;
}

int putc(int character, FILE *stream) { return fputc(character, stream); }
int putchar(int character) { return fputc(character, stdout); }

/* A host that waits moves the device when its next call comes after half a millisecond of sleep,
 * and otherwise in some 20 ms (SIM_IDLE). Here each message arrives when both devices have moved,
 * so that a page shows the same run in nearly each build. A machine that is busy for 100 ms can
 * still change it, so no test compares two such runs. */
static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

ssize_t recv(int socket, void *to, size_t bytes, int flags)
{
    ssize_t (*real)(int, void *, size_t, int) = dlsym(RTLD_NEXT, "recv");
    ssize_t came = real(socket, to, bytes, flags);
    sleep_ms(100);
    return came;
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    ssize_t (*real)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
    ssize_t came = real(socket, message, flags);
    sleep_ms(100);
    return came;
}
