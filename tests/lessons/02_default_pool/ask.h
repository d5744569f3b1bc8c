/* Asks lesson 02's measure_segment about the device that it runs on, whose pool had more memory
 * before and is empty again, and predict_reserved about segments and sizes of the check's own:
 * SEGMENT USED..., in MiB. */

int main(int argc, char **argv)
{
    void *asked_data;
    cudaStream_t asked_stream;
    cudaMemPool_t asked_pool;
    CHECK(cudaStreamCreate(&asked_stream));
    CHECK(cudaDeviceGetDefaultMemPool(&asked_pool, 0));
    CHECK(cudaMallocAsync(&asked_data, 2500 * MiB, asked_stream));
    CHECK(cudaFreeAsync(asked_data, asked_stream));
    CHECK(cudaStreamSynchronize(asked_stream));
    for (int asked_i = 1; asked_i + 1 < argc; asked_i += 2) {
        size_t asked_segment = strtoul(argv[asked_i], NULL, 10);
        size_t asked_used = strtoul(argv[asked_i + 1], NULL, 10);
        printf("\npredict_reserved(%zu, %zu) = %zu\n", asked_segment, asked_used,
               predict_reserved(asked_segment, asked_used));
    }
    fflush(stdout); /* measure_segment may not return */
    printf("\nmeasure_segment(pool, stream) = %zu\n", measure_segment(asked_pool, asked_stream));
    return 0;
}
