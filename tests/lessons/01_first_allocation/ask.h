/* Calls lesson 01's use_stream with a count and values of the check's own: COUNT FIRST MORE. There
 * is no gate here: whatever waits in use_stream returns, and the journal has what it waited for.
 * The stream has work before that, so that a query in use_stream finds it busy. */

int main(int argc, char **argv)
{
    size_t asked_count = strtoul(argv[1], NULL, 10);
    int *asked_result, *asked_busy;
    cudaStream_t asked_stream;
    CHECK(cudaStreamCreate(&asked_stream));
    CHECK(cudaMallocHost((void **)&asked_result, asked_count * sizeof *asked_result));
    memset(asked_result, 0, asked_count * sizeof *asked_result);
    CHECK(cudaMalloc((void **)&asked_busy, sizeof *asked_busy));
    CHECK(launch_fill(asked_busy, 0, 1, asked_stream));
    use_stream(asked_result, asked_count, atoi(argv[2]), atoi(argv[3]), asked_stream);
    printf("\nresult[0] when use_stream returns = %d\n", asked_result[0]);
    CHECK(cudaStreamSynchronize(asked_stream));
    const size_t asked_at[] = {0, asked_count / 2, asked_count - 1};
    for (size_t asked_i = 0; asked_i < (asked_count > 1 ? 3 : 1); asked_i++)
        printf("\nresult[%zu] = %d\n", asked_at[asked_i], asked_result[asked_at[asked_i]]);
    return 0;
}
