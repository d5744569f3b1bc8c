/* Calls lesson 18's functions with numbers of the check's own. "pay" PINNED SAVED COPIES asks
 * copies_to_pay about times in microseconds: a copy from pinned memory, what a copy saves, and
 * after how many copies that is what pinning takes. "process" KIB gives process KIB of pinned
 * memory, and then twice as much; the host reads it as soon as process has returned. What was
 * copied, and whether the host had waited, is in the journal. The check puts the lesson in front of
 * this file, its main renamed. */

static void asked_pay(size_t pinning, size_t pageable, size_t pinned)
{
    printf("\ncopies_to_pay(%zu, %zu, %zu) = %d\n", pinning, pageable, pinned,
           copies_to_pay((float)pinning, (float)pageable, (float)pinned));
}

static void asked_process(size_t bytes)
{
    size_t count = bytes / sizeof(int), correct = 0;
    cudaStream_t stream[2];
    int *host, *device;
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&host, bytes));
    CHECK(cudaMalloc((void **)&device, bytes));
    for (size_t i = 0; i < count; i++)
        host[i] = (int)(i % 100);
    process(host, device, count, stream);
    for (size_t i = 0; i < count; i++)
        correct += host[i] == (int)(i % 100) + 2;
    printf("\nprocess of %zu ints: increased by 2 = %zu\n", count, correct);
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    size_t given[3] = {0};
    for (int i = 2; i < argc && i < 5; i++)
        given[i - 2] = strtoul(argv[i], NULL, 10);
    if (argc > 4) {
        size_t pinned = given[0], saved = given[1], pinning = saved * given[2];
        asked_pay(pinning + saved / 3, pinned + saved, pinned);
        asked_pay(pinning + saved - 1, pinned + saved, pinned);
        asked_pay(pinning, pinned + saved, pinned);
        asked_pay(saved / 2, pinned + saved, pinned);
        asked_pay(pinning, pinned, pinned);
        asked_pay(pinning, pinned, pinned + saved);
    } else {
        asked_process(given[0] * 1024);
        asked_process(2 * given[0] * 1024);
    }
    return 0;
}
