/* Calls case 11's list_take and list_give for lists of the check's own: one stream grows and the
 * other takes the rest, then the other way round, and then what was given is taken. */

static ASKED_FUNCTION(int *, list_take, struct list *, struct list *);
static ASKED_FUNCTION(void, list_give, struct list *, int *);

static int *asked_take(struct list *own, struct list *other)
{
    int *range = asked_list_take(own, other);
    CHECK(launch_fill(range, 1, 1024, own->stream));
    return range;
}

int main(int argc, char **argv)
{
    struct list lists[2];
    if (!asked_list_take || !asked_list_give)
        return 0;
    for (int turn = 0; turn < 4; turn++) {
        struct list *own = &lists[turn % 2], *other = &lists[1 - turn % 2];
        if (turn % 2 == 0) {
            memset(lists, 0, sizeof lists);
            for (int i = 0; i < 2; i++) {
                CHECK(cudaStreamCreateWithFlags(&lists[i].stream, cudaStreamNonBlocking));
                CHECK(cudaEventCreateWithFlags(&lists[i].ready, cudaEventDisableTiming));
            }
        }
        if (turn == 0)
            asked_border();
        int *first = asked_take(own, other);
        asked_take(other, own);
        asked_list_give(own, first);
        int *again = asked_take(other, own);
        asked_list_give(other, again);
        asked_list_give(own, asked_take(own, other));
    }
    asked_border();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
