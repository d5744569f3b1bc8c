/* Reads fat binaries. NVIDIA documents the wrapper (the toolkit's fatbinary_section.h). What it
 * points to was learned from the output of nvcc 13.0 with each --compress-mode:
 *
 *   container   magic, version, size of the header, size of all entries after it
 *   entry       kind (1: PTX, 2: code for one GPU), size of its header, size of its bytes,
 *               compressed size, architecture, flags, size of the text
 *
 * The text is uncompressed, or compressed with LZ4 or zstd (flags). For zstd the system's library
 * is loaded when it is first needed. */
#include "module/fat_binary.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

#define WRAPPER_MAGIC   0x466243B1u
#define CONTAINER_MAGIC 0xBA55ED50u
#define LINKED_MAGIC    0x58545053u
#define ELF_MAGIC       0x464C457Fu
#define ELF_MACHINE     190 /* a GPU of NVIDIA, in bytes 18 and 19 */
#define KIND_PTX        1
#define FLAG_LZ4        0x2000u
#define FLAG_ZSTD       0x8000u
/* Of the simulated device: 9.0. Documented: PTX runs on its architecture and on later ones. */
#define ARCHITECTURE 90u
/* The major version of CUDA 13's PTX. */
#define PTX_VERSION 9u

/* As in fatbinary_section.h. In version 2, `prelinked` is a NULL-terminated list of containers. */
struct wrapper {
    uint32_t magic, version;
    const char *data;
    const char *const *prelinked;
};

struct container {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t compressed_bytes, unknown;
    uint16_t minor, major;
    uint32_t architecture;
    uint64_t more_unknown, flags, yet_more;
    uint64_t text_bytes;
};

/* Decompresses LZ4's block format. Returns whether it has exactly `bytes` bytes of text. */
static bool read_lz4(const uint8_t *from, size_t compressed, char *text, size_t bytes)
{
    const uint8_t *end = from + compressed;
    size_t done = 0;
    while (from < end) {
        unsigned token = *from++;
        size_t literals = token >> 4, match = token & 15;
        if (literals == 15)
            do
                literals += *from;
            while (from < end && *from++ == 255);
        if (literals > bytes - done || literals > (size_t)(end - from))
            return false;
        memcpy(text + done, from, literals);
        done += literals;
        from += literals;
        if (end - from < 2)
            break;
        size_t distance = from[0] + 256u * from[1];
        from += 2;
        if (match == 15)
            do
                match += *from;
            while (from < end && *from++ == 255);
        if (!distance || distance > done || match + 4 > bytes - done)
            return false;
        for (match += 4; match; match--, done++)
            text[done] = text[done - distance];
    }
    return done == bytes;
}

static const char *read_text(const struct entry *e, char *text)
{
    const char *from = (const char *)e + e->header_bytes;
    if (e->flags & FLAG_ZSTD) {
        if (os_read_zstd(from, e->compressed_bytes, text, e->text_bytes))
            return NULL;
        return "its device code is compressed, and libzstd.so.1, which reads that, is not on this "
               "machine: install it (Debian: libzstd1), or compile with nvcc --compress-mode=none";
    }
    if (e->flags & FLAG_LZ4)
        return read_lz4((const uint8_t *)from, e->compressed_bytes, text, e->text_bytes)
                 ? NULL
                 : "its compressed device code is damaged: compile with nvcc --compress-mode=none";
    memcpy(text, from, e->bytes);
    return NULL;
}

/* Why PTX for a later architecture alone does not run. */
static const char is_later[] =
    "its PTX is for a later architecture than that of the simulated device, a GPU of compute "
    "capability 9.0: compile with nvcc -arch=compute_90, or without -arch";

static const char *read_container(const char *data, void (*found)(void *, char *), void *context)
{
    const struct container *c = (const struct container *)data;
    if (!c || c->magic != CONTAINER_MAGIC)
        return "its device code is of a form that is not known here";
    const struct entry *best = NULL;
    bool any_later = false;
    const char *at = data + c->header_bytes, *end = at + c->bytes;
    while (at < end) {
        const struct entry *e = (const struct entry *)at;
        if (e->kind == KIND_PTX && e->architecture > ARCHITECTURE)
            any_later = true;
        else if (e->kind == KIND_PTX && (!best || e->architecture > best->architecture))
            best = e;
        at += e->header_bytes + e->bytes;
    }
    if (!best && any_later)
        return is_later;
    if (!best)
        return "it has machine code for GPUs and no PTX: compile with nvcc -arch=compute_90, or "
               "without -arch";
    bool compressed = best->flags & (FLAG_ZSTD | FLAG_LZ4);
    size_t bytes = compressed ? best->text_bytes : best->bytes;
    char *text = os_allocate(bytes + 1);
    const char *why = read_text(best, text);
    if (why)
        os_free(text);
    else
        found(context, text);
    return why;
}

const char *fat_binary_read(const void *wrapper, void (*found)(void *context, char *text),
                            void *context)
{
    NEEDS_LOCK();
    const struct wrapper *w = wrapper;
    if (!w || w->magic != WRAPPER_MAGIC)
        return "its device code is of a form that is not known here";
    if (w->version < 2 || !w->prelinked)
        return w->data && !((uintptr_t)w->data & 7)
                 ? read_container(w->data, found, context)
                 : "its device code is of a form that is not known here";
    const char *why = "it has no device code";
    bool any = false;
    for (size_t i = 0; w->prelinked[i]; i++) {
        const char *failed = read_container(w->prelinked[i], found, context);
        any |= !failed;
        why = failed ? failed : why;
    }
    return any ? NULL : why;
}

/* ---- what a program loads ---- */

/* What fat_binary_link makes: each text follows with its NUL. */
struct linked {
    uint32_t magic, count;
    char texts[];
};

/* An image may be text of any length, also shorter than the number. */
static uint32_t magic_of(const void *image)
{
    const unsigned char *bytes = image;
    uint32_t magic = 0;
    for (int i = 0; i < 4 && (i == 0 || bytes[i - 1]); i++)
        magic |= (uint32_t)bytes[i] << 8 * i;
    return magic;
}

/* Returns the major version of PTX text, or 0 if the text names none. */
static unsigned ptx_version(const char *image)
{
    const char *version = strstr(image, ".version");
    unsigned major = 0;
    return version && sscanf(version, ".version %u", &major) == 1 ? major : 0;
}

/* Measured (probe-more-answers.txt, "images"): the errors. Of machine code it is enough here that
 * it is for a GPU. */
cudaError_t fat_binary_error(const void *image)
{
    NEEDS_LOCK();
    const unsigned char *bytes = image;
    switch (magic_of(image)) {
    case WRAPPER_MAGIC:
    case CONTAINER_MAGIC:
    case LINKED_MAGIC: return cudaErrorNoKernelImageForDevice;
    case ELF_MAGIC:
        return (bytes[18] | bytes[19] << 8) == ELF_MACHINE ? cudaErrorNoKernelImageForDevice
                                                           : cudaErrorInvalidKernelImage;
    default:
        return !ptx_version(image)              ? cudaErrorInvalidKernelImage
             : ptx_version(image) > PTX_VERSION ? cudaErrorUnsupportedPtxVersion
                                                : cudaErrorInvalidPtx;
    }
}

/* Documented: a module of PTX begins with .version and .target. */
static const char *read_ptx(const char *image, void (*found)(void *, char *), void *context)
{
    const char *target = strstr(image, ".target");
    if (!target || !strstr(image, ".version"))
        return "it is no PTX, for it lacks .version or .target, and no fat binary either";
    if (ptx_version(image) > PTX_VERSION)
        return "its PTX is of a later version than any that the simulated device reads: compile "
               "with an older toolkit";
    target += strlen(".target");
    target += strspn(target, " \t");
    unsigned architecture = 0;
    if (sscanf(target, "sm_%u", &architecture) == 1 && architecture > ARCHITECTURE)
        return is_later;
    found(context, os_copy(image, strlen(image) + 1));
    return NULL;
}

static const char *read_linked(const struct linked *l, void (*found)(void *, char *), void *context)
{
    const char *text = l->texts, *why = NULL;
    for (uint32_t i = 0; i < l->count && !why; i++, text += strlen(text) + 1)
        why = read_ptx(text, found, context);
    return why;
}

const char *fat_binary_read_image(const void *image, void (*found)(void *context, char *text),
                                  void *context)
{
    NEEDS_LOCK();
    switch (magic_of(image)) {
    case WRAPPER_MAGIC: return fat_binary_read(image, found, context);
    case CONTAINER_MAGIC: return read_container(image, found, context);
    case LINKED_MAGIC: return read_linked(image, found, context);
    case ELF_MAGIC:
        return "it is machine code for a GPU (a cubin), and only PTX runs here: load PTX, for "
               "example of nvcc -ptx or of nvrtcGetPTX";
    default: return read_ptx(image, found, context);
    }
}

void *fat_binary_link(char *const *texts, size_t count, size_t *bytes)
{
    NEEDS_LOCK();
    *bytes = sizeof(struct linked);
    for (size_t i = 0; i < count; i++)
        *bytes += strlen(texts[i]) + 1;
    struct linked *l = os_allocate(*bytes);
    *l = (struct linked){LINKED_MAGIC, (uint32_t)count};
    char *at = l->texts;
    for (size_t i = 0; i < count; i++) {
        strcpy(at, texts[i]);
        at += strlen(at) + 1;
    }
    return l;
}
