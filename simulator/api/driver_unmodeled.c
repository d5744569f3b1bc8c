/* Each function of libcuda.so.1 that is not modeled returns CUDA_ERROR_NOT_SUPPORTED and says so
 * once on standard error. The list is made when the library is built: the functions that cuda.h
 * declares, without those in api/driver_calls.def. */
#include "api/unmodeled.h"

#include <string.h>

#define UNMODELLED UNMODELED_FUNCTION
#include "driver_unmodeled.inc"
#undef UNMODELLED

static const struct {
    const char *symbol;
    int (*function)(void);
} functions[] = {
#define UNMODELLED(name) {#name, unmodeled_##name},
#include "driver_unmodeled.inc"
};

void (*driver_unmodeled(const char *name))(void)
{
    size_t length = strlen(name);
    int (*found)(void) = NULL;
    /* The symbols are sorted, so later versions follow. */
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *rest = functions[i].symbol + length;
        if (!strncmp(functions[i].symbol, name, length)
            && (!*rest || (rest[0] == '_' && rest[1] == 'v' && strlen(rest) == 3)))
            found = functions[i].function;
    }
    return (void (*)(void))found;
}
