/* Compares vector clocks with arrays after each of many random steps of streams that record, wait,
 * are synchronized with, and end: inside_clocks STEPS SLOTS. The streams' slots lie 1, 16 or more
 * apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "sched/vector_clock.h"

static uint64_t state;
static unsigned long step;

/* Returns a number below n. */
static uint32_t pick(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* Ends the process without what runs at an end, because the lock is held. */
static void wrong(const char *what)
{
    fprintf(stderr, "inside_clocks: after step %lu: %s\n", step, what);
    os_exit(1);
}

#define STREAMS 40
#define RECORDS 60

static uint32_t slots;

/* A clock and its expected contents: one epoch for each stream. */
struct pair {
    struct vector_clock clock;
    uint64_t epochs[STREAMS];
};

static struct {
    struct pair before;
    uint64_t last_seq;
} streams[STREAMS];
static struct {
    struct pair before;
    uint32_t stream;
    uint64_t seq;
} records[RECORDS];
static struct pair host;
/* The host's clock at some time, as others were shown it. */
static struct pair shown;

static uint32_t slot_of(uint32_t stream) { return stream * (slots / STREAMS); }

static void join_array(struct pair *into, const struct pair *from)
{
    for (int i = 0; i < STREAMS; i++)
        if (into->epochs[i] < from->epochs[i])
            into->epochs[i] = from->epochs[i];
}

static void join(struct pair *into, const struct pair *from)
{
    vc_join(&into->clock, &from->clock);
    join_array(into, from);
}

static void set(struct pair *p, uint32_t stream, uint64_t epoch)
{
    vc_set(&p->clock, slot_of(stream), epoch);
    if (p->epochs[stream] < epoch)
        p->epochs[stream] = epoch;
}

static void clear(struct pair *p)
{
    vc_clear(&p->clock);
    memset(p->epochs, 0, sizeof p->epochs);
}

static void record(uint32_t stream, uint32_t r)
{
    clear(&records[r].before);
    records[r].stream = stream;
    records[r].seq = ++streams[stream].last_seq;
    join(&records[r].before, &streams[stream].before);
}

static void wait_for(uint32_t stream, uint32_t r)
{
    struct pair *into = &streams[stream].before, *from = &records[r].before;
    if (!records[r].seq)
        return;
    streams[stream].last_seq++;
    join(into, from);
    set(into, records[r].stream, records[r].seq);
}

static void synchronize(uint32_t stream)
{
    join(&host, &streams[stream].before);
    set(&host, stream, streams[stream].last_seq);
}

static void change_clocks(void)
{
    uint32_t stream = pick(STREAMS), r = pick(RECORDS);
    switch (pick(20)) {
    case 0: synchronize(stream); break;
    case 1: join(&streams[stream].before, &host); break;
    case 9:
        clear(&shown);
        join(&shown, &host);
        break;
    case 2:
        if (pick(8) == 0)
            /* The slot now belongs to another stream, which has nothing yet. */
            clear(&streams[stream].before);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8: record(stream, r); break;
    default: wait_for(stream, r); break;
    }
}

static bool agrees(const struct pair *p)
{
    uint32_t count = 0, found = 0;
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint64_t epoch = vc_epoch(&p->clock, slot_of(i));
        if (epoch != p->epochs[i])
            return false;
        count += epoch != 0;
    }
    for (uint32_t at = vc_next(&p->clock, 0); at != CLOCK_END; at = vc_next(&p->clock, at + 1))
        found++;
    return found == count;
}

/* Returns whether a search for what `known` lacks finds the right slots in order. */
static bool differs_as_it_should(const struct pair *p, const struct pair *known)
{
    uint32_t at = vc_next_beyond(&p->clock, &known->clock, 0);
    for (uint32_t i = 0; i < STREAMS; i++) {
        if (vc_epoch(&p->clock, slot_of(i)) <= vc_epoch(&known->clock, slot_of(i)))
            continue;
        if (at != slot_of(i))
            return false;
        at = vc_next_beyond(&p->clock, &known->clock, at + 1);
    }
    return at == CLOCK_END;
}

static void check_clocks(void)
{
    uint32_t stream = pick(STREAMS), r = pick(RECORDS);
    if (!agrees(&host) || !agrees(&streams[stream].before) || !agrees(&records[r].before))
        wrong("a clock is not what the arrays say");
    if (!differs_as_it_should(&host, &shown)
        || !differs_as_it_should(&streams[stream].before, &host)
        || !differs_as_it_should(&shown, &records[r].before))
        wrong("the search for what another clock lacks does not find it");
}

int main(int argc, char **argv)
{
    unsigned long steps = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    slots = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if (!steps || slots < STREAMS) {
        fprintf(stderr, "inside_clocks: expected STEPS and SLOTS, at least %d\n", STREAMS);
        return 2;
    }
    state = 88172645463325252u;
    lock_acquire();
    for (step = 1; step <= steps; step++) {
        change_clocks();
        check_clocks();
    }
    lock_release();
    return 0;
}
