// Shared by the programs here: a call that fails ends the program, and its words choose a case.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t e_ = (call);                                                         \
        if (e_ != cudaSuccess) {                                                         \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

// For a main: runs the case of argv[1], with whether argv[2] is "incorrect"; or prints the names of
// all. Each of `cases` has a name; `run` takes one and the answer.
template <class Cases, class Run> int run_case(int argc, char **argv, const Cases &cases, Run run)
{
    for (const auto &c : cases) {
        if (argc < 2) {
            puts(c.name);
        } else if (!strcmp(argv[1], c.name)) {
            run(c, argc > 2 && !strcmp(argv[2], "incorrect"));
            return 0;
        }
    }
    return argc < 2 ? 0 : 2;
}

// Returns memory of the device with the numbers from 0 to count - 1.
inline int *new_numbers(int count)
{
    int *numbers, *here = new int[count];
    for (int i = 0; i < count; i++)
        here[i] = i;
    CHECK(cudaMalloc(&numbers, count * sizeof *here));
    CHECK(cudaMemcpy(numbers, here, count * sizeof *here, cudaMemcpyHostToDevice));
    delete[] here;
    return numbers;
}
