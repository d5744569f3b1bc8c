/* Calls case 04's block_take and block_give_back, when its main has made what they use: for two
 * streams of the check's own in turn, twice, and then for cudaStreamPerThread in two threads. */

#define cudaStreamPerThread ((cudaStream_t)0x2)

static ASKED_FUNCTION(int *, block_take, cudaStream_t);
static ASKED_FUNCTION(void, block_give_back, int *, cudaStream_t);
static void *asked_taken[8];
static int asked_count;

static void asked_turn(cudaStream_t stream)
{
    int *block = asked_block_take(stream);
    asked_taken[asked_count++] = block;
    for (int i = 0; i < 3; i++)
        CHECK(launch_fill(block, i, 1024, stream));
    asked_block_give_back(block, stream);
}

static void *asked_thread(void *unused)
{
    asked_turn(cudaStreamPerThread);
    return unused;
}

int main(int argc, char **argv)
{
    cudaStream_t streams[2];
    pthread_t thread;
    asked_kept_lesson(argv);
    if (!asked_block_take || !asked_block_give_back)
        return 0;
    asked_streams(streams, 2);
    asked_border();
    for (int i = 0; i < 4; i++)
        asked_turn(streams[i % 2]);
    asked_turn(cudaStreamPerThread);
    if (pthread_create(&thread, NULL, asked_thread, NULL) || pthread_join(thread, NULL))
        return 1;
    asked_turn(streams[0]);
    int same = 1;
    for (int i = 1; i < asked_count; i++)
        same &= asked_taken[i] == asked_taken[0];
    printf("\nthe same block = %d\n", same);
    asked_border();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
