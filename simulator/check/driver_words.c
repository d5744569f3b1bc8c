/* The driver's names for the runtime's names in the advice of reports. Most differ by "cu" instead
 * of "cuda". */
#include "check/driver_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *runtime, *driver;
} words[] = {
    {"cudaCreateSurfaceObject", "cuSurfObjectCreate"},
    {"cudaCreateTextureObject", "cuTexObjectCreate"},
    {"cudaDestroySurfaceObject", "cuSurfObjectDestroy"},
    {"cudaDestroyTextureObject", "cuTexObjectDestroy"},
    {"cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    {"cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {"cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC"},
    {"cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE"},
    {"cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED"},
    {"cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {"cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {"cudaEventInterprocess", "CU_EVENT_INTERPROCESS"},
    {"cudaFree", "cuMemFree"},
    {"cudaFreeArray", "cuArrayDestroy"},
    {"cudaFreeAsync", "cuMemFreeAsync"},
    {"cudaFreeHost", "cuMemFreeHost"},
    {"cudaMalloc", "cuMemAlloc"},
    {"cudaMallocArray", "cuArrayCreate"},
    {"cudaMallocAsync", "cuMemAllocAsync"},
    {"cudaMallocManaged", "cuMemAllocManaged"},
    {"cudaMemsetAsync", "cuMemsetD8Async"},
    {"cudaSetDevice", "cuCtxSetCurrent"},
    {"cudaStreamLegacy", "CU_STREAM_LEGACY"},
    {"cudaStreamNonBlocking", "CU_STREAM_NON_BLOCKING"},
    {"cudaStreamPerThread", "CU_STREAM_PER_THREAD"},
};

static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_of_name(char c)
{
    return is_capital(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the place of the next name that begins with `prefix` and a capital, or NULL. */
static char *find_name(char *from, const char *before, const char *prefix)
{
    const size_t length = strlen(prefix);
    for (char *at = from; (at = strstr(at, prefix)); at += length)
        if (is_capital(at[length]) && (at == before || !is_of_name(at[-1])))
            return at;
    return NULL;
}

/* Writes the driver's name for a name of this length. */
static void translate(const char *name, size_t length, char *to, size_t size)
{
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (strlen(words[n].runtime) == length && !strncmp(words[n].runtime, name, length)) {
            snprintf(to, size, "%s", words[n].driver);
            return;
        }
    snprintf(to, size, "cu%.*s", (int)(length - strlen("cuda")), name + strlen("cuda"));
}

void driver_words(char *text, size_t size)
{
    char *advice = strstr(text, "\n  To do:"), *missing = strstr(text, "\n  Missing:"), *at;
    if (missing && (!advice || missing < advice))
        advice = missing;
    if (!advice)
        return;
    const char first = *advice;
    *advice = '\0';
    const bool is_of_driver =
        find_name(text, text, "cu") != NULL && find_name(text, text, "cuda") == NULL;
    *advice = first;
    for (at = advice; is_of_driver && (at = find_name(at, text, "cuda"));) {
        char name[128];
        size_t length = 0;
        while (is_of_name(at[length]))
            length++;
        translate(at, length, name, sizeof name);
        const size_t rest = strlen(at + length) + 1, new_length = strlen(name);
        if ((size_t)(at - text) + new_length + rest > size)
            return;
        memmove(at + new_length, at + length, rest);
        memcpy(at, name, new_length);
        at += new_length;
    }
}
