/* Calls lesson 19's serve with another number of requests and another size: the arguments. The
 * check puts the lesson in front of this file, its main renamed. It prints what was expected and
 * what happened; nothing when all is as it should be. */

enum { ASKED_MOST = 64 };

int main(int argc, char **argv)
{
    int *answers, requests = argc > 1 ? atoi(argv[1]) : 1, wrong = -1;
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : MiB;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&answers, ASKED_MOST * sizeof *answers));
    memset(answers, -1, ASKED_MOST * sizeof *answers);
    serve(answers, requests, bytes);
    for (int i = ASKED_MOST; i-- > 0;)
        if (answers[i] != (i < requests ? i : -1))
            wrong = i;
    if (wrong >= 0)
        printf("Expected: serve returns with answers[i] == i for each request, whatever their "
               "number and size, and no other answer is written.\nHappened: of %d requests of %zu "
               "bytes, answers[%d] was %d (-1: not written).\n",
               requests, bytes, wrong, answers[wrong]);
    CHECK(cudaFreeHost(answers));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(busy));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
