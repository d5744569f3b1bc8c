/* Asks lesson 02's measure_segment about the device that it runs on, and predict_reserved about a
 * segment and a size of the check's own: the arguments SEGMENT and USED, in MiB. The check puts the
 * lesson in front of this file, its main renamed. */

int main(int argc, char **argv)
{
    if (argc < 3)
        return 1;
    cudaStream_t stream;
    cudaMemPool_t pool;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    printf("\nmeasure_segment(pool, stream) = %zu\n", measure_segment(pool, stream));
    size_t segment = strtoul(argv[1], NULL, 10), used = strtoul(argv[2], NULL, 10);
    const size_t sizes[] = {used, 1, segment, 3 * segment - 1, 3 * segment, 3 * segment + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        printf("\npredict_reserved(%zu, %zu) = %zu\n", segment, sizes[i],
               predict_reserved(segment, sizes[i]));
    return 0;
}
