/* Calls lesson 01's use_stream with a count and values of the check's own: COUNT FIRST MORE. The
 * check puts the lesson in front of this file, its main renamed. What the lesson prints is dropped;
 * the first element that is not FIRST + MORE is reported. It ends without a leak check, which the
 * lesson's own run has. */
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t count = strtoul(argv[1], NULL, 10), i = 0;
    int first = atoi(argv[2]), more = atoi(argv[3]), out = dup(1), *result;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&result, count * sizeof *result));
    memset(result, 0, count * sizeof *result);
    volatile int *gate = gate_create();
    CHECK(launch_hold(gate, stream));
    /* Standard input is a file that cannot be written. */
    setvbuf(stdout, NULL, _IONBF, 0);
    dup2(0, 1);
    use_stream(result, count, first, more, stream);
    gate_open(gate);
    CHECK(cudaStreamSynchronize(stream));
    dup2(out, 1);
    while (i < count && result[i] == first + more)
        i++;
    if (i < count)
        printf("Expected: with first = %d, more = %d and %zu elements, each element of result is "
               "%d.\nHappened: element %zu is %d.\n",
               first, more, count, first + more, i, result[i]);
    asked_leave();
    return 0;
}
