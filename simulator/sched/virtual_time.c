/* Virtual time, and the four paces (chosen): each is another legal schedule of the same program. */
#include "sched/virtual_time.h"

#include "base/settings.h"

static time_ns now;
static uint64_t random_state;

time_ns time_now(void) { return now; }
void time_charge(time_ns cost) { now += cost; }
void time_wait_until(time_ns when) { now = time_max(now, when); }

/* xorshift64*, from SIM_SCHEDULE's seed. */
static uint64_t random_next(void)
{
    if (!random_state)
        random_state = settings.seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545F4914F6CDD1Du;
}

time_ns time_under_schedule(time_ns measured)
{
    switch (settings.schedule) {
    case SCHEDULE_INSTANT: return 0;
    /* A second: later than any host that does not wait. */
    case SCHEDULE_LATE: return measured + 1000000000u;
    case SCHEDULE_RANDOM: return (measured << (random_next() >> 32) % 16) >> 4;
    default: return measured;
    }
}
