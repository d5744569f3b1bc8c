// nvcc: -rdc=true -lcudadevrt
// What the device runtime answers kernels that launch kernels, a case each: the argument is its
// number. simulator/tests/facts/kernels-launch_answers.txt has what an H200 printed.
#include <cstdio>
#include <cstdlib>

static __global__ void count(int *n) { atomicAdd(n, 1); }

static __global__ void wrong(int *e, int k)
{
    switch (k) {
    case 0: count<<<1, 2000>>>(e + 9); break;
    case 1: count<<<1, 0>>>(e + 9); break;
    case 2: count<<<0, 1>>>(e + 9); break;
    case 3: count<<<1, 1, 300000>>>(e + 9); break;
    case 4: count<<<1, 1, 60000>>>(e + 9); break;
    case 5: count<<<1, 1, 0, (cudaStream_t)4711>>>(e + 9); break;
    }
    e[0] = cudaPeekAtLastError();
    e[1] = cudaGetLastError();
    e[2] = cudaGetLastError();
}

static __global__ void streams(int *e)
{
    cudaStream_t s;
    for (int flags = 0; flags < 4; flags++) {
        e[flags] = cudaStreamCreateWithFlags(&s, flags);
        e[4 + flags] = cudaGetLastError();
    }
}

static __global__ void events(int *e)
{
    cudaEvent_t v;
    for (int flags = 0; flags < 4; flags++) {
        e[flags] = cudaEventCreateWithFlags(&v, flags);
        e[4 + flags] = cudaGetLastError();
    }
}

static __global__ void setting(int *to, int *e, int value)
{
    e[0] = cudaMemsetAsync(to, value, 3 * sizeof *to, 0);
    e[1] = cudaGetLastError();
}

static __global__ void copying(int *to, int *e)
{
    e[0] = cudaMemcpyAsync(to + 1, to, sizeof *to, cudaMemcpyDeviceToDevice, 0);
    e[1] = cudaGetLastError();
}

static __global__ void in_stream_of_host(int *e, cudaStream_t s)
{
    count<<<1, 1, 0, s>>>(e + 9);
    e[0] = cudaGetLastError();
}

static __global__ void many(int *e, int n)
{
    for (int i = 0; i < n; i++) {
        count<<<1, 1>>>(e + 1);
        const cudaError_t x = cudaGetLastError();
        if (x) {
            atomicAdd(e + 2, 1);
            e[3] = x;
            atomicCAS(e + 4, 0, i + 1);
        }
    }
}

static __global__ void deep(int *e, int depth)
{
    atomicAdd(e, 1);
    if (!depth)
        return;
    deep<<<1, 1>>>(e, depth - 1);
    const cudaError_t x = cudaGetLastError();
    if (x)
        e[1] = x;
}

static __global__ void tails(int *e, int depth)
{
    atomicAdd(e, 1);
    if (!depth)
        return;
    tails<<<1, 1, 0, cudaStreamTailLaunch>>>(e, depth - 1);
    const cudaError_t x = cudaGetLastError();
    if (x)
        e[1] = x;
}

static int *e, h[16], number;

static void show(const char *what, int count)
{
    const cudaError_t x = cudaDeviceSynchronize();
    cudaMemcpy(h, e, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d: %s: %s;", number, what, cudaGetErrorName(x));
    for (int i = 0; i < count; i++)
        printf(" %d", h[i]);
    puts("");
}

static void set(int *to, int value)
{
    setting<<<1, 1>>>(to, e, value);
    show("memset: result, last error", 2);
    cudaMemcpy(h, to, 16, cudaMemcpyDeviceToHost);
    printf("%d: %x %x %x %x\n", number, h[0], h[1], h[2], h[3]);
}

static void use_stream_of_host()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    in_stream_of_host<<<1, 1>>>(e, s);
    show("a stream of the host; ran at 9", 10);
    cudaStreamDestroy(s);
}

int main(int argc, char **argv)
{
    int *to;
    number = argc > 1 ? atoi(argv[1]) : 0;
    cudaMalloc(&e, sizeof h);
    cudaMemset(e, 0, sizeof h);
    cudaMalloc(&to, 64);
    cudaMemset(to, 0x11, 64);
    switch (number) {
    case 6: streams<<<1, 1>>>(e), show("streams with flags 0 to 3: result, last error", 8); break;
    case 7: events<<<1, 1>>>(e), show("events with flags 0 to 3", 8); break;
    case 8: set(to, 0x68); break;
    case 9: set(to, 0x168); break;
    case 10: set(to, 0x1234568); break;
    case 11: copying<<<1, 1>>>(to, e), show("copy: result, last error", 2); break;
    case 12: use_stream_of_host(); break;
    case 13:
        many<<<1, 1>>>(e, 5000);
        show("one thread, 5000 launches: -, ran, failed, error, first", 5);
        break;
    case 14: many<<<64, 64>>>(e, 1), show("4096 threads, one launch each", 5); break;
    case 15: many<<<128, 128>>>(e, 4), show("16384 threads, 4 launches each", 5); break;
    case 16: deep<<<1, 1>>>(e, 23), show("depth 23", 2); break;
    case 17: deep<<<1, 1>>>(e, 24), show("depth 24", 2); break;
    case 18: deep<<<1, 1>>>(e, 100), show("depth 100", 2); break;
    case 19: tails<<<1, 1>>>(e, 100), show("tails 100", 2); break;
    case 20: tails<<<1, 1>>>(e, 1000), show("tails 1000", 2); break;
    default: wrong<<<1, 1>>>(e, number), show("wrong: peek, get, get, ran at 9", 10);
    }
    cudaFree(to);
    cudaFree(e);
    return 0;
}
