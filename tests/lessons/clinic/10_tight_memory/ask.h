/* Looks, when case 10's program destroys its pool, whether an error waits for the next
 * cudaGetLastError, and what `allocate` returns for more than the pool may hold. */

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
static int asked_looks; /* the check has called */

cudaError_t asked_cudaMemPoolDestroy(cudaMemPool_t pool)
{
    ASKED_FUNCTION(int *, allocate, size_t, cudaStream_t);
    if (asked_looks) {
        printf("\nthe last error = %s\n", cudaGetErrorName(cudaGetLastError()));
        if (asked_allocate && asked_allocate(256 * MiB, 0))
            printf("\n256 MiB = memory\n");
    }
    return cudaMemPoolDestroy(pool);
}

int main(int argc, char **argv)
{
    asked_looks = 1;
    return asked_lesson(argc, argv);
}
