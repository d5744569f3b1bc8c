/* Files for the journal and for reports. */
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process.h"
#include "os/seal.h"
#include "os/write.h"

/* Has a buffer of its own, not stdio's, because a forked child must not write its parent's
 * lines. */
struct os_file {
    int descriptor;
    const char *what;
    /* The process that opened the file. */
    pid_t owner;
    /* In a graded run: the journal's number, and the checksum of what was written. */
    unsigned number;
    struct seal_sum sum;
    /* A write failed, so everything later is dropped. */
    bool lost;
    /* Bytes written, and bytes for which the file system has reserved room. */
    off_t written, room;
    /* Bytes of the buffer that wait to be written. */
    size_t used;
    char buffer[1 << 14];
};

/* The room that is reserved at a time for a large file, because then writing is cheaper. */
#define ROOM ((off_t)2 << 20)

/* Locks the file until the process ends. A forked child does not inherit the lock. */
static bool is_taken(int descriptor)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(descriptor, F_SETLK, &all) && (errno == EAGAIN || errno == EACCES);
}

/* Writes the path with the pid in place of "%p" or, if `behind`, at its end. */
static void with_pid(char *to, size_t size, const char *path, bool behind)
{
    const char *pid_token = behind ? NULL : strstr(path, "%p");
    if (pid_token)
        snprintf(to, size, "%.*s%d%s", (int)(pid_token - path), path, (int)getpid(), pid_token + 2);
    else if (behind)
        snprintf(to, size, "%s.%d", path, (int)getpid());
    else
        snprintf(to, size, "%s", path);
}

/* Grows the table of descriptors to hold ours while the process has one thread, because Linux
 * delays this by about 10 ms when there are several. */
__attribute__((constructor)) static void make_room(void)
{
    int low = open("/", O_PATH | O_CLOEXEC),
        high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, OS_FIRST_FD);
    if (low >= 0)
        close(low);
    if (high >= 0)
        close(high);
}

/* Opens the file under a number above those that programs count on. So a program that closes a
 * descriptor and reuses its number behaves the same with and without a journal. */
static int open_high(const char *name, int more)
{
    /* Closes the low number before the file is locked, because that would release the lock. */
    return os_fd_move_high(open(name, O_WRONLY | O_CREAT | O_CLOEXEC | more, 0666));
}

/* For a graded run: opens PATH, or the first of PATH.1, PATH.2, ... that does not exist. Existing
 * files stay as they are. */
static int open_new(const char *path, unsigned *number)
{
    int descriptor = -1;
    for (*number = 0; *number < SEAL_PROCESSES; ++*number) {
        descriptor =
            open_high(*number ? seal_path("%s.%u", path, *number) : seal_path("%s", path), O_EXCL);
        if (descriptor >= 0 || errno != EEXIST)
            break;
    }
    return descriptor;
}

/* Opens PATH or, if another process is writing that, PATH.PID. */
static int open_own(const char *path)
{
    char name[4096];
    with_pid(name, sizeof name, path, false);
    int descriptor = open_high(name, 0);
    if (descriptor >= 0 && is_taken(descriptor)) {
        close(descriptor);
        with_pid(name, sizeof name, path, true);
        descriptor = open_high(name, 0);
    }
    return descriptor;
}

/* Leaves an empty file alone, because ext4 (option auto_da_alloc) writes a truncated file to the
 * disk when it is closed, and the process would wait for that. */
static bool make_empty(int descriptor)
{
    struct stat s;
    return !fstat(descriptor, &s) && (!s.st_size || !ftruncate(descriptor, 0));
}

os_file *os_open(const char *variable, const char *path, const char *what)
{
    unsigned number = 0;
    int descriptor = seal_is_closed() ? open_new(path, &number) : open_own(path);
    if (descriptor < 0 || !make_empty(descriptor))
        os_fatal("%s is \"%s\"; the file cannot be written (%s).", variable, path, strerror(errno));
    os_file *file = os_allocate(sizeof *file);
    file->descriptor = descriptor;
    file->what = what;
    file->owner = getpid();
    file->number = number;
    return file;
}

/* Reserves room after the end of the file, unless this is its first write. Failure is ignored: the
 * file may be a pipe, and if the disk is full, the write will find out. */
static void take_room(os_file *file, size_t bytes)
{
    off_t end = file->written + (off_t)bytes;
    if (!file->written || end <= file->room || seal_is_closed())
        return;
    file->room = end + ROOM;
    (void)!fallocate(file->descriptor, FALLOC_FL_KEEP_SIZE, file->written,
                     file->room - file->written);
}

static void write_now(os_file *file, const char *text, size_t bytes)
{
    if (!bytes || getpid() != file->owner || file->lost)
        return;
    take_room(file, bytes);
    if (!write_all(file->descriptor, text, bytes)) {
        file->lost = true;
        diag("%s is not whole: its file can take no more (%s).", file->what, strerror(errno));
    }
    file->written += (off_t)bytes;
}

void os_flush(os_file *file)
{
    write_now(file, file->buffer, file->used);
    file->used = 0;
}

void os_write(os_file *file, const char *text, size_t bytes)
{
    if (file->used + bytes > sizeof file->buffer)
        os_flush(file);
    if (bytes > sizeof file->buffer)
        write_now(file, text, bytes);
    else {
        memcpy(file->buffer + file->used, text, bytes);
        file->used += bytes;
    }
    if (seal_is_closed())
        seal_add(&file->sum, text, bytes);
}

/* Linux keeps a file in folios as large as the writes that made them, if the writes begin and end
 * at multiples of a power of two. In a trial, writes of 260,000 bytes cost 1.4 times as much for
 * each byte. */
size_t os_write_units(os_file *file, const char *text, size_t bytes)
{
    size_t behind = ((size_t)file->written + file->used + bytes) % OS_WRITE_UNIT;
    if (behind >= bytes)
        return 0;
    os_write(file, text, bytes - behind);
    os_flush(file);
    return bytes - behind;
}

/* Gives back the room that is reserved after the end of the file. */
static void give_room(const os_file *file)
{
    off_t end = file->room ? lseek(file->descriptor, 0, SEEK_CUR) : -1;
    if (end >= 0 && getpid() == file->owner)
        (void)!ftruncate(file->descriptor, end);
}

void os_close(os_file *file)
{
    os_flush(file);
    if (seal_is_closed() && getpid() == file->owner && !file->lost)
        seal_receipt(file->number, &file->sum);
    give_room(file);
    close(file->descriptor);
    os_free(file);
}
