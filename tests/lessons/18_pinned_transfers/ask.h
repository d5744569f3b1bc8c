/* Calls lesson 18's functions with numbers of the check's own. "pay" PINNED SAVED COPIES asks
 * copies_to_pay about times in microseconds: a copy from pinned memory, what a copy saves, and
 * after how many copies that is what pinning takes. "process" KIB gives process KIB of pinned
 * memory, and then as much managed memory, of which the journal has both ends of each copy; the
 * host reads it as soon as process has returned. The check puts the lesson in front of this file,
 * its main renamed. */

static void asked_pay(size_t pinning, size_t pageable, size_t pinned)
{
    printf("\ncopies_to_pay(%zu, %zu, %zu) = %d\n", pinning, pageable, pinned,
           copies_to_pay((float)pinning, (float)pageable, (float)pinned));
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
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
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
    size_t given[3] = {0};
    for (int i = 2; i < argc && i < 5; i++)
        given[i - 2] = strtoul(argv[i], NULL, 10);
    if (argc > 4) {
        size_t pinned = given[0], saved = given[1], pinning = saved * given[2];
        asked_pay(pinning + saved / 3, pinned + saved, pinned);
        asked_pay(pinning + saved - 1, pinned + saved, pinned);
        asked_pay(pinning + 1, pinned + saved, pinned);
        asked_pay(pinning, pinned + saved, pinned);
        asked_pay(saved / 2, pinned + saved, pinned);
        asked_pay(pinning, pinned, pinned);
        asked_pay(pinning, pinned, pinned + saved);
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
