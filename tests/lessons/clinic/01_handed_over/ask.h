/* Calls case 01's buffer_create and buffer_drop, for streams of the check's own: two buffers that
 * are dropped in the other order, and one that is handed to another stream. */

int main(int argc, char **argv)
{
    cudaStream_t streams[2];
    cudaEvent_t done;
    int known = _Generic(&buffer_drop, void (*)(struct buffer) : 1, default : 0)
              & _Generic(&buffer_create, struct buffer(*)(cudaStream_t) : 1, default : 0);
    (void)argc, (void)argv;
    if (!known)
        return 0;
    asked_streams(streams, 2);
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    asked_border();
    for (int turn = 0; turn < 2; turn++) {
        struct buffer two[2];
        for (int i = 0; i < 2; i++) {
            two[i] = ((struct buffer(*)(cudaStream_t))buffer_create)(streams[i]);
            CHECK(launch_fill(two[i].data, i, 1024, streams[i]));
        }
        CHECK(cudaEventRecord(done, streams[0]));
        CHECK(cudaStreamWaitEvent(streams[1], done, 0));
        CHECK(launch_add(two[0].data, 1, 1024, streams[1]));
        two[0].stream = streams[1];
        for (int i = 1; i >= 0; i--)
            ((void (*)(struct buffer))buffer_drop)(two[i]);
    }
    asked_border();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
