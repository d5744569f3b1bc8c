/* Looks at what case 10's program has left when it destroys its pool: whether an error waits for
 * the next cudaGetLastError. */

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
static int asked_looks; /* the check has called */

cudaError_t asked_cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (asked_looks)
        printf("\nthe last error = %s\n", cudaGetErrorName(cudaGetLastError()));
    return cudaMemPoolDestroy(pool);
}

int main(int argc, char **argv)
{
    asked_looks = 1;
    return asked_lesson(argc, argv);
}
