/* Records what copies in rows return that reach beyond their memory: of a host pool, without and
 * with access of the device, and of the host itself. One process each: some may hang or die. */
#include "probe.h"

enum { PITCH = 512, WIDTH = 3 };

static char *p, *ordinary; /* 1 MiB each: 2048 rows */

static void prepare(int granted)
{
    cudaMemPool_t pool = make_pool(PINNED, HOST, 0);
    ordinary = malloc(MiB);
    memset(ordinary, 1, MiB);
    p = ready_memory(pool, MiB);
    memset(p, 1, MiB);
    if (granted)
        give_access(pool, location_of(DEVICE, 0), cudaMemAccessFlagsProtReadWrite);
}

#define ROWS(to, from, height) \
    RECORD(cudaMemcpy2DAsync(to, PITCH, from, PITCH, WIDTH, height, cudaMemcpyDefault, s))

static void end(void) { RECORD(cudaStreamSynchronize(s)); }

static void as_many_as_there_are(int granted)
{
    prepare(granted);
    ROWS(m, p, 2048);
    ROWS(p, m, 2048);
    ROWS(ordinary, p, 2048);
    end();
}
CASE(fit) { as_many_as_there_are(0); }
CASE(fit_granted) { as_many_as_there_are(1); }

/* Asks about `height` rows between two memories of 1 MiB each; `m` of the device is one of them. */
#define ENDLESS(name, granted, to, from, height) \
    CASE(name)                                   \
    {                                            \
        prepare(granted);                        \
        ROWS(to, from, height);                  \
        end();                                   \
    }
ENDLESS(one_more_down, 0, ordinary, p, 2049)
ENDLESS(one_more_up, 0, p, ordinary, 2049)
ENDLESS(one_more_down_granted, 1, ordinary, p, 2049)
ENDLESS(many_from_pool, 0, ordinary, p, (size_t)1 << 32)
ENDLESS(many_to_pool, 0, p, ordinary, (size_t)1 << 32)
ENDLESS(many_from_pool_granted, 1, ordinary, p, (size_t)1 << 32)
ENDLESS(many_to_pool_granted, 1, p, ordinary, (size_t)1 << 32)
ENDLESS(many_to_device, 0, m, p, (size_t)1 << 32)
ENDLESS(round_the_end, 0, ordinary, p, SIZE_MAX)
ENDLESS(round_the_end_granted, 1, ordinary, p, SIZE_MAX)
ENDLESS(ordinary_memory, 0, ordinary, ordinary, (size_t)1 << 32)

int main(int argc, char **argv) { return run_cases(argc, argv); }
