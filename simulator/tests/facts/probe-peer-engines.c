/* Records which copies between two GPUs are made side by side, and which one after the other. */
#include "engines.h"

int main(int argc, char **argv)
{
    size_t n = 64 * MiB;
    set_up_engines(argc, argv, 4, n);
    CHECK(cudaSetDevice(1));
    for (int i = 0; i < MOST_PIECES; i++) {
        CHECK(cudaMalloc((void **)&place[i].other, n));
        CHECK(cudaEventCreateWithFlags(&ended[1][i], cudaEventDisableTiming));
    }
    for (int i = 4; i < MOST_STREAMS; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CHECK(cudaSetDevice(0));
    for (int enabled = 0; enabled < 2; enabled++) {
        puts(enabled ? "peer access enabled" : "without peer access");
        PIECES("0 to 1, 64 MiB, a stream of GPU 0", {OVER, 1, n});
        PIECES("0 to 1, 64 MiB, a stream of GPU 1", {OVER, 5, n});
        PIECES("1 to 0, 64 MiB, a stream of GPU 0", {BACK, 1, n});
        PIECES("0 to 1, 2 x 64 MiB, two streams of GPU 0", {OVER, 1, n}, {OVER, 2, n});
        PIECES("0 to 1, 2 x 64 MiB, a stream of each GPU", {OVER, 1, n}, {OVER, 5, n});
        PIECES("0 to 1, 3 x 64 MiB, three streams of GPU 0", {OVER, 1, n}, {OVER, 2, n},
               {OVER, 3, n});
        PIECES("0 to 1 beside 1 to 0, streams of GPU 0", {OVER, 1, n}, {BACK, 2, n});
        PIECES("0 to 1 beside 1 to 0, a stream of each GPU", {OVER, 1, n}, {BACK, 5, n});
        PIECES("0 to 1, 64 MiB, beside up 16 MiB to GPU 0", {OVER, 1, n}, {UP, 2, 16 * MiB});
        PIECES("0 to 1, 64 MiB, beside down 16 MiB from GPU 0", {OVER, 1, n}, {DOWN, 2, 16 * MiB});
        PIECES("1 to 0, 64 MiB, beside up 16 MiB to GPU 0", {BACK, 1, n}, {UP, 2, 16 * MiB});
        PIECES("0 to 1, 64 MiB, beside inside 64 MiB", {OVER, 1, n}, {INSIDE, 2, n});
        if (!enabled) {
            CHECK(cudaDeviceEnablePeerAccess(1, 0));
            CHECK(cudaSetDevice(1));
            CHECK(cudaDeviceEnablePeerAccess(0, 0));
            CHECK(cudaSetDevice(0));
        }
    }
    return 0;
}
