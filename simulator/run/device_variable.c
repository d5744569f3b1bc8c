/* Variables of device code are memory like cudaMalloc's. They exist before the program's first
 * call, or as long as the module that the program has loaded, and are no leaks. */
#include "run/device_variable.h"

#include <string.h>

#include "check/checker.h"
#include "mem/memory.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/engine.h"

/* Those that have an address on a device. Needs the lock. */
static struct variable *placed;

static struct range *place(struct variable *v, int device, char **storage)
{
    struct heap *h = memory_managed_heap(device);
    size_t bytes = v->bytes ? v->bytes : 1;
    struct range *r = v->is_managed ? memory_allocate_managed(device, bytes)
                                    : memory_allocate_variable(device, bytes, &h);
    if (!r)
        os_fatal("there are no addresses left for the variable %s of device code.", v->name);
    r->id = memory_new_id();
    r->shadow = (struct shadow){.kind = ALLOCATION_AT_CALL,
                                .allocated_by = {.call = v->name, .slot = HOST_SLOT, .stream = -2}};
    *storage = heap_storage(h, r->offset, bytes);
    v->address[device] = (uint64_t)(uintptr_t)memory_address(h, r);
    return r;
}

/* The recursion ends, because the number of variables is limited by the program's text. */
static void relocate(struct variable *v, int device, char *storage)
{
    for (size_t n = 0; n < v->relocation_count; n++) {
        const struct relocation *r = &v->relocations[n];
        struct variable *other = module_variable(v->module, r->symbol);
        struct function *f = other ? NULL : module_function(v->module, r->symbol);
        uint64_t address = other ? device_variable_address(other, device)
                         : f     ? module_function_address(f)
                                 : 0;
        address += (uint64_t)r->addend;
        if (r->at + 8 <= v->bytes)
            memcpy(storage + r->at, &address, 8);
    }
}

uint64_t device_variable_address(struct variable *v, int device)
{
    NEEDS_LOCK();
    if (v->is_managed)
        device = 0;
    if (v->address[device])
        return v->address[device];
    char *storage;
    bool is_first = true;
    for (int d = 0; d < MAX_DEVICES; d++)
        is_first &= !v->address[d];
    if (is_first) {
        v->next_placed = placed;
        placed = v;
    }
    place(v, device, &storage);
    if (v->initial)
        memcpy(storage, v->initial, v->bytes);
    relocate(v, device, storage);
    return v->address[device];
}

void device_variables_end(const struct call *call, const struct module *modules)
{
    NEEDS_LOCK();
    for (struct variable **at = &placed, *v; (v = *at);) {
        if (engine_status.busy_streams || v->is_managed || *v->module->linked != modules) {
            at = &v->next_placed;
            continue;
        }
        *at = v->next_placed;
        for (int device = 0; device < MAX_DEVICES; device++) {
            struct address_info a = memory_find((void *)(uintptr_t)v->address[device]);
            if (!v->address[device])
                continue;
            checker_variable_freed(&a.range->shadow);
            checker_freed(call, memory_shadow(&a), NULL, 0);
            memory_free_variable(&a);
            v->address[device] = 0;
        }
    }
}

void device_variables_reset(int device)
{
    NEEDS_LOCK();
    for (struct variable *v = placed; v; v = v->next_placed) {
        if (!v->address[device] || v->is_managed)
            continue;
        struct address_info a = memory_find((void *)(uintptr_t)v->address[device]);
        char *storage = heap_storage(a.heap, a.offset, v->bytes);
        if (v->initial)
            memcpy(storage, v->initial, v->bytes);
        else
            memset(storage, 0, v->bytes);
        relocate(v, device, storage);
    }
}
