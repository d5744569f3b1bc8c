/* A thread's contexts are a stack; the current one is on top (documented). */
#include "api/context.h"

#include "base/device_state.h"
#include "base/handle.h"
#include "os/needs_lock.h"
#include "os/os.h"

#define STACK_MAX 64

static struct context primaries[MAX_DEVICES];
static bool initialized;
static bool runtime_has_used[MAX_DEVICES];
static unsigned created;
static uint64_t last_id;

/* The stack holds handles, because a context may end while it is in another thread's stack. */
static _Thread_local void *stack[STACK_MAX];
static _Thread_local unsigned depth;
static _Thread_local bool calls_runtime;

void context_initialize(void)
{
    NEEDS_LOCK();
    initialized = true;
}

bool context_is_initialized(void)
{
    NEEDS_LOCK();
    return initialized;
}

static void make_handle(struct context *c)
{
    c->handle = handle_new(HANDLE_CONTEXT, c);
    c->id = ++last_id;
}

struct context *context_primary(int device)
{
    NEEDS_LOCK();
    struct context *c = &primaries[device];
    if (!c->handle) {
        c->device = device;
        c->is_primary = true;
        make_handle(c);
    }
    return c;
}

bool context_is_active(const struct context *c)
{
    NEEDS_LOCK();
    return !c->is_primary || c->references || runtime_has_used[c->device];
}

struct context *context_new(int device, unsigned flags)
{
    NEEDS_LOCK();
    struct context *c = os_allocate(sizeof *c);
    *c = (struct context){.device = device, .flags = flags};
    make_handle(c);
    created++;
    return c;
}

/* Makes the handle invalid, also in the stacks of threads. */
static void retire(struct context *c)
{
    handle_retire(HANDLE_CONTEXT, c->handle);
    c->handle = NULL;
}

void context_reset_primary(int device)
{
    NEEDS_LOCK();
    primaries[device].flags = 0;
    runtime_has_used[device] = false;
}

void context_end_primary(int device)
{
    NEEDS_LOCK();
    retire(&primaries[device]);
    context_reset_primary(device);
}

void context_end(struct context *c)
{
    NEEDS_LOCK();
    retire(c);
    created--;
    os_free(c);
}

struct context *context_of(const void *handle)
{
    NEEDS_LOCK();
    return handle ? handle_object(HANDLE_CONTEXT, handle) : NULL;
}

unsigned context_count_created(void)
{
    NEEDS_LOCK();
    return created;
}

/* ---- the current context ---- */

/* The first call of the runtime on a device takes its primary context; later calls need nothing. */
void context_used_by_runtime(void)
{
    calls_runtime = true;
    context_begin_primary(device_current());
}

void context_begin_primary(int device)
{
    if (runtime_has_used[device])
        return;
    initialized = true;
    runtime_has_used[device] = true;
}

struct context *context_current(void)
{
    NEEDS_LOCK();
    if (!depth && calls_runtime)
        context_push(context_primary(device_current()));
    return depth ? context_of(stack[depth - 1]) : NULL;
}

bool context_is_destroyed(void)
{
    NEEDS_LOCK();
    return depth && !context_of(stack[depth - 1]);
}

void context_set_device(int device)
{
    NEEDS_LOCK();
    device_set_current(device);
    if (depth)
        stack[depth - 1] = context_primary(device)->handle;
}

void context_set_current(struct context *c)
{
    NEEDS_LOCK();
    if (depth)
        depth--;
    /* Without a current context, the runtime's next call takes the primary one (documented). */
    if (!c)
        calls_runtime = false;
    else
        context_push(c);
}

void context_push(struct context *c)
{
    NEEDS_LOCK();
    if (depth == STACK_MAX)
        os_fatal("more than %d contexts are in the stack of a thread: cuCtxPopCurrent is missing.",
                 STACK_MAX);
    stack[depth++] = c->handle;
    device_set_current(c->device);
}

struct context *context_pop(void)
{
    NEEDS_LOCK();
    struct context *c = context_current();
    if (!c)
        return NULL;
    depth--;
    struct context *next = depth ? context_of(stack[depth - 1]) : NULL;
    if (next)
        device_set_current(next->device);
    calls_runtime = false;
    return c;
}
