/* The list of free chunks against a search of all of them, after every one of a great number of
 * random steps: the best fit under a limit, the next in order, and the list's own laws. Few sizes
 * make long chains, many a deep tree; some chunks come back with an old age.
 *
 *   inside_fit STEPS SIZES [SEED] */
#define _GNU_SOURCE
#include "mem/free_list.h"
#include "walk.h"

#define CHUNKS 200

static struct {
    struct free_node fit;
    bool listed;
} chunks[CHUNKS];
static struct free_list list;
static uint64_t ages;

static bool is_before(const struct free_node *a, const struct free_node *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->insertion < b->insertion;
}

/* The first in order behind `after` (NULL: of all) with at least `bytes` and a mark of at most
 * `limit`. */
static struct free_node *search(const struct free_node *after, size_t bytes, uint64_t limit)
{
    struct free_node *first = NULL;
    for (int i = 0; i < CHUNKS; i++) {
        struct free_node *f = &chunks[i].fit;
        if (chunks[i].listed && f->bytes >= bytes && f->free_seq <= limit
            && (!after || is_before(after, f)) && (!first || is_before(f, first)))
            first = f;
    }
    return first;
}

static size_t size(uint32_t sizes) { return ALIGNMENT * (1 + pick(sizes)) * (pick(2) ? 1 : 77); }

/* An age that no chunk has: even and new, or odd and anywhere among the old ones. */
static uint64_t age(void)
{
    if (pick(10))
        return ages += 2;
    uint64_t old = 2 * (uint64_t)pick((uint32_t)ages / 2 + 1) + 1;
    for (int i = 0; i < CHUNKS; i++)
        if (chunks[i].fit.insertion == old)
            return ages += 2;
    return old;
}

/* Puts a chunk that is not in the list into it, or takes it out. */
static void change(int i, uint32_t sizes)
{
    struct free_node *f = &chunks[i].fit;
    if (chunks[i].listed)
        free_list_remove(&list, f);
    else {
        f->bytes = size(sizes);
        f->insertion = age();
        f->free_seq = pick(3) ? ages : pick((uint32_t)ages + 1);
        free_list_insert(&list, f);
    }
    chunks[i].listed = !chunks[i].listed;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "inside_fit STEPS SIZES [SEED]\n");
        return 2;
    }
    unsigned long steps = strtoul(argv[1], NULL, 10);
    uint32_t sizes = (uint32_t)strtoul(argv[2], NULL, 10);
    state = 88172645463325252u + (argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
    for (step = 1; step <= steps; step++) {
        change((int)pick(CHUNKS), sizes);
        size_t bytes = size(sizes), count = 0;
        uint64_t limit = pick(3) ? pick((uint32_t)ages + 1) : UINT64_MAX;
        uint32_t from = pick(CHUNKS);
        for (int i = 0; i < CHUNKS; i++)
            count += chunks[i].listed;
        if (free_list_best_fit(&list, bytes, limit) != search(NULL, bytes, limit))
            wrong("free_list_best_fit does not find the best fit");
        if (free_list_has(&list, limit) != (search(NULL, 0, limit) != NULL))
            wrong("free_list_has does not know whether there is one");
        if (chunks[from].listed
            && free_list_next(&chunks[from].fit, limit) != search(&chunks[from].fit, 0, limit))
            wrong("free_list_next does not find the next");
        if (free_list_count_valid(&list) != count)
            wrong("the list is out of order, or lacks a chunk");
    }
    return 0;
}
