/* Files in memory in a web page, for programs that make and export a pool which other processes
 * could import. The files are never shared. */
#include "os/process.h"

#include <string.h>

#include "os/os.h"

/* A function that a page lacks ignores its parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define FILES_MAX 64

/* Indexed by descriptor minus OS_FIRST_FD. A second descriptor of a file has the same values. */
static struct file {
    bool is_open;
    size_t size;
    /* The file's first bytes, once they are mapped, and their number. */
    char *start;
    size_t mapped;
    /* The rest, once addresses are reserved for it: its position in the file, and its storage. */
    size_t skip;
    char *storage;
} files[FILES_MAX];

static struct file *file_of(int fd)
{
    bool is_ours = fd >= OS_FIRST_FD && fd < OS_FIRST_FD + FILES_MAX;
    return is_ours && files[fd - OS_FIRST_FD].is_open ? &files[fd - OS_FIRST_FD] : NULL;
}

static int open_as(struct file file)
{
    for (int i = 0; i < FILES_MAX; i++)
        if (!files[i].is_open) {
            files[i] = file;
            return OS_FIRST_FD + i;
        }
    return -1;
}

int os_memfd_new(void) { return open_as((struct file){.is_open = true}); }
int os_fd_dup(int fd) { return file_of(fd) ? open_as(*file_of(fd)) : -1; }
int os_fd_dup_high(int fd) { return os_fd_dup(fd); }
bool os_fd_is_open(int fd) { return file_of(fd); }
bool os_fd_is_memfd(int fd) { return file_of(fd); }
void os_fd_close(int fd) { file_of(fd)->is_open = false; }
size_t os_fd_size(int fd) { return file_of(fd)->size; }

bool os_fd_grow(int fd, size_t bytes)
{
    if (file_of(fd)->size < bytes)
        file_of(fd)->size = bytes;
    return true;
}

void os_fd_discard(int fd, size_t from, size_t bytes)
{
    os_discard(file_of(fd)->storage + from - file_of(fd)->skip, bytes);
}

/* Mapping more of a file replaces the earlier mapping, which is no longer needed. */
void *os_fd_map(int fd, size_t bytes)
{
    struct file *file = file_of(fd);
    if (bytes > file->mapped) {
        file->start = os_grow(file->start, bytes);
        memset(file->start + file->mapped, 0, bytes - file->mapped);
        file->mapped = bytes;
    }
    return file->start;
}

/* Keeps the mapping, because the file still needs it. */
void os_fd_unmap(void *at, size_t bytes) {}

char *os_reserve_in_file(int fd, size_t skip, size_t bytes)
{
    char *base = os_reserve(bytes);
    file_of(fd)->skip = skip;
    file_of(fd)->storage = os_storage(base, bytes);
    return base;
}

bool os_move_to_file(char *storage, size_t bytes, int fd, size_t skip)
{
    file_of(fd)->skip = skip;
    file_of(fd)->storage = storage;
    return true;
}

/* Always fails, because no page maps memory twice. */
bool os_map_file(char *storage, size_t bytes, int fd) { return false; }

char *os_reserve_host_visible_in_file(int fd, size_t skip, size_t bytes)
{
    return os_reserve_host_visible(bytes);
}
