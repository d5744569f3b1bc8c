/* What a graded run may not do, one thing in each run: the first argument names it. With a second
 * argument it makes a CUDA call first. It prints "went on" after what should have ended it. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define GiB  ((size_t)1 << 30)

static char pages[2 * PAGE];
static char *page(void) { return pages + PAGE - (size_t)pages % PAGE; }

static void *nothing(void *unused) { return unused; }

/* Two processes, each of which calls CUDA, so each has a journal. */
static int two_processes(void)
{
    int status = 0;
    pid_t second = fork();
    if (second == 0)
        exit(cudaDeviceSynchronize() != cudaSuccess);
    waitpid(second, &status, 0);
    return status || cudaDeviceSynchronize() != cudaSuccess;
}

/* Starts itself again, in an environment of its own. */
static int start_again(void)
{
    int status = 1;
    pid_t second = fork();
    if (second == 0) {
        setenv("SIM_DEVICES", "5", 1);
        execl("/proc/self/exe", "sealed", "devices", (char *)NULL);
        _exit(1);
    }
    waitpid(second, &status, 0);
    return status != 0;
}

static int print_devices(void)
{
    int devices;
    cudaError_t result = cudaGetDeviceCount(&devices);
    printf("%d devices\n", devices);
    return result != cudaSuccess;
}

/* Finds the library's pages as the loader describes them. */
static struct {
    char *from, *to;
} library;

static int find_library(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!strstr(object->dlpi_name, "libcudart"))
        return 0;
    for (unsigned i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD)
            library.to = (char *)object->dlpi_addr
                       + ((object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz + PAGE - 1)
                          & ~(size_t)(PAGE - 1));
    library.from = (char *)object->dlpi_addr;
    return 1;
}

/* What a C library does with memory, at addresses below, above, and next to the library's. */
static int use_memory(void)
{
    madvise(library.from - PAGE, PAGE, MADV_NORMAL);
    madvise(library.from - 5 * GiB, 5 * GiB, MADV_NORMAL);
    madvise(library.to, 5 * GiB, MADV_NORMAL);
    char *large =
        mmap(NULL, 6 * GiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *more = malloc(8 << 20);
    if (large == MAP_FAILED || !more)
        return 1;
    free(more);
    if (mprotect(large + GiB, PAGE, PROT_READ | PROT_WRITE)
        || mmap(large + 5 * GiB, GiB, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0)
               == MAP_FAILED
        || madvise(large + 5 * GiB, GiB, MADV_DONTNEED) || munmap(large, 6 * GiB)
        || mmap((void *)0x10000000, PAGE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
               == MAP_FAILED)
        return 1;
    return cudaDeviceSynchronize() != cudaSuccess;
}

/* Opens its own memory as a file, by a path at the library's place for paths, and writes there. */
static int write_settings(void)
{
    char line[512], *path = (char *)0x2000000000;
    unsigned long settings = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (!settings && maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:settings"))
            settings = strtoul(line, NULL, 16);
    if (!settings || mprotect(path, PAGE, PROT_READ | PROT_WRITE))
        return 1;
    int before = *(int *)settings, memory = open(strcpy(path, "/proc/self/mem"), O_RDWR);
    /* The stack can be written in this way. */
    if (pwrite(memory, "x", 1, (off_t)line) != 1 || *line != 'x')
        return 2;
    if (pwrite(memory, "x", 1, (off_t)settings) == 1)
        puts("written");
    puts(*(int *)settings == before ? "as they were" : "changed");
    return 0;
}

/* Makes this call, or returns its value, if `what` is the name. */
#define TRY(name, ...)           \
    do {                         \
        if (!strcmp(what, name)) \
            (void)(__VA_ARGS__); \
    } while (0)
#define MAY(name, ...)           \
    do {                         \
        if (!strcmp(what, name)) \
            return __VA_ARGS__;  \
    } while (0)

static int write_journal(void)
{
    cudaDeviceSynchronize();
    for (int i = 3; i < 1024; i++)
        if (write(i, "{}\n", 3) == 3)
            continue;
    return 0;
}

/* Allowed actions. Returns the exit status, or -1 if there is none of this name. */
static int allowed(const char *what)
{
    pthread_t thread;
    MAY("nothing", cudaDeviceSynchronize() != cudaSuccess);
    MAY("read", open("/proc/self/status", O_RDONLY) < 0);
    MAY("write-settings", write_settings());
    MAY("memory", use_memory());
    MAY("thread", pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL));
    MAY("two", two_processes());
    MAY("again", start_again());
    MAY("devices", print_devices());
    MAY("write-journal", write_journal());
    TRY("end-early", cudaDeviceSynchronize(), _exit(0));
    return -1;
}

static void map_anew(void *address, size_t bytes)
{
    mmap(address, bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

/* Attempts to change the library's pages, or the page of the paths that it may open. */
static void change_library(const char *what)
{
    static char own[PAGE] __attribute__((aligned(PAGE)));
    char *page = library.to - PAGE, *paths = (char *)0x2000000000;
    TRY("map-over", map_anew(page, PAGE));
    TRY("map-over-from-below", map_anew(page - 16 * GiB, 16 * GiB + PAGE));
    TRY("unmap-first", munmap(library.from - 5 * GiB, 5 * GiB + PAGE));
    TRY("unmap", munmap(library.from, (size_t)(library.to - library.from)));
    TRY("move-away", mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, own));
    TRY("move-over", mremap(own, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page));
    TRY("empty", madvise(page, PAGE, MADV_DONTNEED));
    TRY("open-library", mprotect(page - PAGE, 2 * PAGE, PROT_READ | PROT_WRITE));
    TRY("open-paths", mprotect(paths, PAGE, PROT_READ | PROT_WRITE));
    TRY("map-paths", map_anew(paths, PAGE));
    TRY("own-path", open(strcpy(paths, "made"), O_WRONLY | O_CREAT, 0666));
}

static void refused(const char *what)
{
    change_library(what);
    TRY("create", open("made", O_WRONLY | O_CREAT, 0666));
    TRY("fopen", fopen("made", "w"));
    TRY("open-both-ways", open("/proc/self/exe", O_RDWR));
    TRY("truncate", open("journal.jsonl", O_RDONLY | O_TRUNC));
    TRY("exec", execl("/bin/true", "true", (char *)NULL));
    TRY("system", exit(system("exit 0") == 0 ? 0 : 1));
    TRY("unlink", unlink("journal.jsonl"));
    TRY("rename", rename("journal.jsonl", "made"));
    TRY("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    TRY("other-memory", process_vm_writev(getppid(), NULL, 0, NULL, 0, 0));
    TRY("executable", mprotect(page(), PAGE, PROT_READ | PROT_EXEC));
    TRY("executable-map",
        mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    TRY("kill-all", kill(-1, 0));
    TRY("network", socket(AF_INET, SOCK_STREAM, 0));
    TRY("namespace", unshare(CLONE_NEWUSER));
    TRY("namespace-clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
    TRY("filter", prctl(PR_SET_SECCOMP, 2, NULL));
    TRY("shared-memory", shmget(IPC_PRIVATE, PAGE, IPC_CREAT));
#ifdef __x86_64__
    TRY("x32", syscall(0x40000000 | SYS_getpid));
    long result = 5;
    if (!strcmp(what, "32-bit"))
        __asm__ volatile("int $0x80" : "+a"(result) : "b"("made"), "c"(65), "d"(0666) : "memory");
    if (!strcmp(what, "instruction"))
        __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11");
#endif
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc > 2)
        cudaDeviceSynchronize();
    dl_iterate_phdr(find_library, NULL);
    int status = allowed(argv[1]);
    if (status >= 0)
        return status;
    refused(argv[1]);
    puts("went on");
    return 0;
}
