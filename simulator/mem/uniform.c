/* Large pages that are filled with one int. */
#include "mem/uniform.h"

#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

#define LARGE OS_LARGE_PAGE

/* Copies what is already written, in pieces that stay in the processor's cache. In a trial this was
 * about as fast as memset. */
void write_ints(void *to, int value, size_t bytes)
{
    NEEDS_LOCK();
    char *start = to;
    size_t done = bytes < sizeof value ? bytes : sizeof value;
    memcpy(start, &value, done);
    for (size_t piece; done < bytes; done += piece) {
        piece = done < 64 * KiB ? done : 64 * KiB;
        if (piece > bytes - done)
            piece = bytes - done;
        memcpy(start + done, start, piece);
    }
}

void add_to_ints(void *to, int value, size_t bytes)
{
    NEEDS_LOCK();
    int *data = to;
    for (size_t i = 0; i < bytes / sizeof *data; i++)
        data[i] += value;
}

/* Sets *first and *end to the whole pages in [offset, offset + bytes). There may be none. */
static void whole_pages(size_t offset, size_t bytes, size_t *first, size_t *end)
{
    *first = round_up(offset, LARGE) / LARGE;
    *end = (offset + bytes) / LARGE;
}

static bool is_noted(const struct uniform_pages *u, size_t page)
{
    return page < u->pages && u->bits[page / 64] >> page % 64 & 1;
}

static void forget_page(struct uniform_pages *u, size_t page)
{
    if (!is_noted(u, page))
        return;
    u->bits[page / 64] &= ~((uint64_t)1 << page % 64);
    u->count--;
}

static void settle_page(struct uniform_pages *u, char *storage, size_t page)
{
    if (!is_noted(u, page))
        return;
    forget_page(u, page);
    os_hint_hugepages(storage + page * LARGE, LARGE);
    write_ints(storage + page * LARGE, u->values[page], LARGE);
}

static void make_room(struct uniform_pages *u, size_t pages)
{
    size_t wanted = round_up(pages < 2 * u->pages ? 2 * u->pages : pages, 64);
    if (pages <= u->pages)
        return;
    u->bits = os_grow(u->bits, wanted / 8);
    u->values = os_grow(u->values, wanted * sizeof *u->values);
    memset(u->bits + u->pages / 64, 0, (wanted - u->pages) / 8);
    u->pages = wanted;
}

static void note_page(struct uniform_pages *u, size_t page, int value)
{
    make_room(u, page + 1);
    u->count += !is_noted(u, page);
    u->bits[page / 64] |= (uint64_t)1 << page % 64;
    u->values[page] = value;
}

void uniform_settle(struct uniform_pages *u, char *storage, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    for (size_t page = offset / LARGE; u->count && bytes && page <= (offset + bytes - 1) / LARGE;
         page++)
        settle_page(u, storage, page);
}

void uniform_forget(struct uniform_pages *u, size_t offset, size_t bytes)
{
    NEEDS_LOCK();
    size_t first, end;
    whole_pages(offset, bytes, &first, &end);
    for (size_t page = first; u->count && page < end && page < u->pages; page++)
        forget_page(u, page);
}

static void write_settled(struct uniform_pages *u, char *storage, size_t offset, size_t bytes,
                          int value)
{
    uniform_settle(u, storage, offset, bytes);
    write_ints(storage + offset, value, bytes);
}

void uniform_fill(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, int value)
{
    NEEDS_LOCK();
    size_t first, end, last = offset + bytes;
    whole_pages(offset, bytes, &first, &end);
    if (first >= end) {
        write_settled(u, storage, offset, bytes, value);
        return;
    }
    write_settled(u, storage, offset, first * LARGE - offset, value);
    for (size_t page = first; page < end; page++)
        note_page(u, page, value);
    write_settled(u, storage, end * LARGE, last - end * LARGE, value);
}

void uniform_add(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, int value)
{
    NEEDS_LOCK();
    for (size_t at = offset, last = offset + bytes, next; at < last; at = next) {
        next = at / LARGE * LARGE + LARGE;
        if (at % LARGE == 0 && next <= last && is_noted(u, at / LARGE)) {
            u->values[at / LARGE] = (int)((unsigned)u->values[at / LARGE] + (unsigned)value);
            continue;
        }
        settle_page(u, storage, at / LARGE);
        add_to_ints(storage + at, value, (next < last ? next : last) - at);
    }
}

void uniform_read(struct uniform_pages *u, char *storage, size_t offset, size_t bytes, char *to)
{
    NEEDS_LOCK();
    for (size_t done = 0, piece; done < bytes; done += piece) {
        size_t at = offset + done, page = at / LARGE;
        piece = LARGE - at % LARGE < bytes - done ? LARGE - at % LARGE : bytes - done;
        if (is_noted(u, page) && at % sizeof(int) == 0) {
            write_ints(to + done, u->values[page], piece);
            continue;
        }
        settle_page(u, storage, page);
        memmove(to + done, storage + at, piece);
    }
}

/* Returns whether all these bytes are noted with one int. */
static bool is_one_int(const struct uniform_pages *u, size_t offset, size_t bytes, int *value)
{
    size_t first = offset / LARGE, last = (offset + bytes - 1) / LARGE;
    for (size_t page = first; page <= last; page++)
        if (!is_noted(u, page) || u->values[page] != u->values[first])
            return false;
    *value = u->values[first];
    return true;
}

void uniform_copy(struct uniform_pages *to, char *to_storage, size_t to_offset,
                  struct uniform_pages *from, char *from_storage, size_t from_offset, size_t bytes)
{
    NEEDS_LOCK();
    bool in_step = to_offset % sizeof(int) == from_offset % sizeof(int);
    for (size_t done = 0, piece; done < bytes; done += piece) {
        size_t at = to_offset + done, source = from_offset + done;
        int value;
        piece = LARGE - at % LARGE < bytes - done ? LARGE - at % LARGE : bytes - done;
        if (in_step && piece == LARGE && is_one_int(from, source, piece, &value)) {
            note_page(to, at / LARGE, value);
            continue;
        }
        uniform_forget(to, at, piece);
        uniform_settle(to, to_storage, at, piece);
        /* Read the source without settling it. A settled page could no longer be copied as a
         * note. */
        uniform_read(from, from_storage, source, piece, to_storage + at);
    }
}

void uniform_close(struct uniform_pages *u)
{
    os_free(u->bits);
    os_free(u->values);
    *u = (struct uniform_pages){0};
}
