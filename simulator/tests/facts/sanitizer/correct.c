/* Programs that are correct, and what compute-sanitizer makes of them. On a device alone each comes
 * to its end:
 *
 *   correct hold memset|kernel|copy|allocation   a kernel beside a kernel that holds
 *   correct pools ALLOCATIONS [kernel]           a pool that is destroyed with live allocations
 *   correct faults exec|fork                     a kernel that faults, in a process of its own */
#include "kernels.h"
#include "workbook.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One stream holds at a gate. Another does its work and is synchronized: the streams have nothing
 * to do with each other. Under compute-sanitizer 2025.3 the wait for a kernel waits for the hold as
 * well, for ever. */
static int hold(int argc, char **argv)
{
    const char *work = argc > 2 ? argv[2] : "memset";
    int *memory, *second, *pinned;
    cudaStream_t held, other;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync((void **)&memory, MiB, other));
    CHECK(cudaMallocHost((void **)&pinned, sizeof *pinned));
    *pinned = 1;

    CHECK(launch_hold(gate, held));
    if (strcmp(work, "kernel") == 0) {
        CHECK(launch_fill(memory, 1, 1, other));
    } else if (strcmp(work, "memset") == 0) {
        CHECK(cudaMemsetAsync(memory, 1, MiB, other));
    } else if (strcmp(work, "copy") == 0) {
        CHECK(cudaMemcpyAsync(memory, pinned, sizeof *pinned, cudaMemcpyHostToDevice, other));
    } else {
        CHECK(cudaMallocAsync((void **)&second, MiB, other));
        CHECK(cudaFreeAsync(second, other));
    }
    CHECK(cudaStreamSynchronize(other));
    puts("done beside the hold");

    gate_open(gate);
    CHECK(cudaFreeAsync(memory, other));
    CHECK(cudaStreamSynchronize(held));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(held));
    gate_destroy(gate);
    return 0;
}

/* Documented: a pool that is destroyed with live allocations goes when its last one is freed. */
static int pools(int argc, char **argv)
{
    enum { MOST = 64 };
    int *allocation[MOST], count = argc > 2 ? atoi(argv[2]) : 0;
    cudaStream_t stream;
    if (count < 1 || count > MOST) {
        fprintf(stderr, "%s: give the number of allocations, 1 to %d\n", argv[0], MOST);
        return 2;
    }
    CHECK(cudaStreamCreate(&stream));
    for (int round = 0; round < 2; round++) {
        cudaMemPool_t pool = pool_create();
        for (int i = 0; i < count; i++) {
            CHECK(cudaMallocFromPoolAsync((void **)&allocation[i], 5 * MiB, pool, stream));
            if (argc > 3)
                CHECK(launch_fill(allocation[i], i, 1, stream));
        }
        CHECK(cudaMemPoolDestroy(pool));
        for (int i = 0; i < count; i++) {
            CHECK(cudaFreeAsync(allocation[i], stream));
            CHECK(cudaStreamSynchronize(stream));
        }
    }
    CHECK(cudaStreamDestroy(stream));
    puts("two pools done");
    return 0;
}

/* Returns 0 if the kernel that writes outside all allocations got cudaErrorIllegalAddress. */
static int fault(void)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(launch_fill((int *)(512 * MiB), 1, 1, stream));
    return cudaStreamSynchronize(stream) == cudaErrorIllegalAddress ? 0 : 3;
}

/* The fault ends its process's use of the device, so another process makes it: this program,
 * started again, or a child of fork() that is the first to call CUDA. The child gets its error, and
 * the parent works on. */
static int faults(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    int *memory, status;
    pid_t child;
    if (strcmp(how, "fault") == 0)
        return fault();
    child = fork();
    if (child == 0 && strcmp(how, "fork") == 0)
        _exit(fault());
    if (child == 0) {
        execl(argv[0], argv[0], "faults", "fault", (char *)NULL);
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

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "hold") == 0)
        return hold(argc, argv);
    if (strcmp(what, "pools") == 0)
        return pools(argc, argv);
    if (strcmp(what, "faults") == 0)
        return faults(argc, argv);
    fprintf(stderr, "%s: give hold, pools or faults\n", argv[0]);
    return 2;
}
