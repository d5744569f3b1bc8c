/* Vector clocks: the join of two is the larger of each lane. */
#include "sched/vector_clock.h"

#include <string.h>

#include "os/os.h"

static void widen(struct order *o, uint32_t lanes)
{
    if (lanes <= o->lanes) return;
    uint32_t wanted = (lanes + 7u) & ~7u;
    o->reached = host_grow(o->reached, wanted * sizeof *o->reached);
    memset(o->reached + o->lanes, 0, (wanted - o->lanes) * sizeof *o->reached);
    o->lanes = wanted;
}

void order_raise(struct order *o, uint32_t lane, uint64_t number)
{
    widen(o, lane + 1);
    if (o->reached[lane] < number) o->reached[lane] = number;
}

void order_join(struct order *into, const struct order *from)
{
    widen(into, from->lanes);
    for (uint32_t i = 0; i < from->lanes; i++)
        if (into->reached[i] < from->reached[i]) into->reached[i] = from->reached[i];
}

void order_clear(struct order *o)
{
    host_free(o->reached);
    *o = (struct order){ 0, NULL };
}

void knowledge_join(struct knowledge *into, const struct knowledge *from)
{
    order_join(&into->dependencies, &from->dependencies);
    order_join(&into->everything, &from->everything);
}

void knowledge_raise(struct knowledge *k, uint32_t lane, uint64_t number)
{
    order_raise(&k->dependencies, lane, number);
    order_raise(&k->everything, lane, number);
}

void knowledge_clear(struct knowledge *k)
{
    order_clear(&k->dependencies);
    order_clear(&k->everything);
}
