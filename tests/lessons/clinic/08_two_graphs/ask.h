/* Calls case 08's functions: of three graphs the first and then the third are destroyed, and the
 * second is launched after each; then the same again. */

static void asked_launch(struct program *one)
{
    int *table;
    CHECK(cudaMallocAsync((void **)&table, 64 * MiB, stream));
    CHECK(launch_fill(table, 5, 1024, stream));
    CHECK(cudaGraphLaunch(one->exec, stream));
    CHECK(cudaFreeAsync(table, stream));
}

int main(int argc, char **argv)
{
    ASKED_FUNCTION(struct program, program_capture, int);
    ASKED_FUNCTION(void, program_destroy, struct program *);
    if (!asked_program_capture || !asked_program_destroy)
        return 0;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    asked_border();
    for (int turn = 0; turn < 2; turn++) {
        struct program three[3];
        for (int i = 0; i < 3; i++)
            three[i] = asked_program_capture(i);
        for (int i = 0; i < 3; i += 2) {
            asked_program_destroy(&three[i]);
            asked_launch(&three[1]);
        }
        asked_program_destroy(&three[1]);
    }
    asked_border();
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}
