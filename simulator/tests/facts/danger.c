/* Calls that may crash or hang a driver. Where a real driver does, the simulated device says what
 * is wrong and ends the program with exit status 3.
 *
 *   danger        every case, a process each
 *   danger CASE   one of them, 0 to 19, in this process */
#define CALL_COLUMNS 70
#include "probe.h"

int main(int argc, char **argv)
{
    cudaMemPool_t p = NULL, def;
    struct cudaMemPoolProps pr = device_props();
    struct cudaMemPoolPtrExportData x;
    void *a = NULL, *b = NULL;
    int c = 5;
    if (argc < 2) {
        run_numbers_apart(argv[0], 20);
        return 0;
    }
    shows_last_error = 0;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaDeviceGetDefaultMemPool(&def, 0);
    switch (atoi(argv[1])) {
    case 0:
        RECORD(cudaMalloc(&a, MiB));
        RECORD(cudaFree(a));
        RECORD(cudaFree(a));
        break;
    case 1:
        RECORD(cudaMalloc(&a, MiB));
        RECORD(cudaFreeAsync(a, s));
        RECORD(cudaFreeAsync(a, s));
        cudaStreamSynchronize(s);
        break;
    case 2: RECORD(cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, NULL)); break;
    case 3:
        RECORD(cudaMemPoolCreate(&p, &pr));
        RECORD(cudaMallocFromPoolAsync(&a, 4096, p, s));
        RECORD(cudaMemPoolExportPointer(&x, a));
        break;
    case 4: /* the memory has gone back when the kernel runs */
        RECORD(cudaMallocAsync(&a, MiB, s));
        RECORD_SYNC(cudaFreeAsync(a, s), s);
        launch_fill(a, 1, 16, s);
        RECORD_SYNC(cudaGetLastError(), s);
        RECORD(cudaMallocAsync(&b, MiB, s));
        break;
    case 5: { /* the memory is still the pool's */
        uint64_t all = UINT64_MAX;
        cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, &all);
        RECORD(cudaMallocAsync(&a, MiB, s));
        RECORD_SYNC(cudaFreeAsync(a, s), s);
        launch_fill(a, 1, 16, s);
        RECORD_SYNC(cudaGetLastError(), s);
        break;
    }
    case 6: /* used on another stream, with nothing in between */
        RECORD(cudaMallocAsync(&a, MiB, s));
        launch_fill(a, 1, 16, t);
        RECORD_SYNC(cudaGetLastError(), t);
        break;
    case 7: RECORD(cudaMemPoolSetAccess(def, NULL, 1)); break;
    case 8:
        RECORD(cudaMemPoolCreate(&p, &pr));
        RECORD(cudaMemPoolDestroy(p));
        RECORD(cudaMemPoolDestroy(p));
        break;
    case 9:
        RECORD(cudaMemPoolCreate(&p, &pr));
        RECORD(cudaMemPoolDestroy(p));
        RECORD(cudaMallocFromPoolAsync(&a, 64, p, s));
        break;
    case 10:
        RECORD(cudaMemPoolDestroy(def));
        RECORD(cudaMallocAsync(&a, 64, s));
        break;
    case 11: RECORD(cudaDeviceSetMemPool(0, 0)); break;
    case 12: RECORD(cudaMallocAsync(&a, 64, (cudaStream_t)0x1234567)); break;
    case 13:
        RECORD(cudaStreamDestroy(s));
        RECORD(cudaMallocAsync(&a, 64, s));
        break;
    case 14: RECORD(cudaMemPoolCreate(&p, 0)); break;
    case 15: RECORD(cudaMemPoolCreate(0, &pr)); break;
    case 16: RECORD(cudaDeviceGetMemPool(0, 0)); break;
    case 17:
        RECORD(cudaMallocAsync(&a, 64, s));
        RECORD_SYNC(cudaMemsetAsync(a, 0, 1024, s), s);
        break;
    case 18:
        RECORD(cudaMallocAsync(&a, 64, s));
        RECORD_SYNC(cudaMemsetAsync((char *)a, 0, 33 * MiB, s), s);
        break;
    case 19:
        RECORD(cudaMallocAsync(&a, 64, s));
        RECORD(cudaMemcpyAsync(a, &c, 4, cudaMemcpyHostToDevice, s));
        RECORD_SYNC(cudaMemcpyAsync((char *)a + 40 * MiB, &c, 4, cudaMemcpyHostToDevice, s), s);
        break;
    default: fprintf(stderr, "danger: expected a case from 0 to 19\n"); return 2;
    }
    puts("end");
    return 0;
}
