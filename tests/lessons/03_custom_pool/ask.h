/* Calls lesson 03's empty_pool with COUNT allocations of the check's own. Allocation number WHICH
 * has a wrong value, and the others have what fill_pool would put into them. */

int main(int argc, char **argv)
{
    cudaStream_t asked_stream;
    CHECK(cudaStreamCreate(&asked_stream));
    int asked_count = atoi(argv[1]), asked_which = atoi(argv[2]);
    for (count = 0; count < asked_count; count++) {
        CHECK(cudaMallocAsync((void **)&data[count], MiB, asked_stream));
        CHECK(launch_fill(data[count], count == asked_which ? -7 : count, 1, asked_stream));
    }
    printf("\nempty_pool(stream) = %d\n", empty_pool(asked_stream));
    return 0;
}
