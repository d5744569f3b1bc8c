/* The interface to the operating system, with os/process.h and os/seal.h. Outside os/, nothing
 * includes a system header beyond the C standard library's. A function that needs the lock says
 * so. */
#ifndef SIM_OS_OS_H
#define SIM_OS_OS_H

#include "os/units.h"

/* The site of a call is the address that it returns to. If the program has frame pointers, as
 * compilers generate without -O, the site stands for that address and those of some callers. A site
 * lives as long as the process. A page in a browser has no code addresses; there the program stores
 * its position in a variable before each call (os/web/site.h).
 *
 * OS_CALL_ADDRESS and OS_CALL_FRAME describe the function that uses them, and os_call_site, which
 * needs the lock, makes the site from them. */
#ifdef __EMSCRIPTEN__
extern void *os_web_site;
#define OS_CALL_ADDRESS os_web_site
#define OS_CALL_FRAME   NULL
#else
#define OS_CALL_ADDRESS __builtin_return_address(0)
#define OS_CALL_FRAME   __builtin_frame_address(0)
#endif
void *os_call_site(void *address, void *const *frame);
/* What a site stands for: the return address of a call and those of its callers, the nearest first,
 * or NULL if unknown. Without frame pointers, the callers may be addresses that are no callers at
 * all. */
#define OS_CALLERS 12 /* Assumed: enough to come out of a library of templates, such as CUB. */
struct os_code {
    char *address, *callers[OS_CALLERS];
};
struct os_code os_code_of(void *site);

/* ---- the environment ---- */

/* Returns the value of an environment variable, or NULL if it is unset or empty. */
const char *os_environment(const char *name);
/* Returns entry number `at` of the environment, "NAME=VALUE", or NULL after the last. */
const char *os_environment_entry(size_t at);

/* ---- messages, and the end of the process ---- */

/* Prints "simulated device: ..." and a newline to standard error, in one write. */
void diag(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Lines of messages that are longer than this are broken at a space. The default 0 breaks none. */
extern size_t os_columns;
/* Prints like diag, but without its first words, for reports, which begin with "hazard: ". */
void diag_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints like diag and ends the process with os_fatal_status, which is 2 while the settings are
 * read and 1 from then on. Only for mistakes in the setup of the simulation, never for mistakes of
 * the program. */
extern int os_fatal_status;
void os_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Ends the process at once with this status and runs no exit handlers. */
void os_exit(int status) __attribute__((noreturn));
/* Calls `handler` in the child after each fork. The lock is held, because its holder in the parent
 * does not exist in the child and could not release it. */
void os_after_fork(void (*handler)(void));
/* Calls `handler` with the exit status when the program calls exit or returns from main. */
void os_at_exit(void (*handler)(int status));

/* ---- ranges of addresses ---- */

/* Reserves memory for a device: `bytes` (a multiple of 4096) of addresses that the program gets and
 * nothing can touch, and as much storage (os_storage), which takes room only where it is written.
 * The base is a multiple of 32 MiB. Returns NULL if there are no addresses left. The caller owns
 * the range until os_unreserve; later only such ranges reuse the addresses. Both need the lock. */
char *os_reserve(size_t bytes);
void os_unreserve(char *base, size_t bytes);
/* Reserves memory that host and device share, otherwise like os_reserve. The addresses are a second
 * view of the storage, which nothing can touch until os_protect opens the view. */
char *os_reserve_host_visible(size_t bytes);
/* Returns the storage of a range. */
char *os_storage(char *base, size_t bytes);
/* Makes room for these bytes of storage, which the program will own, or ends the process with a
 * message. Does nothing where the system provides room at the first touch. */
void os_commit(char *storage, size_t bytes);
/* Finds the first pages in [from, to) of shared storage that somebody has touched, and sets *first
 * and *end to them. Returns false if there are none. Memory that may be in swap counts, too. */
bool os_find_touched(const char *storage, size_t from, size_t to, size_t *first, size_t *end);
/* Returns how many page faults the process has had, or 0 if that is unknown. While the number stays
 * the same, nobody has touched another page of shared storage. */
uint64_t os_page_faults(void);
/* Sets what the host may do with the range. Returns false if Linux allows no more mappings. */
enum os_protection { OS_PROT_NONE, OS_PROT_READ, OS_PROT_READ_WRITE };
bool os_protect(char *address, size_t bytes, enum os_protection protection);
/* Returns whether a quarter of the mappings that Linux allows is left. Slow, because it counts. */
bool os_has_mappings_left(void);
/* Tells the system that the whole range is about to be written. Large pages then cost far fewer
 * faults, but far more if only a little is touched. */
void os_hint_hugepages(char *address, size_t bytes);
/* Give the storage of [address, address + bytes) back, which then reads as zero. `address` is in
 * storage. os_discard_host_visible is for the storage of os_reserve_host_visible. */
void os_discard(char *address, size_t bytes);
void os_discard_host_visible(char *address, size_t bytes);
/* Returns page-aligned memory for the program, which nothing can touch until os_protect opens it.
 * `*storage` is a second address of the same bytes, which is always open. Returns NULL if there is
 * no memory. The memory is never given back. */
void *os_allocate_pages(size_t bytes, char **storage);
/* Returns whether the whole range has memory of any kind. Ranges that were given back do not count.
 * The range must not wrap. Needs the lock. */
bool os_has_memory(const void *address, size_t bytes);

/* ---- records of the simulation ---- */

/* Allocates ordinary memory, which os_allocate zeroes. Both end the process with a message if there
 * is none. The caller owns the memory until os_free. */
void *os_allocate(size_t bytes);
void *os_grow(void *old, size_t bytes);
/* Returns a copy of these bytes, which the caller owns. */
void *os_copy(const void *from, size_t bytes);
/* Adds an element to an array of `count` elements, counts it, and returns its address. What is
 * assigned to it must not be read from the array. */
#define OS_ADD(all, count) \
    ((all) = os_grow((all), ((count) + 1) * sizeof *(all)), (all) + (count)++)
/* Makes room for one more element in an array of `count` elements, which has `capacity`. */
#define OS_MAKE_ROOM(all, count, capacity)                  \
    if ((count) >= (capacity)) {                            \
        (capacity) = (capacity) ? 2 * (capacity) : 16;      \
        (all) = os_grow((all), (capacity) * sizeof *(all)); \
    }
/* Allocates like os_allocate, for memory that is touched all over. From OS_LARGE_PAGE bytes on it
 * uses large pages, which make random access far cheaper. */
#define OS_LARGE_PAGE (2 * MiB)
void *os_allocate_table(size_t bytes);
void os_free(void *p);

/* ---- the lock ---- */

/* Takes the lock that guards the whole simulation, from the start of each call to its end. Ends the
 * process with a message where lock_try_acquire would return false. */
void lock_acquire(void);
/* Takes the lock and returns true, or returns false if this thread has it already, because a signal
 * handler of the program is running in the middle of a call. */
bool lock_try_acquire(void);
/* Returns whether the calling thread has the lock. */
bool lock_is_held(void);
/* Returns whether another thread waits for the lock. Needs the lock. */
bool lock_is_wanted(void);
/* Names code of the program that runs with the lock held and must not call CUDA. If that code does,
 * the message of lock_acquire begins with these words, which the caller keeps. NULL ends this.
 * Needs the lock. */
void lock_set_owner(const char *program_code);
void lock_release(void);
/* Called in the child of a fork, where the threads that waited for the lock do not exist. Needs the
 * lock. */
void lock_forked(void);
/* Releases the lock, sleeps about this long in real time or until lock_wake, and takes the lock
 * again. Needs the lock. */
void lock_wait(unsigned microseconds);
/* Wakes all threads that are in lock_wait. */
void lock_wake(void);

/* ---- threads ---- */

/* Returns the calling thread's number: 0 for the first thread that made a call, then 1, 2, ... */
int os_thread_index(void);
/* Starts a thread that runs body(argument). It blocks all signals except those of bad addresses.
 * Ends the process with a message if that fails. Needs the lock. */
void os_thread_start(void (*body)(void *), void *argument);
/* Returns how many processors the process may use. */
unsigned os_cores(void);
/* Calls body(argument, n) for each n below `count`: 0 on the calling thread, and each other one on
 * a thread that is started for it. Leaves out those for which no thread can be started. Returns
 * when all have returned. The threads count as having the lock. Needs the lock. */
void os_run_together(unsigned count, void (*body)(void *argument, unsigned n), void *argument);
/* Between these two, only one thread of os_run_together runs at a time. */
void os_turn_begin(void);
void os_turn_end(void);
/* Lets other threads run. */
void os_yield(void);
/* Calls `handler`, with the lock held, when the calling thread ends. Registered handlers run for
 * every thread that has registered any. There may be at most four. Needs the lock. */
void os_at_thread_end(void (*handler)(void));
/* Returns the number of the program's other threads. Threads of os_thread_start do not count. */
int os_count_other_threads(void);
/* Returns whether the first thread has ended before the process and the program has no other thread
 * left. Called by a thread of os_thread_start. */
bool os_program_threads_ended(void);
/* Returns the calling thread's id, for the functions below that take an id. */
int os_thread_id(void);
/* Returns whether the thread sleeps or waits for anything but a processor. */
bool os_thread_is_asleep(int id);
/* Returns whether the thread sleeps by its own choice (nanosleep), if Linux reports it. */
bool os_thread_in_nanosleep(int id);
/* Returns the processor time of the thread in microseconds, or 0 if it has ended. */
uint64_t os_thread_cpu_us(int id);
/* Returns real time in microseconds since a fixed moment. */
uint64_t os_clock_us(void);

/* Returns whether a thread of the program for which is_known returns false computes or waits for a
 * processor, and has used less than `cpu_us` of processor time. Needs the lock. */
bool os_new_thread_works(bool (*is_known)(int id), uint64_t cpu_us);
/* How often the calling thread has given up its processor by itself, to sleep or to wait, and for
 * how many microseconds, from a fixed start. Neither computing nor waiting for a processor counts.
 * But a virtual machine does not see when it is kept from its own processor, and without
 * /proc/.../schedstat the wait for a processor counts too. The first os_rest of a thread needs the
 * lock. */
struct os_rest {
    uint64_t waits, slept;
};
struct os_rest os_rest(void);
/* Returns os_rest's first member, which is cheap to read. */
uint64_t os_waits(void);
/* os_rest does not count what the calling thread rests between these two calls. */
void os_rest_exclude_begin(void);
void os_rest_exclude_end(void);

/* ---- faults ---- */

/* Calls `handler(address, site, in_program)` when an instruction at `site` touches an address that
 * the process may not. `in_program`: the instruction belongs to the program and not to a library,
 * which may hold a lock. If the handler returns true, the instruction runs again; otherwise the
 * process dies of the signal. Called once, with the lock held. */
void os_on_bad_address(bool (*handler)(const void *address, void *site, bool in_program));

/* Sets the function that is called in each thread, without the lock, when the process has used its
 * time (SIGXCPU), before the process dies of that. `call` is the library's function that the thread
 * is in, or NULL. */
void os_on_time_over(void (*stopped)(void *site, const char *call));
/* Installs our handler again, in case the program has installed its own, and unblocks the signals
 * in the calling thread, because a blocked one kills without a word. Needs the lock. */
void os_expect_faults(void);

/* ---- debug information ---- */

/* The place of a call in the program's source: "04_release_threshold.c:41", or the program's file
 * and an offset if the line is unknown. Frames that only pass the call on are skipped: those in
 * headers of the system, C++, or CUDA, and functions whose name is `call`, or launch_ followed by
 * it. So the call of an overload is placed where the program calls the overload. */
#define OS_SOURCE_LOC_MAX 64
struct os_source_loc {
    void *site;
    const char *call;
    /* Not 0: the call is of another process, and `site` points to its struct os_code. */
    int process;
    char text[512];
    /* The file, as the debug information has it, and the line. The file is "" if unknown. */
    char file[512];
    unsigned line;
    /* Another site with the same address but other callers may have another place. */
    bool depends_on_callers;
    /* The place is in a header, in a template, or in a member of a class, and the text also has the
     * caller's place. */
    bool is_called_from;
};
/* Returns whether the program ignores the result of the call, because its next instructions
 * overwrite the result. In doubt, returns false. */
bool os_site_ignores_result(void *site);
/* Returns whether two sites have the same address, whatever their callers are. */
bool os_call_sites_same_address(void *a, void *b);
/* Writes the text of up to OS_SOURCE_LOC_MAX locations that have none yet. Needs the lock. */
void os_source_lines(struct os_source_loc **locs, size_t n);
/* Writes a source's path as reports have it, so that it can be opened from the current directory.
 * Of a header elsewhere, only the last folder and the file are written. */
void os_source_path(const char *path, char *text, size_t size);
/* Reads the source from the line of this location on, at most size - 1 characters and a NUL.
 * Returns false if the source cannot be read or is newer than the program, and so may have
 * changed. */
bool os_source_read(const struct os_source_loc *loc, char *source, size_t size);

/* ---- libraries of the system ---- */

/* Decompresses zstd data that has `bytes` bytes when decompressed. Returns false if the system has
 * no libzstd.so.1 or the data is not valid. Needs the lock. */
bool os_read_zstd(const void *from, size_t compressed, void *to, size_t bytes);
/* Loads the library FILE from the folder of the simulated device's own, and returns its symbol, or
 * NULL if there is none. Needs the lock. */
void *os_load_neighbor(const char *file, const char *symbol);
/* Returns the function or variable of that name in the libraries that the program is linked with,
 * or NULL. Needs no lock. */
void *os_symbol(const char *name);

/* ---- files ---- */

/* A file for the journal or for reports. What a forked child writes to the file is dropped. "%p" in
 * the path is replaced with the pid. While one living process writes a file, another that opens it
 * gets PATH.PID instead, because a program and the processes it starts share one environment. All
 * functions of files need the lock. */
typedef struct os_file os_file;
/* The lowest number of our own descriptors (assumed: programs count on the numbers below). */
#define OS_FIRST_FD 200
/* Creates or empties the file, or ends the process with a message about the variable that has its
 * path. `what` names the file in the message that is printed if the file can take no more. The
 * caller owns the file until os_close. */
os_file *os_open(const char *variable, const char *path, const char *what);
void os_write(os_file *file, const char *text, size_t bytes);
/* Writes the part of the text that brings the file to a multiple of OS_WRITE_UNIT, where a large
 * file is cheap to continue. Any text of that length contains such a point. Returns the number of
 * bytes written. */
#define OS_WRITE_UNIT (64 * KiB)
size_t os_write_units(os_file *file, const char *text, size_t bytes);
/* When this returns, all that was written is in the file. */
void os_flush(os_file *file);
void os_close(os_file *file);

#endif
