/* Calls lesson 19's work_together with COUNT ints (the first argument), and with a launch_add of
 * the check's own, which makes the int at PLACE (the second) another number: how many are 42 only a
 * function that looks at them can return. */

static const int *asked_at;

struct asked_add {
    int *data, value;
    size_t count;
};

static void asked_adds(void *argument)
{
    struct asked_add *add = argument;
    for (size_t i = 0; i < add->count; i++)
        add->data[i] += add->value + (add->data + i == asked_at);
    free(add);
}

cudaError_t launch_add(int *data, int value, size_t count, cudaStream_t stream)
{
    struct asked_add *add = malloc(sizeof *add);
    *add = (struct asked_add){data, value, count};
    return cudaLaunchHostFunc(stream, asked_adds, add);
}

int main(int argc, char **argv)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeHost, 0}};
    cudaMemPool_t pool;
    cudaStream_t stream;
    int *data;
    size_t count = strtoul(argv[1], NULL, 10);
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocFromPoolAsync((void **)&data, count * sizeof *data, pool, stream));
    asked_at = data + strtoul(argv[2], NULL, 10);
    printf("\nwork_together with %zu ints, one of them not 42, = %zu\n", count,
           work_together(pool, data, count, stream));
    return 0;
}
