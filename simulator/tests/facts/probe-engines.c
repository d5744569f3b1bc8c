/* Records which copies a GPU makes side by side, and which one after the other: up, down, inside
 * the device, of several sizes, in one stream and in several. */
#include "engines.h"

#define K64 ((size_t)64 << 10)
#define K4  ((size_t)4 << 10)

/* Managed memory that a memset has put on the device. */
static void managed(void)
{
    size_t n = 16 * MiB;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMallocManaged((void **)&place[i].managed, n, cudaMemAttachGlobal));
        CHECK(cudaMemset(place[i].managed, 0, n));
        CHECK(cudaDeviceSynchronize());
    }
    PIECES("up 16 MiB to managed memory", {TO_MANAGED, 1, n});
    PIECES("up 2 x 16 MiB to managed memory, two streams", {TO_MANAGED, 1, n}, {TO_MANAGED, 2, n});
    PIECES("up 16 MiB to managed memory beside up 16 MiB", {TO_MANAGED, 1, n}, {UP, 2, n});
    PIECES("up 16 MiB to managed memory beside down 16 MiB", {TO_MANAGED, 1, n}, {DOWN, 2, n});
}

int main(int argc, char **argv)
{
    set_up_engines(argc, argv, 4, 64 * MiB);

    /* One direction: pieces in one stream, and in two, three and four. */
    size_t n = 16 * MiB;
    PIECES("up 16 MiB", {UP, 1, n});
    PIECES("up 2 x 16 MiB, one stream", {UP, 1, n}, {UP, 1, n});
    PIECES("up 2 x 16 MiB, two streams", {UP, 1, n}, {UP, 2, n});
    PIECES("up 3 x 16 MiB, three streams", {UP, 1, n}, {UP, 2, n}, {UP, 3, n});
    PIECES("up 4 x 16 MiB, four streams", {UP, 0, n}, {UP, 1, n}, {UP, 2, n}, {UP, 3, n});
    PIECES("up 6 x 16 MiB, three streams", {UP, 1, n}, {UP, 2, n}, {UP, 3, n}, {UP, 1, n},
           {UP, 2, n}, {UP, 3, n});
    PIECES("up 64 MiB, then 1 MiB in another stream", {UP, 1, 64 * MiB}, {UP, 2, MiB});
    PIECES("up 1 MiB, then 64 MiB in another stream", {UP, 1, MiB}, {UP, 2, 64 * MiB});
    PIECES("down 16 MiB", {DOWN, 1, n});
    PIECES("down 2 x 16 MiB, two streams", {DOWN, 1, n}, {DOWN, 2, n});
    PIECES("down 3 x 16 MiB, three streams", {DOWN, 1, n}, {DOWN, 2, n}, {DOWN, 3, n});
    PIECES("down 64 MiB, then 1 MiB in another stream", {DOWN, 1, 64 * MiB}, {DOWN, 2, MiB});

    n = 16 * MiB;
    PIECES("up beside down, 16 MiB each", {UP, 1, n}, {DOWN, 2, n});
    PIECES("2 up beside 2 down, four streams", {UP, 0, n}, {DOWN, 1, n}, {UP, 2, n}, {DOWN, 3, n});
    PIECES("up, down, up, down in two streams", {UP, 1, n}, {DOWN, 1, n}, {UP, 2, n}, {DOWN, 2, n});
    PIECES("up, down 4 x 16 MiB, taking turns in two streams", {UP, 1, n}, {DOWN, 1, n}, {UP, 2, n},
           {DOWN, 2, n}, {UP, 1, n}, {DOWN, 1, n}, {UP, 2, n}, {DOWN, 2, n});

    PIECES("up 4 KiB", {UP, 1, K4});
    PIECES("up 2 x 4 KiB, two streams", {UP, 1, K4}, {UP, 2, K4});
    PIECES("up 3 x 4 KiB, three streams", {UP, 1, K4}, {UP, 2, K4}, {UP, 3, K4});
    PIECES("down 4 KiB", {DOWN, 1, K4});
    PIECES("down 2 x 4 KiB, two streams", {DOWN, 1, K4}, {DOWN, 2, K4});
    PIECES("up 64 KiB", {UP, 1, K64});
    PIECES("up 2 x 64 KiB, two streams", {UP, 1, K64}, {UP, 2, K64});
    PIECES("up 64 KiB beside down 64 KiB", {UP, 1, K64}, {DOWN, 2, K64});
    PIECES("up 1 MiB", {UP, 1, MiB});
    PIECES("up 2 x 1 MiB, two streams", {UP, 1, MiB}, {UP, 2, MiB});
    PIECES("up 16 MiB, then 4 KiB in another stream", {UP, 1, 16 * MiB}, {UP, 2, K4});
    PIECES("up 16 MiB, then down 4 KiB in another stream", {UP, 1, 16 * MiB}, {DOWN, 2, K4});

    n = 64 * MiB;
    PIECES("inside 64 MiB", {INSIDE, 1, n});
    PIECES("inside 2 x 64 MiB, two streams", {INSIDE, 1, n}, {INSIDE, 2, n});
    PIECES("inside 64 MiB beside up 16 MiB", {INSIDE, 1, n}, {UP, 2, 16 * MiB});
    PIECES("inside 64 MiB beside down 16 MiB", {INSIDE, 1, n}, {DOWN, 2, 16 * MiB});
    PIECES("memset 64 MiB", {FILL, 1, n});
    PIECES("memset 2 x 64 MiB, two streams", {FILL, 1, n}, {FILL, 2, n});
    PIECES("memset 64 MiB beside up 16 MiB", {FILL, 1, n}, {UP, 2, 16 * MiB});

    managed();
    return 0;
}
