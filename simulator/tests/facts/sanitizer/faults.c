/* What compute-sanitizer makes of a kernel that faults on purpose, in a process of its own:
 * faults exec|fork
 *
 * The fault ends its process's use of the device, so another process makes it: this program,
 * started again, or a child of fork() that is the first to call CUDA. On a device alone the child
 * gets its error, and the parent works on. */
#include "kernels.h"
#include "workbook.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns 0 if the kernel that writes outside all allocations got cudaErrorIllegalAddress. */
static int fault(void)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(launch_fill((int *)(512 * MiB), 1, 1, stream));
    return cudaStreamSynchronize(stream) == cudaErrorIllegalAddress ? 0 : 3;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int *memory, status;
    pid_t child;
    if (strcmp(how, "fault") == 0)
        return fault();
    if (strcmp(how, "exec") != 0 && strcmp(how, "fork") != 0) {
        fprintf(stderr, "%s: give exec or fork\n", argv[0]);
        return 2;
    }
    child = fork();
    if (child == 0 && strcmp(how, "fork") == 0)
        _exit(fault());
    if (child == 0) {
        execl(argv[0], argv[0], "fault", (char *)NULL);
        _exit(4);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "%s: the child did not get its error\n", argv[0]);
        return 1;
    }
    CHECK(cudaMallocAsync((void **)&memory, MiB, NULL));
    CHECK(cudaFreeAsync(memory, NULL));
    CHECK(cudaStreamSynchronize(NULL));
    puts("the child faulted, and the parent works on");
    return 0;
}
