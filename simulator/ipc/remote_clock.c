/* Order across processes. Rule: a lane of ours that stands for a foreign one never holds work; it only has numbers. */
#include "ipc/remote_clock.h"

#include "os/os.h"
#include "os/process.h"
#include "sched/stream.h"

struct foreign { uint64_t process; uint32_t lane, here; };

static struct foreign *known;
static uint32_t count, capacity;

uint32_t abroad_lane(uint64_t process, uint32_t lane)
{
    if (process == host_process()) return lane;
    for (uint32_t i = 0; i < count; i++)
        if (known[i].process == process && known[i].lane == lane) return known[i].here;
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 16;
        known = host_grow(known, capacity * sizeof *known);
    }
    known[count] = (struct foreign){ process, lane, stream_new_lane() };
    return known[count++].here;
}

/* Whose lane is it? */
static struct reached origin(uint32_t here)
{
    for (uint32_t i = 0; i < count; i++)
        if (known[i].here == here) return (struct reached){ .process = known[i].process, .lane = known[i].lane };
    return (struct reached){ .process = host_process(), .lane = here };
}

uint32_t abroad_tell(const struct order *o, struct reached *list, uint32_t room)
{
    uint32_t told = 0;
    for (uint32_t lane = 0; lane < o->lanes; lane++) {
        if (!o->reached[lane]) continue;
        if (told < room) {
            list[told] = origin(lane);
            list[told].number = o->reached[lane];
        }
        told++;
    }
    return told;
}

void abroad_hear(struct order *o, const struct reached *list, uint32_t entries)
{
    for (uint32_t i = 0; i < entries; i++) order_raise(o, abroad_lane(list[i].process, list[i].lane), list[i].number);
}
