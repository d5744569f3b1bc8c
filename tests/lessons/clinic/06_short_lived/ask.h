/* Calls case 06's functions: two arrays, of which each is used in another stream, and which are
 * freed there in the other order, and a third that is freed as it was made. */

int main(int argc, char **argv)
{
    cudaStream_t streams[2];
    struct array two[2];
    ASKED_FUNCTION(struct array, array_of, int);
    ASKED_FUNCTION(void, array_free, struct array *);
    if (!asked_array_of || !asked_array_free)
        return 0;
    asked_streams(streams, 2);
    asked_border();
    for (int i = 0; i < 2; i++) {
        two[i] = asked_array_of(i + 5);
        CHECK(launch_add(two[i].data, 1, 1024, streams[i]));
        two[i].stream = streams[i];
    }
    for (int i = 1; i >= 0; i--)
        asked_array_free(&two[i]);
    two[0] = asked_array_of(7);
    asked_array_free(&two[0]);
    asked_border();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
