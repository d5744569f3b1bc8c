/* Asks lesson 02's measure_segment about the device that it runs on, whose pool had more memory
 * before and is empty again, and predict_reserved about segments and sizes of the check's own:
 * SEGMENT USED MANY, twice. The sizes are USED MiB, and those about MANY segments. The check puts
 * the lesson in front of this file, its main renamed. */

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
    printf("\nmeasure_segment(pool, stream) = %zu\n", measure_segment(asked_pool, asked_stream));
    for (int asked_i = 1; asked_i + 2 < argc; asked_i += 3) {
        size_t asked_segment = strtoul(argv[asked_i], NULL, 10);
        size_t asked_many = strtoul(argv[asked_i + 2], NULL, 10) * asked_segment;
        const size_t asked_used[] = {strtoul(argv[asked_i + 1], NULL, 10),
                                     1,
                                     asked_segment,
                                     asked_many - 1,
                                     asked_many,
                                     asked_many + 1,
                                     0};
        for (int asked_k = 0; asked_k < 7; asked_k++)
            printf("\npredict_reserved(%zu, %zu) = %zu\n", asked_segment, asked_used[asked_k],
                   predict_reserved(asked_segment, asked_used[asked_k]));
    }
    return 0;
}
