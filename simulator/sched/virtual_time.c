/* Virtual time, and the four schedules (assumed), each of which is a legal run of the program. */
#include "sched/virtual_time.h"

#include "base/settings.h"
#include "os/needs_lock.h"

time_ns virtual_now;

/* Needs the lock. `state` is 0 until the first random number. */
static struct {
    uint64_t state;
} random_numbers;

/* xorshift64*, from SIM_SCHEDULE's seed. */
static uint64_t random_next(void)
{
    uint64_t x = random_numbers.state;
    if (!x)
        x = settings.seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random_numbers.state = x;
    return x * 0x2545F4914F6CDD1Du;
}

unsigned random_below(unsigned n)
{
    NEEDS_LOCK();
    return (unsigned)(random_next() >> 32) % n;
}

time_ns command_duration(time_ns fixed, time_ns each_gib, size_t bytes)
{
    NEEDS_LOCK();
    return fixed + (time_ns)((double)each_gib * (double)bytes / (double)GiB);
}

time_ns time_under_schedule(time_ns measured)
{
    NEEDS_LOCK();
    switch (settings.schedule) {
    case SCHEDULE_INSTANT: return 0;
    /* Any host that does not wait has done its work within this second. */
    case SCHEDULE_LATE: return measured + 1000000000u;
    case SCHEDULE_RANDOM: return (measured << (random_next() >> 32) % 16) >> 4;
    case SCHEDULE_MEASURED: break;
    }
    return measured;
}
