/* The calls of simulator/tests/facts/danger.txt, one a run: danger CASE prints what each call
 * returns. Where a real driver crashes or hangs, the simulated device says what is wrong and ends
 * the program with exit status 3. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels.h"

#define ASK_COLUMNS 70
#include "ask.h"

#define MiB ((size_t)1 << 20)

int main(int argc, char **argv)
{
    cudaStream_t s, t;
    cudaMemPool_t p = NULL, def;
    struct cudaMemPoolProps pr = {.allocType = cudaMemAllocationTypePinned,
                                  .location.type = cudaMemLocationTypeDevice};
    struct cudaMemPoolPtrExportData x;
    void *a = NULL, *b = NULL;
    int c = 5;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaDeviceGetDefaultMemPool(&def, 0);
    switch (argc > 1 ? atoi(argv[1]) : -1) {
    case 0:
        ASK(cudaMalloc(&a, MiB));
        ASK(cudaFree(a));
        ASK(cudaFree(a));
        break;
    case 1:
        ASK(cudaMalloc(&a, MiB));
        ASK(cudaFreeAsync(a, s));
        ASK(cudaFreeAsync(a, s));
        cudaStreamSynchronize(s);
        break;
    case 2: ASK(cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, NULL)); break;
    case 3:
        ASK(cudaMemPoolCreate(&p, &pr));
        ASK(cudaMallocFromPoolAsync(&a, 4096, p, s));
        ASK(cudaMemPoolExportPointer(&x, a));
        break;
    case 4: /* the memory has gone back when the kernel runs */
        ASK(cudaMallocAsync(&a, MiB, s));
        ASK(cudaFreeAsync(a, s));
        ASK(cudaStreamSynchronize(s));
        launch_fill(a, 1, 16, s);
        ASK(cudaGetLastError());
        ASK(cudaStreamSynchronize(s));
        ASK(cudaMallocAsync(&b, MiB, s));
        break;
    case 5: { /* the memory is still the pool's */
        uint64_t all = UINT64_MAX;
        cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, &all);
        ASK(cudaMallocAsync(&a, MiB, s));
        ASK(cudaFreeAsync(a, s));
        ASK(cudaStreamSynchronize(s));
        launch_fill(a, 1, 16, s);
        ASK(cudaGetLastError());
        ASK(cudaStreamSynchronize(s));
        break;
    }
    case 6: /* used on another stream, with nothing in between */
        ASK(cudaMallocAsync(&a, MiB, s));
        launch_fill(a, 1, 16, t);
        ASK(cudaGetLastError());
        ASK(cudaStreamSynchronize(t));
        break;
    case 7: ASK(cudaMemPoolSetAccess(def, NULL, 1)); break;
    case 8:
        ASK(cudaMemPoolCreate(&p, &pr));
        ASK(cudaMemPoolDestroy(p));
        ASK(cudaMemPoolDestroy(p));
        break;
    case 9:
        ASK(cudaMemPoolCreate(&p, &pr));
        ASK(cudaMemPoolDestroy(p));
        ASK(cudaMallocFromPoolAsync(&a, 64, p, s));
        break;
    case 10:
        ASK(cudaMemPoolDestroy(def));
        ASK(cudaMallocAsync(&a, 64, s));
        break;
    case 11: ASK(cudaDeviceSetMemPool(0, 0)); break;
    case 12: ASK(cudaMallocAsync(&a, 64, (cudaStream_t)0x1234567)); break;
    case 13:
        ASK(cudaStreamDestroy(s));
        ASK(cudaMallocAsync(&a, 64, s));
        break;
    case 14: ASK(cudaMemPoolCreate(&p, 0)); break;
    case 15: ASK(cudaMemPoolCreate(0, &pr)); break;
    case 16: ASK(cudaDeviceGetMemPool(0, 0)); break;
    case 17:
        ASK(cudaMallocAsync(&a, 64, s));
        ASK(cudaMemsetAsync(a, 0, 1024, s));
        ASK(cudaStreamSynchronize(s));
        break;
    case 18:
        ASK(cudaMallocAsync(&a, 64, s));
        ASK(cudaMemsetAsync((char *)a, 0, 33 * MiB, s));
        ASK(cudaStreamSynchronize(s));
        break;
    case 19:
        ASK(cudaMallocAsync(&a, 64, s));
        ASK(cudaMemcpyAsync(a, &c, 4, cudaMemcpyHostToDevice, s));
        ASK(cudaMemcpyAsync((char *)a + 40 * MiB, &c, 4, cudaMemcpyHostToDevice, s));
        ASK(cudaStreamSynchronize(s));
        break;
    default: fprintf(stderr, "danger: expected a case from 0 to 19\n"); return 2;
    }
    puts("end");
    return 0;
}
