/* Records what calls return for a stream's handle that no call has returned: handles. Each question
 * has a process of its own, since the driver may die of SIGSEGV. */
#include "probe.h"

#include <sys/mman.h>

static void print_and_end(const char *call, const char *handle, cudaError_t result)
{
    printf("%-40s %-24s %s", call, handle, cudaGetErrorName(result));
    if (cudaPeekAtLastError() != result)
        printf(" (last error %s)", cudaGetErrorName(cudaPeekAtLastError()));
    puts("");
    _exit(0);
}

/* Handles that are no stream: numbers, and addresses of memory of other kinds. */
static const struct bad_handle {
    const char *name;
    uintptr_t value;
} numbers[] = {
    {"-1", (uintptr_t)-1},
    {"-2", (uintptr_t)-2},
    {"-8", (uintptr_t)-8},
    {"3", 3},
    {"8", 8},
    {"0x1234567", 0x1234567},
    {"0x10000000000", (uintptr_t)1 << 40},
    {"0x8000000000000000", (uintptr_t)1 << 63},
    {"0xffff800000000000", (uintptr_t)0xffff8 << 44},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers, MEMORY = 4 };

static cudaStream_t handle_of(int which, const char **name)
{
    static char zeros[4096], ones[4096];
    memset(ones, 0xff, sizeof ones);
    switch (which - NUMBERS) {
    case 0: return *name = "memory of zeros", (cudaStream_t)zeros;
    case 1: return *name = "memory of ones", (cudaStream_t)ones;
    case 2: return *name = "an event", (cudaStream_t)ev;
    case 3: *name = "memory of a device"; return (cudaStream_t)m;
    default: *name = numbers[which].name; return (cudaStream_t)numbers[which].value;
    }
}

static void count_call(void *unused) { (void)unused; }
static void call_back(cudaStream_t stream, cudaError_t error, void *unused) {}

/* Returns false when there are no more questions. */
static int ask(int question, cudaStream_t bad, const char *name)
{
    void *p = NULL;
    int number;
    unsigned flags;
    unsigned long long id;
    cudaGraph_t g;
    cudaGraphExec_t x;
    enum cudaStreamCaptureStatus status;
    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaGraphCreate(&g, 0);
    cudaGraphInstantiate(&x, g, 0);
#define ASK(call) print_and_end(#call, name, (call))
    switch (question) {
    case 0: ASK(cudaMallocAsync(&p, 1024, bad)); break;
    case 1: ASK(cudaMallocFromPoolAsync(&p, 1024, pool, bad)); break;
    case 2:
        p = ready_memory(NULL, 1024);
        ASK(cudaFreeAsync(p, bad));
        break;
    case 3: ASK(cudaStreamSynchronize(bad)); break;
    case 4: ASK(cudaStreamQuery(bad)); break;
    case 5: ASK(cudaStreamWaitEvent(bad, ev, 0)); break;
    case 6: ASK(cudaStreamDestroy(bad)); break;
    case 7: ASK(cudaStreamGetFlags(bad, &flags)); break;
    case 8: ASK(cudaStreamGetPriority(bad, &number)); break;
    case 9: ASK(cudaStreamGetId(bad, &id)); break;
    case 10: ASK(cudaEventRecord(ev, bad)); break;
    case 11: ASK(cudaLaunchHostFunc(bad, count_call, NULL)); break;
    case 12: ASK(cudaStreamAddCallback(bad, call_back, NULL, 0)); break;
    case 13: ASK(cudaMemsetAsync(m, 1, 1024, bad)); break;
    case 14: ASK(cudaMemcpyAsync(m, host, 1024, cudaMemcpyHostToDevice, bad)); break;
    case 15: ASK(cudaMemcpyPeerAsync(m, 0, m, 0, 0, bad)); break;
    case 16: ASK(cudaStreamBeginCapture(bad, cudaStreamCaptureModeGlobal)); break;
    case 17: ASK(cudaStreamEndCapture(bad, &g)); break;
    case 18: ASK(cudaStreamIsCapturing(bad, &status)); break;
    case 19: ASK(cudaGraphLaunch(x, bad)); break;
    case 20: ASK(cudaGraphUpload(x, bad)); break;
    case 21: ASK(cudaMallocAsync(NULL, 1024, bad)); break;
    case 22: ASK(cudaMallocAsync(&p, 0, bad)); break;
    case 23: ASK(cudaFreeAsync(NULL, bad)); break;
    case 24: ASK(cudaMemsetAsync(m, 1, 0, bad)); break;
    case 25: ASK(cudaMemsetAsync(NULL, 1, 1024, bad)); break;
    case 26: ASK(cudaMemcpyAsync(m, host, 0, cudaMemcpyHostToDevice, bad)); break;
    case 27: ASK(cudaMemset2DAsync(m, 512, 1, 100, 4, bad)); break;
    case 28: ASK(cudaMemcpy2DAsync(m, 512, host, 512, 100, 4, cudaMemcpyHostToDevice, bad)); break;
    case 29: ASK(cudaMemset2DAsync(m, 99, 1, 100, 4, bad)); break;
    case 30: ASK(launch_fill(m, 1, 4, bad)); break;
    default: return 0;
    }
    return 1;
}

static void ask_apart(int question, int which)
{
    const char *name;
    char line[80];
    if (in_new_process(10)) {
        if (set_up_case())
            _exit(1);
        cudaStream_t bad = handle_of(which, &name);
        _exit(ask(question, bad, name) ? 0 : 77);
    }
    handle_of(which, &name);
    snprintf(line, sizeof line, "question %-31d %-24s ", question, name);
    print_end(status_of_process(), line);
}

int main(void)
{
    for (int question = 0; question <= 30; question++)
        ask_apart(question, 0);
    for (int which = 1; which < NUMBERS + MEMORY; which++) {
        ask_apart(0, which);
        ask_apart(3, which);
        ask_apart(13, which);
    }
    return 0;
}
