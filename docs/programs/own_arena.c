/* The pieces of code that lesson 21 offers to copy, with the arena of its solution. */
#define main lesson_main
#include "../../solutions/21_own_arena.c"
#undef main

static void run_one_frame(struct arena arena, const size_t bytes[2], cudaStream_t stream[2])
{
    void *part[2];
    /* [frame */
    arena_want(&arena, &part[0], bytes[0]);
    arena_want(&arena, &part[1], bytes[1]);
    arena_commit(&arena, stream);
    /* Two streams work in the two parts. */
    arena_reset(&arena, stream);
    /* frame] */
    arena_delete(&arena, stream[0]);
}

static void order_frames(cudaEvent_t done, cudaStream_t stream, cudaStream_t other)
{
    /* [order */
    CHECK(cudaEventRecord(done, stream));       /* at the reset, in each stream */
    CHECK(cudaStreamWaitEvent(other, done, 0)); /* at the commit, in the other one */
    /* order] */
}

int main(void)
{
    cudaStream_t stream[2];
    cudaEvent_t done;
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    run_one_frame(arena_new(0, MiB, 256), (const size_t[]){1000, 400}, stream);
    order_frames(done, stream[0], stream[1]);
    CHECK(cudaEventDestroy(done));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamSynchronize(stream[i]));
        CHECK(cudaStreamDestroy(stream[i]));
    }
    return 0;
}
