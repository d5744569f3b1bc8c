/* Calls lesson 19's work_together with pools of the check's own: one of the host, with COUNT ints
 * (the argument), and one of a NUMA node of the host, with half as many and one more. How many of
 * them are 42 afterwards is what a kernel then fills one int with: that number, and what
 * work_together did, is in the journal. */

static void asked_together(enum cudaMemLocationType type, size_t count)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .location = {type}};
    cudaMemPool_t pool;
    cudaStream_t stream;
    int *data, *number, correct = 0;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&number, sizeof *number));
    CHECK(cudaMemsetAsync(number, 0, sizeof *number, stream)); /* what it still has to do */
    CHECK(cudaMallocFromPoolAsync((void **)&data, count * sizeof *data, pool, stream));
    (void)work_together(pool, data, count, stream);
    (void)*(volatile int *)data; /* before anybody else has waited */
    CHECK(cudaDeviceSynchronize());
    for (size_t i = 0; i < count; i++)
        correct += data[i] == 42;
    CHECK(launch_fill(number, correct, 1, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    size_t count = strtoul(argv[1], NULL, 10);
    asked_together(cudaMemLocationTypeHost, count);
    asked_together(cudaMemLocationTypeHostNuma, count / 2 + 1);
    return 0;
}
