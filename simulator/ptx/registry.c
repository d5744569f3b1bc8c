/* What nvcc's code has registered. */
#include "ptx/registry.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

#define BUCKETS 1024

/* Law: a kernel is in the list of its host address's hash, once. What was registered last for an
 * address comes first. Needs the lock. */
static struct registered_kernel *kernels[BUCKETS];

static struct registered_kernel **bucket_of(const void *host)
{
    uintptr_t hash = (uintptr_t)host * 0x9E3779B97F4A7C15u;
    return &kernels[hash >> 32 & (BUCKETS - 1)];
}

/* ---- names ---- */

/* Appends the identifier that its length stands before, as C++ compilers write names; returns what
 * follows, or NULL when there is none. */
static const char *append_part(char *name, const char *symbol)
{
    size_t length = 0;
    while (isdigit((unsigned char)*symbol))
        length = 10 * length + (size_t)(*symbol++ - '0');
    if (!length || length > strlen(symbol))
        return NULL;
    /* The compiler's name of a namespace without one. */
    if (!strncmp(symbol, "_GLOBAL__N__", 12) || !strncmp(symbol, "_INTERNAL_", 10))
        return symbol + length;
    if (*name)
        strcat(name, "::");
    strncat(name, symbol, length);
    return symbol + length;
}

/* Returns the name of a function without its parameters and template arguments: "reduce",
 * "image::blur"; what is no name of C++, as it is. */
static const char *name_of(const char *symbol)
{
    char *name = os_allocate(2 * strlen(symbol) + 1);
    const char *at = symbol;
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
    return binary;
}

void registry_add_kernel(struct binary *binary, const void *host, const char *symbol)
{
    NEEDS_LOCK();
    struct registered_kernel *k = os_allocate(sizeof *k), **bucket = bucket_of(host);
    k->host = host;
    k->binary = binary;
    k->symbol = symbol;
    k->name = name_of(symbol);
    k->next = *bucket;
    *bucket = k;
}

struct registered_kernel *registry_kernel(const void *host)
{
    NEEDS_LOCK();
    struct registered_kernel *k = *bucket_of(host);
    while (k && k->host != host)
        k = k->next;
    return k;
}
