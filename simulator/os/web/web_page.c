/* Connects the simulation to a web page: its output, the end of the program, the journal, and the
 * source places of calls. */
#include "os/os.h"

#include <stdio.h>
#include <unistd.h>

#include "os/web/site.h"
#include "os/write.h"

/* A function that a page lacks ignores its parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* A page accepts all of a text at once. */
bool write_all(int descriptor, const char *text, size_t length)
{
    return write(descriptor, text, length) == (ssize_t)length;
}

/* ---- the end of the program ---- */

static void (*exit_handler)(int status);

void os_at_exit(void (*handler)(int status)) { exit_handler = handler; }

void os_web_exits(int status)
{
    if (exit_handler)
        exit_handler(status);
}

/* ---- the journal ---- */

/* The only file. It is always open under this descriptor, and the page keeps it as text. */
#define JOURNAL_FD 3

struct os_file {
    int unused;
};

os_file *os_open(const char *variable, const char *path, const char *what)
{
    static os_file journal;
    return &journal;
}

void os_write(os_file *file, const char *text, size_t bytes)
{
    (void)write_all(JOURNAL_FD, text, bytes);
}

size_t os_write_units(os_file *file, const char *text, size_t bytes)
{
    os_write(file, text, bytes);
    return bytes;
}

void os_flush(os_file *file) { (void)file; }

void os_close(os_file *file) { (void)file; }

/* ---- source places ---- */

void *os_web_site;

void *os_call_site(void *address, void *const *frame) { return address; }
struct os_code os_code_of(void *site) { return (struct os_code){.address = site}; }

bool os_site_ignores_result(void *site) { return false; }
bool os_call_sites_same_address(void *a, void *b) { return a == b; }

void os_source_lines(struct os_source_loc **locs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct os_web_site *site = locs[i]->site;
        if (!site) {
            snprintf(locs[i]->text, sizeof locs[i]->text, "an unknown place");
            continue;
        }
        snprintf(locs[i]->text, sizeof locs[i]->text, "%s:%u", site->file, site->line);
        snprintf(locs[i]->file, sizeof locs[i]->file, "%s", site->file);
        locs[i]->line = site->line;
    }
}

/* Writes the call as the path, because the call is all of the source that a page has. */
void os_source_path(const char *path, char *text, size_t size) { snprintf(text, size, "%s", path); }

bool os_source_read(const struct os_source_loc *loc, char *source, size_t size)
{
    const struct os_web_site *site = loc->site;
    if (site && site->call)
        snprintf(source, size, "%s", site->call);
    return site && site->call;
}

bool os_read_zstd(const void *from, size_t compressed, void *to, size_t bytes) { return false; }
