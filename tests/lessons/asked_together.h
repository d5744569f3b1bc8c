/* Calls lesson 18's work_together with pools of the check's own: one of the host, and one of a NUMA
 * node of the host. The argument: how many ints. The check puts the lesson in front of this file,
 * its main renamed. It prints what was expected and what happened, of the first that is wrong;
 * nothing when all is right. */

static int asked_together(const char *name, enum cudaMemLocationType type, size_t count)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .location = {type}};
    cudaMemPool_t pool;
    cudaStream_t stream;
    int *data;
    size_t correct = 0;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocFromPoolAsync((void **)&data, count * sizeof *data, pool, stream));
    size_t returned = work_together(pool, data, count, stream);
    CHECK(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++)
        correct += data[i] == 42;
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    if (correct == count && returned == count)
        return 0;
    printf("Expected: work_together uses the pool, the stream and the count that it is given, and "
           "returns how many ints are 42.\n"
           "Happened: with %zu ints from a pool of %s, %zu of them became 42, and it returned "
           "%zu.\n",
           count, name, correct, returned);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 1;
    size_t count = strtoul(argv[1], NULL, 10);
    if (!asked_together("the host", cudaMemLocationTypeHost, count))
        asked_together("a NUMA node of the host", cudaMemLocationTypeHostNuma, count / 2 + 1);
    return 0;
}
