/* Events of several processes. Law: `recorded` is the newest ticket; tickets[t % TICKETS] tells of ticket t, unless a later one has taken its place;
 * then whoever waits for t waits for that one (chosen: 256 records of one event on their way at once are enough). */
#include "ipc/ipc_event.h"

#include <string.h>

#include "ipc/remote_clock.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/engine.h"

#define MAGIC   EVENT_PAGE_MAGIC
#define TICKETS 256
#define ENTRIES 1024
#define CHECK_LIFE 20000               /* microseconds between two looks whether the other process lives */

struct ticket { uint64_t number, process, reached; };

struct page {                          /* what processes share */
    uint64_t       magic, id, lock;
    uint64_t       recorded;
    struct ticket  tickets[TICKETS];
    uint32_t       count, cut;         /* of `known`; cut: it was longer */
    struct reached known[ENTRIES];
};

struct event_page {
    struct page *page;
    int          file;
    int          device;
    uint32_t     users;
    bool         opened;               /* another process's */
    uint64_t     own_ticket;           /* of our last record, */
    const struct record *own;          /* which is this one; compared only */
    struct event_address address;
};

/* One ticket that somebody waits for. */
struct wait { struct event_page *page; uint64_t ticket, looked; };

static struct event_page *attach(int file, int device)
{
    struct page *page = host_file_size(file) >= sizeof *page ? host_file_map(file, sizeof *page) : NULL;
    if (!page) {
        host_file_close(file);
        return NULL;
    }
    struct event_page *p = host_allocate(sizeof *p);
    *p = (struct event_page){ .page = page, .file = file, .device = device, .users = 1 };
    return p;
}

struct event_page *event_page_new(int device)
{
    int file = host_memory_file();
    if (file < 0) host_say("no file in memory could be made for an interprocess event: this process has too many files open (ulimit -n).");
    if (file >= 0 && !host_file_grow(file, sizeof(struct page))) {
        host_file_close(file);
        file = -1;
    }
    struct event_page *p = file < 0 ? NULL : attach(file, device);
    if (!p) return NULL;
    p->page->id = host_random();
    p->page->magic = MAGIC;
    p->address = (struct event_address){ MAGIC, p->page->id, host_process(), file, device };
    return p;
}

struct event_page *event_page_open(const struct event_address *address)
{
    int file = address->magic == MAGIC ? host_file_of(address->process, address->number) : -1;
    struct event_page *p = file < 0 ? NULL : attach(file, address->device);
    if (!p) return NULL;
    p->opened = true;
    p->address = *address;
    if (p->page->magic == MAGIC && p->page->id == address->id) return p;
    event_page_release(p);             /* the number has been given to another file since */
    return NULL;
}

bool event_page_is_opened(const struct event_page *p) { return p->opened; }
struct event_address event_page_address(const struct event_page *p) { return p->address; }

void event_page_release(struct event_page *p)
{
    if (--p->users) return;
    host_file_unmap(p->page, sizeof *p->page);
    host_file_close(p->file);
    host_free(p);
}

/* ---- recording ---- */

static void effect_reached(struct op *op)
{
    struct wait *w = op->staged;       /* freed with the op */
    struct ticket *t = &w->page->page->tickets[w->ticket % TICKETS];
    if (__atomic_load_n(&t->number, __ATOMIC_ACQUIRE) == w->ticket) __atomic_store_n(&t->reached, 1, __ATOMIC_RELEASE);
    event_page_release(w->page);
}

void event_page_record(struct event_page *p, struct op *op)
{
    struct page *page = p->page;
    struct wait *w = host_allocate(sizeof *w);
    host_lock_between(&page->lock);
    uint64_t ticket = page->recorded + 1;
    page->count = abroad_tell(&op->record->known.everything, page->known, ENTRIES);
    page->cut = page->count > ENTRIES;
    if (page->cut) page->count = ENTRIES;
    struct ticket *t = &page->tickets[ticket % TICKETS];
    __atomic_store_n(&t->reached, 0, __ATOMIC_RELEASE);
    t->process = host_process();
    __atomic_store_n(&t->number, ticket, __ATOMIC_RELEASE);
    __atomic_store_n(&page->recorded, ticket, __ATOMIC_RELEASE);
    host_unlock_between(&page->lock);
    p->own_ticket = ticket;
    p->own = op->record;
    p->users++;
    *w = (struct wait){ p, ticket, 0 };
    op->staged = w;
    op->effect = effect_reached;
}

/* ---- waiting ---- */

static uint64_t newest(const struct event_page *p) { return __atomic_load_n(&p->page->recorded, __ATOMIC_ACQUIRE); }

bool event_page_is_ahead(const struct event_page *p, const struct record *r)
{
    return newest(p) != 0 && !(r && p->own == r && p->own_ticket == newest(p));
}

/* The newest ticket, with what comes before it. */
static uint64_t newest_known(struct event_page *p, struct order *known)
{
    struct page *page = p->page;
    host_lock_between(&page->lock);
    uint64_t ticket = page->recorded;
    uint32_t count = page->count <= ENTRIES ? page->count : ENTRIES;
    abroad_hear(known, page->known, count);
    host_unlock_between(&page->lock);
    return ticket;
}

/* Has the ticket's place been reached? Its process may also have ended before. */
static bool is_over(struct wait *w)
{
    struct ticket *t = &w->page->page->tickets[w->ticket % TICKETS];
    if (__atomic_load_n(&t->reached, __ATOMIC_ACQUIRE)) return true;
    if (host_clock() - w->looked < CHECK_LIFE) return false;
    w->looked = host_clock();
    if (host_process_alive(t->process) || __atomic_load_n(&t->reached, __ATOMIC_ACQUIRE)) return __atomic_load_n(&t->reached, __ATOMIC_ACQUIRE);
    host_say("process %d has ended before the work in front of its cudaEventRecord was done; the wait for that event ends here. Every further call returns cudaErrorExternalDevice.",
             host_process_pid(t->process));
    device_fault(cudaErrorExternalDevice);
    return true;
}

static bool outside(struct op *op) { return is_over(op->staged); }

static void effect_waited(struct op *op) { event_page_release(((struct wait *)op->staged)->page); }

void event_page_wait(struct event_page *p, struct stream *s)
{
    struct wait *w = host_allocate(sizeof *w);
    struct order known = { 0, NULL };
    *w = (struct wait){ .page = p, .ticket = newest_known(p, &known) };
    struct op *op = stream_enqueue(s, OP_OUTSIDE, 0);
    op->staged = w;
    op->outside = outside;
    op->effect = effect_waited;
    p->users++;
    order_join(&s->known.dependencies, &known);
    order_join(&s->known.everything, &known);
    order_clear(&known);
}

bool event_page_query(struct event_page *p)
{
    struct order known = { 0, NULL };
    struct wait w = { .page = p, .ticket = newest_known(p, &known) };
    bool over = is_over(&w);
    if (over && !device_faulted()) stream_host_hears(&known);
    order_clear(&known);
    return over;
}

static bool over(void *what) { return is_over(what); }

void event_page_synchronize(struct event_page *p)
{
    struct order known = { 0, NULL };
    struct wait w = { .page = p, .ticket = newest_known(p, &known) };
    p->users++;                        /* another thread may destroy the event meanwhile */
    timeline_wait_outside(over, &w);
    if (!device_faulted()) stream_host_hears(&known);
    order_clear(&known);
    event_page_release(p);
}
