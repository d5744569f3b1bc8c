/* Calls lesson 18's functions with numbers of the check's own. "pay" asks copies_to_pay about the
 * times that follow, in threes, in eighths of a microsecond: what pinning takes, a copy from
 * pageable memory, and one from pinned memory. "process" KIB gives process KIB of pinned memory,
 * and then as much managed memory, of which the journal has both ends of each copy; the host reads
 * it as soon as process has returned. */

static void asked_pay(const size_t *eighths)
{
    float pinning = (float)eighths[0] / 8, pageable = (float)eighths[1] / 8,
          pinned = (float)eighths[2] / 8;
    printf("\ncopies_to_pay(%.3f, %.3f, %.3f) = %d\n", pinning, pageable, pinned,
           copies_to_pay(pinning, pageable, pinned));
}

static size_t asked_increased(const volatile int *host, size_t count)
{
    size_t increased = 0;
    for (size_t i = 0; i < count; i++)
        increased += host[i] == (int)(i % 100) + 2;
    return increased;
}

static void asked_process(const char *kind, int *host, int *device, size_t count)
{
    cudaStream_t stream[2];
    asked_streams(stream, 2);
    for (size_t i = 0; i < count; i++)
        host[i] = (int)(i % 100);
    process(host, device, count, stream);
    asked_increased(host, count);
    CHECK(cudaDeviceSynchronize());
    printf("\nprocess of %zu ints of %s memory, increased by 2 = %zu\n", count, kind,
           asked_increased(host, count));
}

int main(int argc, char **argv)
{
    size_t given[24] = {0};
    for (int i = 2; i < argc && i < 26; i++)
        given[i - 2] = strtoul(argv[i], NULL, 10);
    if (strcmp(argv[1], "pay") == 0) {
        for (int i = 0; i + 4 < argc && i < 24; i += 3)
            asked_pay(given + i);
    } else {
        size_t bytes = given[0] * 1024;
        int *pinned, *managed, *device[2];
        CHECK(cudaMallocHost((void **)&pinned, bytes));
        CHECK(cudaMallocManaged((void **)&managed, bytes, 1));
        CHECK(cudaMalloc((void **)&device[0], bytes));
        CHECK(cudaMalloc((void **)&device[1], bytes));
        asked_process("pinned", pinned, device[0], bytes / sizeof(int));
        asked_process("managed", managed, device[1], bytes / sizeof(int));
    }
    return 0;
}
