/* Calls case 01's buffer_create and buffer_drop, for streams of the check's own: two buffers that
 * are dropped in the other order, and one that is handed to another stream. */

int main(int argc, char **argv)
{
    cudaStream_t streams[2];
    cudaEvent_t done;
    ASKED_FUNCTION(struct buffer, buffer_create, cudaStream_t);
    ASKED_FUNCTION(void, buffer_drop, struct buffer);
    if (!asked_buffer_create || !asked_buffer_drop)
        return 0;
    asked_streams(streams, 2);
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    asked_border();
    for (int turn = 0; turn < 2; turn++) {
        struct buffer two[2];
        for (int i = 0; i < 2; i++) {
            two[i] = asked_buffer_create(streams[i]);
            CHECK(launch_fill(two[i].data, i, 1024, streams[i]));
        }
        CHECK(cudaEventRecord(done, streams[0]));
        CHECK(cudaStreamWaitEvent(streams[1], done, 0));
        CHECK(launch_add(two[0].data, 1, 1024, streams[1]));
        two[0].stream = streams[1];
        for (int i = 1; i >= 0; i--)
            asked_buffer_drop(two[i]);
    }
    asked_border();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
