/* What nvcc's code has registered. */
#include "module/registry.h"

#include <ctype.h>
#include <string.h>

#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "module/fat_binary.h"

#define BUCKETS 1024

/* Needs the lock. Invariant: a kernel is once in the list of its host address's hash. The last
 * registration for an address comes first. */
static struct registered_kernel *kernels[BUCKETS];
static struct registered_variable *variables[BUCKETS];
/* What was unloaded stays, because queued launches and reports still refer to it. */
static struct binary *unloaded;

static size_t bucket_of(const void *host)
{
    uintptr_t hash = (uintptr_t)host * 0x9E3779B97F4A7C15u;
    return hash >> 32 & (BUCKETS - 1);
}

/* ---- names ---- */

/* Is it a namespace that tells nothing: one without a name, or a library's version or internals
 * (cub::CUB_300001_SM_900, cuda::__4, cub::detail)? */
static bool says_nothing(const char *name, const char *part, size_t length)
{
    static const char *const libraries[] = {"cub", "thrust", "cuda"};
    if (!strncmp(part, "_GLOBAL__N__", 12) || !strncmp(part, "_INTERNAL_", 10))
        return true;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        size_t n = strlen(libraries[i]);
        if (strncmp(name, libraries[i], n) || (name[n] && name[n] != ':'))
            continue;
        return !strncmp(part, "CUB_", 4) || !strncmp(part, "THRUST_", 7) || !strncmp(part, "__", 2)
            || (length == 6 && !strncmp(part, "detail", 6));
    }
    return false;
}

/* Appends the identifier that follows its length, the form in which C++ compilers write names.
 * Returns what comes after it, or NULL if there is none. */
static const char *append_part(char *name, const char *symbol)
{
    size_t length = 0;
    while (isdigit((unsigned char)*symbol))
        length = 10 * length + (size_t)(*symbol++ - '0');
    if (!length || length > strlen(symbol))
        return NULL;
    if (says_nothing(name, symbol, length))
        return symbol + length;
    if (*name)
        strcat(name, "::");
    strncat(name, symbol, length);
    return symbol + length;
}

/* Returns the name of a function without its parameters and template arguments: "reduce" or
 * "image::blur". A name that is not C++ is returned as it is. */
static const char *name_of(const char *symbol)
{
    char *name = os_allocate(2 * strlen(symbol) + 1);
    const char *at = symbol;
    /* With -rdc=true, nvcc puts the file before the name of a static kernel. */
    if (!strncmp(at, "__nv_static_", 12) && strstr(at, "__Z"))
        at = strstr(at, "__Z") + 1;
    if (strncmp(at, "_Z", 2)) {
        strcpy(name, symbol);
        return name;
    }
    at += 2;
    if (*at == 'L')
        at++;
    bool nested = *at == 'N';
    if (nested)
        at += strspn(at, "NrVK");
    do
        at = append_part(name, at);
    while (at && nested && isdigit((unsigned char)*at));
    if (!*name)
        strcpy(name, symbol);
    return name;
}

/* ---- registering ---- */

struct binary *registry_add_binary(const void *wrapper)
{
    NEEDS_LOCK();
    struct binary *binary = os_allocate(sizeof *binary);
    binary->wrapper = wrapper;
    binary->device = NO_DEVICE;
    return binary;
}

bool registry_has_kernels(void)
{
    NEEDS_LOCK();
    for (size_t n = 0; n < BUCKETS; n++)
        if (kernels[n])
            return true;
    return false;
}

static void add_kernel(struct registered_kernel *k, struct binary *binary, const void *host,
                       const char *symbol)
{
    struct registered_kernel **bucket = &kernels[bucket_of(host)];
    k->host = host;
    k->attributes[cudaFuncAttributeMaxDynamicSharedMemorySize] = -1;
    k->attributes[cudaFuncAttributePreferredSharedMemoryCarveout] = -1;
    k->binary = binary;
    k->symbol = symbol;
    k->name = name_of(symbol);
    k->next = *bucket;
    *bucket = k;
    k->next_of_binary = binary->kernels;
    binary->kernels = k;
}

void registry_add_kernel(struct binary *binary, const void *host, const char *symbol)
{
    NEEDS_LOCK();
    add_kernel(os_allocate(sizeof(struct registered_kernel)), binary, host, symbol);
}

void registry_add_variable(struct binary *binary, const void *host, const char *symbol,
                           size_t bytes)
{
    NEEDS_LOCK();
    struct registered_variable *v = os_allocate(sizeof *v), **bucket = &variables[bucket_of(host)];
    *v = (struct registered_variable){*bucket, host, binary, symbol, bytes};
    *bucket = v;
}

void registry_add_managed(struct binary *binary, void **pointer, const char *symbol)
{
    NEEDS_LOCK();
    struct managed_variable *v = os_allocate(sizeof *v);
    *v = (struct managed_variable){binary->managed, pointer, symbol};
    binary->managed = v;
}

struct registered_kernel *registry_kernel(const void *host)
{
    NEEDS_LOCK();
    struct registered_kernel *k = kernels[bucket_of(host)];
    while (k && k->host != host)
        k = k->next;
    return k;
}

cudaError_t registry_find_kernel(const void *host, struct registered_kernel **k)
{
    NEEDS_LOCK();
    *k = registry_kernel(host);
    return *k   ? cudaSuccess
         : host ? cudaErrorInvalidResourceHandle
                : cudaErrorInvalidDeviceFunction;
}

struct registered_variable *registry_variable(const void *host)
{
    NEEDS_LOCK();
    struct registered_variable *v = variables[bucket_of(host)];
    while (v && v->host != host)
        v = v->next;
    return v;
}

/* ---- device code ---- */

static void add_module(void *context, char *text)
{
    struct binary *b = context;
    module_read(text, &b->modules);
}

static struct module *modules_of(struct binary *b)
{
    if (!b->is_read)
        b->refusal = fat_binary_read(b->wrapper, add_module, b);
    b->is_read = true;
    return b->modules;
}

/* ---- what a program loads ---- */

struct binary *registry_load(const void *image, int device, const char **why)
{
    NEEDS_LOCK();
    struct binary *binary = os_allocate(sizeof *binary);
    binary->device = device;
    binary->is_read = true;
    *why = binary->refusal = fat_binary_read_image(image, add_module, binary);
    if (!*why)
        return binary;
    os_free(binary);
    return NULL;
}

void registry_unload(struct binary *binary)
{
    NEEDS_LOCK();
    for (struct registered_kernel *k = binary->kernels; k; k = k->next_of_binary) {
        struct registered_kernel **at = &kernels[bucket_of(k->host)];
        while (*at != k)
            at = &(*at)->next;
        *at = k->next;
    }
    binary->next_unloaded = unloaded;
    unloaded = binary;
}

struct registered_kernel *registry_kernel_of(struct binary *binary, const char *symbol)
{
    NEEDS_LOCK();
    struct registered_kernel *k = binary->kernels;
    while (k && strcmp(k->symbol, symbol))
        k = k->next_of_binary;
    if (k)
        return k;
    struct function *f = module_function(binary->modules, symbol);
    if (!f || !f->is_entry)
        return NULL;
    k = os_allocate(sizeof *k);
    add_kernel(k, binary, k, f->name);
    k->function = f;
    return k;
}

struct function *registry_function(struct registered_kernel *k, const char **why)
{
    NEEDS_LOCK();
    *why = NULL;
    if (settings.refuse_kernels)
        *why = "SIM_KERNELS is refuse";
    else if (!k->function && modules_of(k->binary))
        k->function = module_function(k->binary->modules, k->symbol);
    if (!*why && !k->function)
        *why =
            k->binary->refusal ? k->binary->refusal : "the PTX of its program has no such kernel";
    return *why ? NULL : k->function;
}

struct variable *registry_module_variable(struct registered_variable *v)
{
    NEEDS_LOCK();
    struct module *m = modules_of(v->binary);
    return m ? module_variable(m, v->symbol) : NULL;
}

const char *registry_place_managed(struct binary *binary,
                                   uint64_t (*address)(struct variable *v, int device))
{
    NEEDS_LOCK();
    struct module *m = modules_of(binary);
    for (const struct managed_variable *v = binary->managed; v; v = v->next) {
        struct variable *found = m ? module_variable(m, v->symbol) : NULL;
        if (!found)
            return v->symbol;
        *v->pointer = (void *)(uintptr_t)address(found, 0);
        registry_add_variable(binary, *v->pointer, v->symbol, found->bytes);
    }
    return NULL;
}
