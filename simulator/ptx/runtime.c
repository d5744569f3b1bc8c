/* The device runtime's functions that kernels call: printf, failed assertions, malloc, free,
 * cudaGraphSetConditional, and those of device_calls.def. printf writes to the program's standard
 * output when the kernel runs (assumed; a GPU keeps the text until the host synchronizes). */
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "ptx/warp.h"

/* Returns argument n of thread l in a call, whose arguments are in the frame. */
static uint64_t argument(const struct warp *w, const struct call_site *site, unsigned l, size_t n)
{
    uint64_t value = 0;
    memcpy(&value, w->local + l * w->local_bytes + w->frame->base + site->arguments[n].from,
           site->arguments[n].bytes < 8 ? site->arguments[n].bytes : 8);
    return value;
}

/* Returns the bytes at an address of the device or of thread l, if they are known, or "". */
static const char *bytes_of(struct warp *w, unsigned l, uint64_t address, size_t bytes)
{
    if ((address & WINDOW_MASK) == LOCAL_WINDOW) {
        address &= ~WINDOW_MASK;
        return address + bytes <= w->local_bytes ? w->local + l * w->local_bytes + address : NULL;
    }
    if ((address & WINDOW_MASK) == SHARED_WINDOW) {
        address &= ~WINDOW_MASK;
        return address + bytes <= w->launch->shared_bytes ? w->block->shared + address : NULL;
    }
    const struct launch_memory *memory = w->launch->memory;
    struct window *win = address ? memory->find(memory->context, address, bytes, false) : NULL;
    return win ? win->storage + (address - win->base) : NULL;
}

/* Prints one conversion with its value. Returns what follows. */
static const char *print_one(struct warp *w, unsigned l, const char *format, const char *values,
                             size_t *at)
{
    char one[64];
    size_t length = 1 + strspn(format + 1, "-+ #0123456789.hlLqjzt");
    uint64_t value = 0;
    char type = format[length];
    if (!type || length > 40)
        return format + length;
    size_t bytes = strchr("eEfFgGaApsn", type) || memchr(format, 'l', length)
                        || memchr(format, 'z', length) || memchr(format, 'j', length)
                        || memchr(format, 't', length)
                     ? 8
                     : 4;
    *at = (*at + bytes - 1) / bytes * bytes;
    memcpy(&value, values + *at, bytes);
    *at += bytes;
    memcpy(one, format, length + 1);
    one[length + 1] = 0;
    double real;
    memcpy(&real, &value, 8);
    if (strchr("eEfFgGaA", type))
        printf(one, real);
    else if (type == 's')
        printf(one, value ? bytes_of(w, l, value, 1) : "(null)");
    else if (type == 'p')
        printf(value ? "0x%llx" : "(nil)", (unsigned long long)value);
    else if (bytes == 8)
        printf(one, value);
    else
        printf(one, (uint32_t)value);
    return format + length + 1;
}

/* Returns the number of values that were printed. */
static uint32_t print(struct warp *w, unsigned l, const char *format, const char *values)
{
    uint32_t printed = 0;
    size_t at = 0;
    while (*format) {
        size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, stdout);
        format += plain;
        if (format[0] == '%' && format[1] == '%') {
            putchar('%');
            format += 2;
        } else if (*format) {
            format = print_one(w, l, format, values, &at);
            printed++;
        }
    }
    return printed;
}

/* vprintf(format, values): each value is after the previous one, at a multiple of its size.
 * Documented: it returns the number of values. */
void run_printf(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct call_site *site = &w->frame->code->calls[i->target];
    static const char none[64];
    if (w->launch->watch)
        return;
    FOR_LANES (l, lanes) {
        uint64_t where = argument(w, site, l, 1);
        const char *format = bytes_of(w, l, argument(w, site, l, 0), 1);
        const char *values = where ? bytes_of(w, l, where, 1) : none;
        if (!format || !values)
            return;
        uint32_t printed = print(w, l, format, values);
        if (site->result_count)
            memcpy(w->local + l * w->local_bytes + w->frame->base + site->results[0].from, &printed,
                   sizeof printed);
    }
}

/* __assertfail(message, file, line, function, size): as a GPU's driver prints it. */
void run_assertion(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct call_site *site = &w->frame->code->calls[i->target];
    const bool says = !w->launch->watch && !w->launch->cores;
    FOR_LANES (l, says ? lanes : 0) {
        const char *text[4];
        for (size_t n = 0; n < 4; n++)
            text[n] = n == 2 ? "" : bytes_of(w, l, argument(w, site, l, n), 1);
        const struct launch_fault at = warp_place(w, l, i);
        if (text[0] && text[1] && text[3])
            fprintf(stderr,
                    "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                    text[1], (unsigned)argument(w, site, l, 2), text[3], at.block[0], at.block[1],
                    at.block[2], at.thread[0], at.thread[1], at.thread[2], text[0]);
    }
    warp_fault(w, (unsigned)__builtin_ctz(lanes), FAULT_ASSERTION, 0, 0, false);
}

/* malloc(bytes). Documented: memory for the device's kernels, at a multiple of 16 bytes, from a
 * heap whose size cudaLimitMallocHeapSize gives; NULL if it is full. It lives until it is freed. */
void run_malloc(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct call_site *site = &w->frame->code->calls[i->target];
    const struct launch_memory *memory = w->launch->memory;
    /* Another block may get the memory that one block has freed, and a block that is run again
     * would allocate again. So from here on the launch does not compare its blocks. */
    between_end(w->launch);
    for (uint32_t rest = lanes; rest && site->result_count; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        uint64_t address =
            w->launch->watch ? 0 : memory->allocate(memory->context, argument(w, site, l, 0));
        memcpy(w->local + l * w->local_bytes + w->frame->base + site->results[0].from, &address,
               sizeof address);
    }
}

void run_free(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct call_site *site = &w->frame->code->calls[i->target];
    const struct launch_memory *memory = w->launch->memory;
    between_end(w->launch);
    FOR_LANES (l, w->launch->watch ? 0 : lanes) {
        uint64_t address = argument(w, site, l, 0);
        if (address && !memory->release(memory->context, address)) {
            warp_fault(w, l, FAULT_FREE, address, 0, false);
            return;
        }
        if (address)
            launch_forget(w->launch, address);
    }
}

/* cudaGraphSetConditional(handle, value). Documented: calls that may run at the same time are
 * undefined. Here the last one counts. */
void run_set_conditional(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct call_site *site = &w->frame->code->calls[i->target];
    const struct launch_memory *memory = w->launch->memory;
    FOR_LANES (l, w->launch->watch ? 0 : lanes) {
        uint64_t handle = argument(w, site, l, 0);
        uint32_t value = (uint32_t)argument(w, site, l, 1);
        if (!memory->set_condition(memory->context, handle, value)) {
            warp_fault(w, l, FAULT_CONDITION, handle, 0, false);
            return;
        }
    }
}

/* ---- device_calls.def ---- */

static const struct {
    const char *name;
    uint8_t bytes;
} device_functions[] = {
    [DEVICE_NONE] = {"", 0},
#define DEVICE_CALL(name, bytes) [DEVICE_##name] = {#name, bytes},
#include "ptx/device_calls.def"
#undef DEVICE_CALL
};

enum device_function device_function_of(const char *name)
{
    static const char prefix[] = "__cudaCDP2";
    size_t length = strlen(name);
    if (strncmp(name, prefix, sizeof prefix - 1))
        return DEVICE_NONE;
    name += sizeof prefix - 1;
    length -= sizeof prefix - 1;
    if (length > 5 && !strcmp(name + length - 5, "_ptsz"))
        length -= 5;
    for (unsigned n = 1; n < sizeof device_functions / sizeof *device_functions; n++)
        if (strlen(device_functions[n].name) == length
            && !memcmp(device_functions[n].name, name, length))
            return (enum device_function)n;
    return DEVICE_NONE;
}

/* Makes the call of thread l. Returns false after a fault. */
static bool call_device(struct warp *w, const struct instruction *i, unsigned l)
{
    const struct call_site *site = &w->frame->code->calls[i->target];
    const struct launch_memory *memory = w->launch->memory;
    const size_t bytes = device_functions[site->device_function].bytes;
    const char *frame = w->local + l * w->local_bytes + w->frame->base;
    struct device_call c = {.function = site->device_function,
                            .thread = w->index * WARP_SIZE + l,
                            .block = w->block->number};
    for (size_t n = 0; n < site->count && n < sizeof c.arguments / sizeof *c.arguments; n++)
        memcpy(c.arguments[n], frame + site->arguments[n].from,
               site->arguments[n].bytes < 16 ? site->arguments[n].bytes : 16);
    uint64_t result = w->launch->watch ? 0 : memory->call_runtime(memory->context, &c);
    if (c.function == DEVICE_Free && !result)
        launch_forget(w->launch, c.arguments[0][0]);
    if (c.is_launch) {
        w->launch->first_window = w->launch->window_count;
        w->launch->last = NULL;
    }
    if (bytes && !result && !w->launch->watch) {
        char *to = warp_bytes(w, i, l, c.arguments[0][0], bytes, ACCESS_WRITE);
        if (!to)
            return false;
        memcpy(to, &c.output, bytes);
    }
    if (site->result_count)
        memcpy(w->local + l * w->local_bytes + w->frame->base + site->results[0].from, &result,
               site->results[0].bytes);
    return true;
}

void run_device_call(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const unsigned function = w->frame->code->calls[i->target].device_function;
    /* These end the comparison of blocks as run_malloc does. */
    if (function == DEVICE_Malloc || function == DEVICE_Free)
        between_end(w->launch);
    FOR_LANES (l, lanes)
        if (!call_device(w, i, l))
            return;
}
