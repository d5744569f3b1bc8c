/* A hash table of live ranges by offset. */
#include "mem/allocation_index.h"

#include "mem/heap.h"
#include "os/os.h"

static struct range **bucket_of(const struct allocation_index *index, size_t offset)
{
    return &index->buckets[(offset / ALIGNMENT * 0x9E3779B97F4A7C15u) >> (64 - index->bits)];
}

void allocation_index_close(struct allocation_index *index)
{
    os_free(index->buckets);
    *index = (struct allocation_index){.count = 0};
}

static void insert(struct allocation_index *index, struct range *r)
{
    struct range **bucket = bucket_of(index, r->offset);
    r->same_bucket = *bucket;
    *bucket = r;
}

/* Doubles the number of buckets. */
static void grow(struct allocation_index *index)
{
    struct allocation_index old = *index;
    index->bits = old.buckets ? old.bits + 1 : 8;
    index->bucket_count = (size_t)1 << index->bits;
    index->buckets = os_allocate_table(index->bucket_count * sizeof(struct range *));
    for (size_t i = 0; i < old.bucket_count; i++)
        for (struct range *r = old.buckets[i], *next; r; r = next) {
            next = r->same_bucket;
            insert(index, r);
        }
    os_free(old.buckets);
}

void allocation_index_insert(struct allocation_index *index, struct range *r)
{
    if (index->count++ * 2 >= index->bucket_count)
        grow(index);
    insert(index, r);
}

void allocation_index_remove(struct allocation_index *index, struct range *r)
{
    struct range **at = bucket_of(index, r->offset);
    while (*at != r)
        at = &(*at)->same_bucket;
    *at = r->same_bucket;
    index->count--;
}

struct range *allocation_index_find(const struct allocation_index *index, size_t offset)
{
    struct range *r = index->count ? *bucket_of(index, offset) : NULL;
    while (r && r->offset != offset)
        r = r->same_bucket;
    return r;
}
