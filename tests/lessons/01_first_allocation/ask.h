/* Calls lesson 01's use_stream with a count and values of the check's own: COUNT FIRST MORE. There
 * is no gate here: whatever waits in use_stream returns, and the journal has how long it took. The
 * check puts the lesson in front of this file, its main renamed. */

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t count = strtoul(argv[1], NULL, 10);
    int *result;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost((void **)&result, count * sizeof *result));
    memset(result, 0, count * sizeof *result);
    use_stream(result, count, atoi(argv[2]), atoi(argv[3]), stream);
    CHECK(cudaStreamSynchronize(stream));
    const size_t asked[] = {0, count / 2, count - 1};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        printf("\nresult[%zu] = %d\n", asked[i], result[asked[i]]);
    CHECK(cudaFreeHost(result));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
