/* Compares device memory after fills, adds, memsets, and copies of random parts with a plain array
 * for each allocation: uniform_pages SEED STEPS. Filled large pages are only noted
 * (simulator/mem/uniform.h), which must not be visible. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "workbook.h"

#define BYTES (11 * MiB + 4096)
enum { ALLOCATIONS = 3 };

static char *device[ALLOCATIONS], *wanted[ALLOCATIONS], *seen;
static unsigned long long state;

static size_t draw(size_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (size_t)(state >> 33) % below;
}

/* Often an edge of a large page. */
static size_t draw_offset(size_t unit)
{
    size_t edge = draw(2) ? draw(BYTES / (2 * MiB) + 1) * 2 * MiB : draw(BYTES);
    return edge / unit * unit;
}

static void compare(int which, size_t from, size_t bytes)
{
    CHECK(cudaMemcpy(seen, device[which] + from, bytes, cudaMemcpyDeviceToHost));
    if (!memcmp(seen, wanted[which] + from, bytes))
        return;
    printf("allocation %d differs in [%zu, %zu)\n", which, from, from + bytes);
    exit(1);
}

static void write_ints(int which, size_t from, size_t count)
{
    int value = (int)draw(1000), *data = (int *)(wanted[which] + from);
    int adds = draw(2);
    if (adds)
        CHECK(launch_add((int *)(device[which] + from), value, count, 0));
    else
        CHECK(launch_fill((int *)(device[which] + from), value, count, 0));
    for (size_t i = 0; i < count; i++)
        data[i] = adds ? data[i] + value : value;
}

static void copy_bytes(int which, size_t from, size_t bytes)
{
    int other = (which + 1 + (int)draw(ALLOCATIONS - 1)) % ALLOCATIONS;
    size_t source = draw(2) ? from : draw(BYTES - bytes + 1);
    CHECK(cudaMemcpyAsync(device[which] + from, device[other] + source, bytes,
                          cudaMemcpyDeviceToDevice, 0));
    memcpy(wanted[which] + from, wanted[other] + source, bytes);
}

/* Rows, from the host and as a memset. */
static void write_rows(int which, size_t from, size_t bytes)
{
    size_t height = 1 + draw(5), pitch = bytes / height, width = 1 + draw(pitch + 1);
    if (width > pitch)
        return;
    int value = (int)draw(256);
    memset(seen, value, bytes);
    if (draw(2))
        CHECK(cudaMemset2DAsync(device[which] + from, pitch, value, width, height, 0));
    else
        CHECK(cudaMemcpy2D(device[which] + from, pitch, seen, pitch, width, height,
                           cudaMemcpyHostToDevice));
    for (size_t i = 0; i < height; i++)
        memset(wanted[which] + from + i * pitch, value, width);
}

static void step(void)
{
    int which = (int)draw(ALLOCATIONS);
    size_t from = draw_offset(4), end = draw_offset(4);
    if (from > end) {
        size_t first = end;
        end = from;
        from = first;
    }
    size_t kind = draw(6), bytes = end - from;
    if (kind < 2)
        write_ints(which, from, bytes / sizeof(int));
    else if (kind == 2)
        copy_bytes(which, from, bytes);
    else if (kind == 3)
        write_rows(which, from, bytes);
    else if (kind == 4) {
        size_t odd = bytes > 3 ? draw(4) : 0;
        memset(wanted[which] + from + odd, (int)bytes & 255, bytes - odd);
        CHECK(cudaMemsetAsync(device[which] + from + odd, (int)bytes & 255, bytes - odd, 0));
    } else
        compare(which, from + draw(bytes + 1), draw(5));
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    seen = malloc(BYTES + 8);
    for (int i = 0; i < ALLOCATIONS; i++) {
        CHECK(cudaMalloc((void **)&device[i], BYTES + 8));
        CHECK(cudaMemset(device[i], 0, BYTES + 8));
        wanted[i] = calloc(1, BYTES + 8);
    }
    for (int steps = argc > 2 ? atoi(argv[2]) : 100; steps--;)
        step();
    for (int i = 0; i < ALLOCATIONS; i++) {
        compare(i, 0, BYTES);
        CHECK(cudaFree(device[i]));
    }
    puts("all as expected");
    return 0;
}
