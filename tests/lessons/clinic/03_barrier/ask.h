/* Calls case 03's barrier for one worker and for five, and for the workers that go on behind it. */

int main(int argc, char **argv)
{
    cudaStream_t streams[6];
    int *data;
    ASKED_FUNCTION(void, barrier, cudaStream_t, const cudaStream_t *, int);
    asked_kept_lesson(argv); /* it makes what barrier uses */
    if (!asked_barrier)
        return 0;
    asked_streams(streams, 6);
    CHECK(cudaMalloc((void **)&data, 6 * 1024 * sizeof(int)));
    asked_border();
    for (int count = 1; count < 6; count += 4) {
        for (int i = 0; i < count; i++)
            CHECK(launch_fill(data + i * 1024, i, 1024, streams[i]));
        asked_barrier(streams[5], streams, count);
        CHECK(launch_add(data, 1, (size_t)count * 1024, streams[5]));
        for (int i = 0; i < count; i++) /* and the workers go on behind that */
            asked_barrier(streams[i], &streams[5], 1);
    }
    asked_border();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
