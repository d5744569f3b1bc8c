/* The seccomp filter that limits a graded run, and the receipts of its journals.
 *
 * SIM_SEAL=FD, or FD:exec. FD is a file without a name that the program can use. It has one line
 * for each journal, a secret of 16 characters, and is read and emptied before main. A receipt
 * repeats its secret, so a program that finds the descriptor still cannot forge one. With ":exec"
 * the program may start itself again, and nothing else. Each process started in that way gets the
 * environment of the first one, whatever the program did to its own, and the file is left as it is
 * for it. */
#define _GNU_SOURCE
#include "os/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/os.h"
#include "os/write.h"

/* Linux may know calls that the headers do not (those of glibc 2.28 and Linux 4.18). Their numbers
 * are the same on every machine. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

#define SECRET 16

/* Keeps a function from being inlined or duplicated, because its instruction has a name. */
#ifdef __clang__
#define ONCE __attribute__((noinline, optnone))
#else
#define ONCE __attribute__((noinline, noclone))
#endif

/* Set before main, and constant from then on. */
static struct {
    bool closed;
    int receipts;
    char secrets[SEAL_PROCESSES * (SECRET + 1)];
    /* With ":exec", the environment of a restarted process; otherwise NULL. */
    char **environment;
    /* The grader's settings, for the receipt. */
    const char *settings;
    /* The program's own code, from its first byte to the end. */
    uintptr_t code, code_end;
} seal;

/* The linker's names for the first byte of the library in memory, and for its end. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* A page whose address is the same in every process, so that the filter, which an exec inherits,
 * allows the paths in it everywhere. A filter sees only the address of a path, never its text.
 * Since the program knows the address too, only seal_path can write the page. */
#define PATH_PAGE ((char *)0x2000000000)
/* PATH_MAX: no path is longer, and no page is smaller. */
#define PATH_BYTES 4096
static char path_of_others[PATH_BYTES];

bool seal_is_closed(void) { return seal.closed; }

/* Makes a system call by an instruction of the library, because the program cannot replace that as
 * it can replace a function. The filter recognizes the address after the instruction,
 * seal_behind_call. Returns what Linux returns: negative for an error. */
extern const char seal_behind_call[] __attribute__((visibility("hidden")));
#define BEHIND_CALL "\n.globl seal_behind_call\n.hidden seal_behind_call\nseal_behind_call:"

ONCE static long call_linux(long number, long a, long b, long c, long d)
{
#if defined __x86_64__
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = 0;
    __asm__ volatile("syscall" BEHIND_CALL
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return number;
#elif defined __aarch64__
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                     x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = 0;
    __asm__ volatile("svc 0" BEHIND_CALL
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
                     : "memory");
    return x0;
#else
    __asm__ volatile(BEHIND_CALL);
    return -ENOSYS;
#endif
}

const char *seal_path(const char *format, ...)
{
    char *path = seal.closed ? PATH_PAGE : path_of_others;
    va_list values;
    if (seal.closed && call_linux(SYS_mprotect, (long)path, (long)PAGE, PROT_READ | PROT_WRITE, 0))
        os_fatal("a path cannot be written.");
    va_start(values, format);
    vsnprintf(path, PATH_BYTES, format, values);
    va_end(values);
    if (seal.closed)
        call_linux(SYS_mprotect, (long)path, (long)PAGE, PROT_READ, 0);
    return path;
}

/* ---- the filter ---- */

/* Calls, and what the message says about them. */
struct calls {
    const char *words;
    /* Ends with a 0. */
    long numbers[8];
};

/* Calls that are always refused. */
static const struct calls closed[] = {
    {"starts another program", {SYS_execveat}},
    {"renames a file", {SYS_renameat2}},
    {"makes a link", {SYS_linkat, SYS_symlinkat}},
    {"removes a file", {SYS_unlinkat}},
    {"makes a folder", {SYS_mkdirat}},
    {"makes a device or a pipe in a folder", {SYS_mknodat}},
    {"changes a file", {SYS_truncate, SYS_utimensat}},
    {"changes who may use a file", {SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat}},
    {"looks into another process", {SYS_ptrace, SYS_process_vm_readv}},
    {"writes into another process", {SYS_process_vm_writev}},
    {"takes a descriptor of another process", {SYS_pidfd_getfd}},
    {"signals another process", {SYS_pidfd_send_signal}},
    {"changes what is mounted", {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot}},
    {"makes a namespace", {SYS_unshare}},
    {"enters a namespace", {SYS_setns}},
    {"loads code into Linux", {SYS_bpf, SYS_init_module, SYS_finit_module}},
    {"measures other processes", {SYS_perf_event_open}},
    {"handles page faults by itself", {SYS_userfaultfd}},
    {"makes system calls through a ring", {SYS_io_uring_setup}},
    {"uses the keys of Linux", {SYS_keyctl, SYS_add_key}},
    {"leaves memory behind", {SYS_shmget}},
    {"puts other memory in the place of its own", {SYS_shmat, SYS_remap_file_pages}},
    {"changes the simulated device", {SYS_process_madvise}},
    {"leaves a queue behind", {SYS_msgget, SYS_mq_open}},
    {"leaves a semaphore behind", {SYS_semget}},
#ifdef SYS_rename
    {"opens a file for writing", {SYS_creat, SYS_open}},
    {"renames a file", {SYS_rename, SYS_renameat}},
    {"makes a link", {SYS_link, SYS_symlink}},
    {"removes a file", {SYS_unlink}},
    {"removes a folder", {SYS_rmdir}},
    {"makes a folder", {SYS_mkdir}},
    {"makes a device or a pipe in a folder", {SYS_mknod}},
    {"changes who may use a file", {SYS_chmod, SYS_chown, SYS_lchown}},
    {"changes a file", {SYS_utime, SYS_utimes, SYS_futimesat}},
#endif
};

/* Calls that are refused in some uses, by the rules below. */
static const struct calls limited[] = {
    {"opens a file for writing", {SYS_openat}},
    {"starts another program", {SYS_execve}},
    {"makes memory executable, or changes the simulated device",
     {SYS_mmap, SYS_mprotect, SYS_pkey_mprotect}},
    {"changes the simulated device", {SYS_mremap, SYS_munmap, SYS_madvise}},
    {"makes a namespace", {SYS_clone}},
    {"signals a group of processes", {SYS_kill}},
    {"opens a connection to a network", {SYS_socket}},
    {"filters system calls", {SYS_prctl, SYS_seccomp}},
};

#if defined __x86_64__
#define OUR_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OUR_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OUR_ARCHITECTURE 0
#endif

struct filter {
    struct sock_filter code[1024];
    unsigned short used;
};

static void add(struct filter *f, uint16_t operation, uint32_t value, uint8_t yes, uint8_t no)
{
    f->code[f->used++] = (struct sock_filter){operation, yes, no, value};
}

static void load(struct filter *f, size_t offset)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

#define LOW_OF(place)    (offsetof(struct seccomp_data, place) + (BIG_ENDIAN_WORDS ? 4 : 0))
#define HIGH_OF(place)   (offsetof(struct seccomp_data, place) + (BIG_ENDIAN_WORDS ? 0 : 4))
#define BIG_ENDIAN_WORDS (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define LOW(i)           LOW_OF(args[i])
#define HIGH(i)          HIGH_OF(args[i])
#define IP_LOW           LOW_OF(instruction_pointer)
#define IP_HIGH          HIGH_OF(instruction_pointer)

static void allow(struct filter *f) { add(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0); }
static void refuse(struct filter *f) { add(f, BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0); }

/* Makes the call look unknown to Linux, so that glibc falls back on an older one. */
static void unknown(struct filter *f, long number)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
}

/* Begins the rule of one call, which allows or refuses on every path. Returns its position. */
static unsigned begin_rule(struct filter *f, long number)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 0);
    return f->used - 1;
}

static void end_rule(struct filter *f, unsigned begin)
{
    f->code[begin].jf = (uint8_t)(f->used - begin - 1);
}

/* Skips the next instruction unless the loaded word has one of the bits. */
static void if_bits(struct filter *f, uint32_t bits)
{
    add(f, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
}

static void if_equal(struct filter *f, uint32_t value)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
}

/* Allows the call if argument i is an address in the page; otherwise continues. */
static void allow_in_page(struct filter *f, int i, uintptr_t page)
{
    load(f, HIGH(i));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)((uint64_t)page >> 32), 0, 4);
    load(f, LOW(i));
    add(f, BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)(PAGE - 1), 0, 0);
    if_equal(f, (uint32_t)page);
    allow(f);
}

/* Places in a rule, which a jump can name before they are known. NEXT is the next instruction. */
enum { NEXT, INSIDE, BELOW, NO_CARRY, SUM, REFUSED, PASSED, PLACES };
#define NAMED 240 /* a jump by name is above this */

static void jump(struct filter *f, uint16_t condition, uint64_t value, uint8_t yes, uint8_t no)
{
    add(f, BPF_JMP | condition, (uint32_t)value, yes ? NAMED + yes : 0, no ? NAMED + no : 0);
}

static void give_places(struct filter *f, unsigned begin, const unsigned *places)
{
    for (unsigned at = begin; at < f->used; at++) {
        struct sock_filter *one = &f->code[at];
        if (BPF_CLASS(one->code) != BPF_JMP)
            continue;
        one->jt = one->jt > NAMED ? (uint8_t)(places[one->jt - NAMED] - at - 1) : one->jt;
        one->jf = one->jf > NAMED ? (uint8_t)(places[one->jf - NAMED] - at - 1) : one->jf;
    }
}

/* Refuses the call if [argument a, argument a + argument n) overlaps [from, to), which are whole
 * pages; otherwise continues. An address consists of two words. */
static void refuse_range(struct filter *f, int a, int n, uint64_t from, uint64_t to)
{
    unsigned places[PLACES], begin = f->used;
    load(f, HIGH(a));
    jump(f, BPF_JGT, to >> 32, PASSED, NEXT);
    jump(f, BPF_JEQ, to >> 32, NEXT, INSIDE);
    load(f, LOW(a));
    jump(f, BPF_JGE, to, PASSED, NEXT);
    places[INSIDE] = f->used; /* inside, or below */
    load(f, HIGH(a));
    jump(f, BPF_JGT, from >> 32, REFUSED, NEXT);
    jump(f, BPF_JEQ, from >> 32, NEXT, BELOW);
    load(f, LOW(a));
    jump(f, BPF_JGE, from, REFUSED, NEXT);
    places[BELOW] = f->used;
    load(f, LOW(a));
    add(f, BPF_MISC | BPF_TAX, 0, 0, 0);
    load(f, LOW(n));
    add(f, BPF_ALU | BPF_ADD | BPF_X, 0, 0, 0);
    add(f, BPF_ST, 0, 0, 0);
    jump(f, BPF_JGE | BPF_X, 0, NO_CARRY, NEXT);
    load(f, HIGH(a));
    add(f, BPF_ALU | BPF_ADD | BPF_K, 1, 0, 0);
    jump(f, BPF_JEQ, 0, SUM, SUM);
    places[NO_CARRY] = f->used;
    load(f, HIGH(a));
    places[SUM] = f->used;
    add(f, BPF_MISC | BPF_TAX, 0, 0, 0);
    load(f, HIGH(n));
    add(f, BPF_ALU | BPF_ADD | BPF_X, 0, 0, 0);
    jump(f, BPF_JGT, from >> 32, REFUSED, NEXT);
    jump(f, BPF_JEQ, from >> 32, NEXT, PASSED);
    add(f, BPF_LD | BPF_MEM, 0, 0, 0);
    jump(f, BPF_JGT, from, REFUSED, PASSED);
    places[REFUSED] = f->used;
    refuse(f);
    places[PASSED] = f->used;
    give_places(f, begin, places);
}

/* Refuses changes to the library's pages (code, function table, settings) or to the page of paths.
 * After an exec the library is elsewhere, and its old place holds other memory, but the filter
 * remains. So with ":exec" the library's pages are not protected. */
static void refuse_own(struct filter *f, int a, int n, bool exec)
{
    if (!exec)
        refuse_range(f, a, n, (uintptr_t)__ehdr_start, page_up((uintptr_t)_end));
    refuse_range(f, a, n, (uintptr_t)PATH_PAGE, (uintptr_t)PATH_PAGE + PAGE);
}

/* Allows what seal_path does; otherwise continues. */
static void allow_own_call(struct filter *f)
{
    uint64_t behind = (uintptr_t)seal_behind_call;
    load(f, IP_HIGH);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(behind >> 32), 0, 3);
    load(f, IP_LOW);
    if_equal(f, (uint32_t)behind);
    allow(f);
}

/* Keeps memory either writable or executable, and the library's memory as it is. */
static void add_memory_rules(struct filter *f, bool exec)
{
    static const long protecting[] = {SYS_mprotect, SYS_pkey_mprotect},
                      clearing[] = {SYS_munmap, SYS_madvise};
    unsigned rule = begin_rule(f, SYS_mmap), not_fixed;
    load(f, LOW(3));
    not_fixed = f->used;
    add(f, BPF_JMP | BPF_JSET | BPF_K, MAP_FIXED, 0, 0);
    refuse_own(f, 0, 1, exec);
    end_rule(f, not_fixed);
    load(f, LOW(2));
    add(f, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
    allow(f);
    if_bits(f, PROT_WRITE);
    refuse(f);
    load(f, LOW(3));
    if_bits(f, MAP_ANONYMOUS);
    refuse(f);
    allow(f);
    end_rule(f, rule);

    rule = begin_rule(f, SYS_mremap);
    refuse_own(f, 0, 1, exec);
    load(f, LOW(3));
    add(f, BPF_JMP | BPF_JSET | BPF_K, MREMAP_FIXED, 1, 0);
    allow(f);
    refuse_own(f, 4, 2, exec);
    allow(f);
    end_rule(f, rule);

    for (size_t i = 0; i < sizeof clearing / sizeof *clearing; i++) {
        rule = begin_rule(f, clearing[i]);
        refuse_own(f, 0, 1, exec);
        allow(f);
        end_rule(f, rule);
    }
    for (size_t i = 0; i < sizeof protecting / sizeof *protecting; i++) {
        rule = begin_rule(f, protecting[i]);
        load(f, LOW(2));
        if_bits(f, PROT_EXEC);
        refuse(f);
        add(f, BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 1, 0);
        allow(f);
        /* After an exec, seal_path's instruction is elsewhere, too. */
        if (!exec) {
            allow_own_call(f);
            refuse_own(f, 0, 1, exec);
        }
        allow(f);
        end_rule(f, rule);
    }
}

/* Refuses system calls by the program's own code, because only the C library needs any. */
static void add_code_rule(struct filter *f)
{
    load(f, IP_HIGH);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)((uint64_t)seal.code >> 32), 0, 4);
    load(f, IP_LOW);
    add(f, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)seal.code, 0, 2);
    add(f, BPF_JMP | BPF_JGT | BPF_K, (uint32_t)seal.code_end, 1, 0);
    refuse(f);
}

static void add_rules(struct filter *f, bool exec)
{
    unsigned rule = begin_rule(f, SYS_openat);
    load(f, LOW(2));
    add(f, BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 1, 0);
    allow(f);
    allow_in_page(f, 1, (uintptr_t)PATH_PAGE);
    refuse(f);
    end_rule(f, rule);

    /* For addr2line, which finds source lines for reports, and for start_again. */
    rule = begin_rule(f, SYS_execve);
    allow_in_page(f, 0, (uintptr_t)PATH_PAGE);
    refuse(f);
    end_rule(f, rule);

    rule = begin_rule(f, SYS_clone);
    load(f, LOW(0));
    if_bits(f, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER
                   | CLONE_NEWPID | CLONE_NEWNET);
    refuse(f);
    allow(f);
    end_rule(f, rule);

    rule = begin_rule(f, SYS_kill);
    load(f, LOW(0));
    if_equal(f, 0);
    refuse(f);
    if_bits(f, 1u << 31);
    refuse(f);
    allow(f);
    end_rule(f, rule);

    rule = begin_rule(f, SYS_socket);
    load(f, LOW(0));
    if_equal(f, AF_UNIX);
    allow(f);
    refuse(f);
    end_rule(f, rule);

    /* A process that was started by exec adds its own filter. */
    if (exec)
        return;
    rule = begin_rule(f, SYS_prctl);
    load(f, LOW(0));
    if_equal(f, PR_SET_SECCOMP);
    refuse(f);
    allow(f);
    end_rule(f, rule);
    rule = begin_rule(f, SYS_seccomp);
    refuse(f);
    end_rule(f, rule);
}

static void install_filter(bool exec)
{
    static struct filter f;
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCHITECTURE, 1, 0);
    refuse(&f);
    add_code_rule(&f);
    load(&f, offsetof(struct seccomp_data, nr));
#if defined __x86_64__
    /* Refuse x32 calls, because they have other numbers. */
    add(&f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    refuse(&f);
#endif
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        for (const long *number = closed[i].numbers; *number; number++) {
            if_equal(&f, (uint32_t)*number);
            refuse(&f);
        }
    unknown(&f, SYS_clone3);
    unknown(&f, SYS_openat2);
    add_memory_rules(&f, exec);
    add_rules(&f, exec);
    allow(&f);
    struct sock_fprog program = {f.used, f.code};
    long failed = OUR_ARCHITECTURE ? call_linux(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0) : -ENOSYS;
    if (!failed)
        failed = call_linux(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                            (long)&program, 0);
    if (failed)
        os_fatal("SIM_SEAL is set, and this machine has no filters of system calls (seccomp): %s.",
                 strerror((int)-failed));
}

/* Called when the program has called exec. Starts the program itself again, or returns. */
static void start_again(const ucontext_t *context)
{
    static const char self[] = "/proc/self/exe";
#if defined __x86_64__
    const char *path = (const char *)context->uc_mcontext.gregs[REG_RDI];
    char **arguments = (char **)context->uc_mcontext.gregs[REG_RSI];
#elif defined __aarch64__
    const char *path = (const char *)context->uc_mcontext.regs[0];
    char **arguments = (char **)context->uc_mcontext.regs[1];
#else
    const char *path = "";
    char **arguments = NULL;
#endif
    struct stat wanted, own;
    if (stat(path, &wanted) || stat(self, &own) || wanted.st_dev != own.st_dev
        || wanted.st_ino != own.st_ino)
        return;
    execve(seal_path("%s", self), arguments, seal.environment);
}

static const char *words_for(const struct calls *all, size_t count, long number,
                             const char *otherwise)
{
    for (size_t i = 0; i < count; i++)
        for (const long *one = all[i].numbers; *one; one++)
            if (*one == number)
                return all[i].words;
    return otherwise;
}

static void on_refused(int signo, siginfo_t *information, void *context)
{
    const char *words = "makes a system call that no lesson needs";
    (void)signo;
    if (information->si_syscall == SYS_execve && seal.environment)
        start_again(context);
    words = words_for(closed, sizeof closed / sizeof *closed, information->si_syscall, words);
    words = words_for(limited, sizeof limited / sizeof *limited, information->si_syscall, words);
    uintptr_t from = (uintptr_t)information->si_call_addr;
    if (from >= seal.code && from <= seal.code_end)
        words = "makes a system call by itself";
    diag("the program %s, which it may not while it is graded (system call %d). A lesson prints "
         "with printf, and calls CUDA.",
         words, information->si_syscall);
    _exit(1);
}

/* ---- the receipts ---- */

void seal_add(struct seal_sum *sum, const char *text, size_t bytes)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t remainder = i;
            for (int bit = 0; bit < 8; bit++)
                remainder = remainder >> 1 ^ (remainder & 1 ? 0xEDB88320u : 0);
            table[i] = remainder;
        }
    uint32_t crc = ~sum->crc;
    for (size_t i = 0; i < bytes; i++)
        crc = crc >> 8 ^ table[(crc ^ (unsigned char)text[i]) & 0xFF];
    sum->crc = ~crc;
    sum->bytes += bytes;
}

void seal_receipt(unsigned number, const struct seal_sum *sum)
{
    char line[1024];
    int used = snprintf(line, sizeof line, "%u %lu %llu %.*s %s\n", number, (unsigned long)sum->crc,
                        (unsigned long long)sum->bytes, SECRET,
                        seal.secrets + number * (SECRET + 1), seal.settings);
    /* If there is no room for a receipt, it is missing, and the grader notices. */
    (void)write_all(seal.receipts, line, (size_t)used);
}

/* Reads the secrets, and lets later writes append to what other processes wrote. */
static void read_receipts_file(const char *setting, bool exec)
{
    struct stat status;
    ssize_t length = pread(seal.receipts, seal.secrets, sizeof seal.secrets, 0);
    if (length != sizeof seal.secrets || fstat(seal.receipts, &status) || !S_ISREG(status.st_mode)
        || fcntl(seal.receipts, F_SETFL, O_APPEND)
        || (!exec && (ftruncate(seal.receipts, 0) || fcntl(seal.receipts, F_SETFD, FD_CLOEXEC))))
        os_fatal("SIM_SEAL is \"%s\"; expected the number of a descriptor that is open for reading "
                 "and writing on a file with %d secrets of %d characters, one a line.",
                 setting, SEAL_PROCESSES, SECRET);
}

/* For dl_iterate_phdr, whose first object is the program. */
static int find_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (unsigned i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X) {
            seal.code = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
            seal.code_end = seal.code + object->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static void keep_environment(void)
{
    size_t entries = 0;
    while (environ[entries])
        entries++;
    seal.environment = os_allocate((entries + 1) * sizeof *seal.environment);
    while (entries--)
        seal.environment[entries] = strdup(environ[entries]);
}

/* Replaces these whole pages by a copy that nothing can write, not even Linux by /proc/self/mem: a
 * view of a file in memory that is sealed against writes. */
static bool freeze(void *memory, size_t bytes)
{
    char path[64];
    const int no_more = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int file = memfd_create("settings", MFD_CLOEXEC | MFD_ALLOW_SEALING), view = -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    bool done = file >= 0 && write_all(file, memory, bytes) && !fcntl(file, F_ADD_SEALS, no_more)
             && (view = open(path, O_RDONLY | O_CLOEXEC)) >= 0
             && mmap(memory, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, view, 0) == memory;
    if (view >= 0)
        close(view);
    if (file >= 0)
        close(file);
    return done;
}

void seal_close(const char *setting, void *memory, size_t bytes, const char *settings)
{
    char *end;
    bool exec;
    /* A restarted process inherits the blocked signals, so unblock this one. */
    struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_NODEFER};
    seal.receipts = (int)strtol(setting, &end, 10);
    exec = !strcmp(end, ":exec");
    if (end == setting || (*end && !exec))
        seal.receipts = -1;
    read_receipts_file(setting, exec);
    if (exec)
        keep_environment();
    seal.settings = settings;
    dl_iterate_phdr(find_code, NULL);
    if (mmap(PATH_PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)
            != PATH_PAGE
        || !freeze(memory, bytes) || sigaction(SIGSYS, &action, NULL))
        os_fatal("SIM_SEAL is set, and the simulation cannot protect its own memory (%s).",
                 strerror(errno));
    seal.closed = true;
    install_filter(exec);
}
