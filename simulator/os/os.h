/* The one door to the operating system: environment, messages, memory, the lock, threads, faults,
 * files; os/process.h has what concerns other processes. Nothing outside of os/ includes a system
 * header beyond the C standard library's. What needs the lock says so. */
#ifndef SIM_OS_OS_H
#define SIM_OS_OS_H

#include "os/units.h"

/* Where a call of the program stands, its site: the address that it returns to. Where the program
 * keeps frame pointers, which compilers do without -O, that is known of some callers, too, and the
 * site is one that stands for all these addresses; it lives as long as the process. A page has no
 * addresses of code; there the program leaves its place in a variable before each call
 * (os/web/site.h).
 *
 * OS_CALL_ADDRESS and OS_CALL_FRAME are of the function that they are in; os_call_site, which needs
 * the lock, makes the site of them. */
#ifdef __EMSCRIPTEN__
extern void *os_web_site;
#define OS_CALL_ADDRESS os_web_site
#define OS_CALL_FRAME   NULL
#else
#define OS_CALL_ADDRESS __builtin_return_address(0)
#define OS_CALL_FRAME   __builtin_frame_address(0)
#endif
void *os_call_site(void *address, void *const *frame);

/* ---- the environment ---- */

/* Returns the value of an environment variable, or NULL when it is unset or empty. */
const char *os_environment(const char *name);
/* Returns entry number `at` of the environment, "NAME=VALUE"; NULL behind the last. */
const char *os_environment_entry(size_t at);

/* ---- messages, and the end of the process ---- */

/* Prints "simulated device: ..." and a newline on standard error, in one write. */
void diag(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same without the prefix: for reports whose first word is an interface ("hazard: ..."). */
void diag_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints like diag, then ends the process with status 1. For a mistake in the set-up of the
 * simulation, never for one of the program. */
void os_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Ends the process at once with this status, running no exit handlers. */
void os_exit(int status) __attribute__((noreturn));
/* Calls `handler` in the child after each fork, with the lock held: whoever had it in the parent is
 * not there to release it. */
void os_after_fork(void (*handler)(void));
/* Calls `handler` when the program calls exit or returns from main, with its exit status. */
void os_at_exit(void (*handler)(int status));

/* ---- ranges of addresses ---- */

/* Returns memory that the device owns: `bytes` (a multiple of 4096) of addresses for the program,
 * which nobody can touch, and as many of storage behind them (os_storage), which takes room only
 * where it has been written. The base is a multiple of 32 MiB. NULL when there are no addresses
 * left. The caller owns it until os_unreserve; then nothing but another such range comes to lie
 * there. These need the lock. */
char *os_reserve(size_t bytes);
void os_unreserve(char *base, size_t bytes);
/* The same for memory that host and device share: the addresses are a second view of the storage,
 * which nobody can touch until os_protect opens it. */
char *os_reserve_host_visible(size_t bytes);
/* Returns the storage of a range that begins at `base` and has `bytes`. */
char *os_storage(char *base, size_t bytes);
/* The program comes to own these bytes of storage. Ends the process with a sentence where there is
 * no room for them; where the system gives room at the first touch it does nothing. */
void os_commit(char *storage, size_t bytes);
/* Sets what the host may do with [address, address + bytes). Returns false when Linux refuses: the
 * process has as many mappings as it may. */
enum os_protection { OS_PROT_NONE, OS_PROT_READ, OS_PROT_READ_WRITE };
bool os_protect(char *address, size_t bytes, enum os_protection protection);
/* Has the process a quarter of the mappings left that Linux allows? Slow: it counts them. */
bool os_has_mappings_left(void);
/* Something is about to write the whole range. Large pages then cost far fewer faults; where only a
 * little is touched they would cost far more. */
void os_hint_hugepages(char *address, size_t bytes);
/* Gives the storage of [address, address + bytes) back; it reads as zero afterwards. `address` is
 * in storage. The second is for what os_reserve_host_visible returned. */
void os_discard(char *address, size_t bytes);
void os_discard_host_visible(char *address, size_t bytes);
/* Returns page-aligned memory for the program, which nobody can touch until os_protect opens it;
 * `*storage` is the same bytes at a second address, which is always open. NULL when there is none.
 * It stays for good. */
void *os_allocate_pages(size_t bytes, char **storage);
/* Is there memory in the whole range, of whatever kind? Not in a range that was given back. The
 * range does not wrap. Needs the lock. */
bool os_has_memory(const void *address, size_t bytes);

/* ---- records of the simulation ---- */

/* Ordinary memory, zeroed by os_allocate. Both end the process with a sentence when there is none.
 * The caller owns it until os_free. */
void *os_allocate(size_t bytes);
void *os_grow(void *old, size_t bytes);
/* Like os_allocate, for what is touched all over: from OS_LARGE_PAGE bytes on it lies in large
 * pages, where a touch out of order costs far less. */
#define OS_LARGE_PAGE (2 * MiB)
void *os_allocate_table(size_t bytes);
void os_free(void *p);

/* ---- the lock ---- */

/* One lock guards the whole simulation. It is held from the start of each call to its end. Ends the
 * process with a sentence where lock_try_acquire would return false. */
void lock_acquire(void);
/* The same, but returns false when this thread has it: a signal handler of the program runs in the
 * midst of a call. */
bool lock_try_acquire(void);
/* Does the calling thread have it? */
bool lock_is_held(void);
/* Code of the program runs with the lock held, and may not call CUDA; NULL: none any more. When it
 * calls all the same, the sentence of lock_acquire begins with these words, which the caller keeps.
 * Needs the lock. */
void lock_set_owner(const char *program_code);
void lock_release(void);
/* In the child of a fork: the threads that waited for the lock are not there. Needs the lock. */
void lock_forked(void);
/* Gives the lock up, sleeps about this long in real time (or until lock_wake), and takes it again.
 * Needs the lock. */
void lock_wait(unsigned microseconds);
/* Wakes all threads that are in lock_wait. */
void lock_wake(void);

/* ---- threads ---- */

/* Returns a small number for the calling thread: 0 for the first that made a call, then 1, 2,
 * ... */
int os_thread_index(void);
/* Starts a thread that runs body(argument) with all signals blocked but those of bad addresses.
 * Ends the process with a sentence when it cannot. Needs the lock. */
void os_thread_start(void (*body)(void *), void *argument);
/* Calls `handler`, with the lock held, when the calling thread ends; also in other threads that
 * have registered any function. At most four functions. Needs the lock. */
void os_at_thread_end(void (*handler)(void));
/* How many threads the program has besides the calling one; those started here do not count. */
int os_count_other_threads(void);
/* Has the first thread ended before the process, and has the program no other left? Called by a
 * thread of ours. */
bool os_program_threads_ended(void);
/* The calling thread's id, for the next three. */
int os_thread_id(void);
/* Does the thread sleep, or wait for something else than a processor? */
bool os_thread_is_asleep(int id);
/* Does it sleep for a time of its own choice (nanosleep)? False when Linux does not report it. */
bool os_thread_in_nanosleep(int id);
/* Processor time that the thread has used, in microseconds; 0 when it is gone. */
uint64_t os_thread_cpu_us(int id);
/* Real time, microseconds from some fixed moment. */
uint64_t os_clock_us(void);

/* Does a thread of the program that is not known compute or wait for a processor, and has used less
 * than so many microseconds? Needs the lock. */
bool os_new_thread_works(bool (*is_known)(int id), uint64_t cpu_us);
/* How often the calling thread has given the processor up by itself, to sleep or to wait; and how
 * long that was, in microseconds from some fixed moment: neither computing nor waiting for a
 * processor counts. A virtual machine that is itself kept from its processor does not see that, and
 * a system without /proc/.../schedstat counts the waiting for a processor. A thread's first os_rest
 * needs the lock. */
struct os_rest {
    uint64_t waits, slept;
};
struct os_rest os_rest(void);
/* The first of them, which is cheap to read. */
uint64_t os_waits(void);
/* What the calling thread rests between these two counts in neither. */
void os_rest_exclude_begin(void);
void os_rest_exclude_end(void);

/* ---- faults ---- */

/* Calls `handler(address, site, in_program)` when an instruction at `site` touches an address that
 * the process may not. `in_program`: the instruction is the program's own, and no library's, which
 * may have a lock. When it returns true, the instruction runs again; else the process dies of the
 * signal, as it would have. Called once, with the lock held. */
void os_on_bad_address(bool (*handler)(const void *address, void *site, bool in_program));
/* Puts our handler there once more, where the program may have put one of its own, and unblocks the
 * signals in the calling thread: blocked ones kill it without a word. Needs the lock. */
void os_expect_faults(void);

/* ---- debug information ---- */

/* Where a call stands in the program's source: "04_release_threshold.c:41", or the program's file
 * and an offset when the line is not known. Frames that only pass the call on are left out: those
 * of the system's headers, of C++ and of CUDA, and those of functions that are named like `call`,
 * or launch_ and that. So a call of an overload stands where the program calls the overload. */
#define OS_SOURCE_LOC_MAX 64
struct os_source_loc {
    void *site;
    const char *call;
    char text[256];
    /* The file as the debug information has it, and the line; empty: not known. */
    char file[512];
    unsigned line;
    /* Another site with the same address, but other callers, may stand elsewhere. */
    bool depends_on_callers;
};
/* Do the two sites have the same address, whoever called the function that it is in? */
bool os_call_sites_same_address(void *a, void *b);
/* Writes the text of up to OS_SOURCE_LOC_MAX locations whose text is empty. Needs the lock. */
void os_source_lines(struct os_source_loc **locs, size_t n);
/* Reads the source from the line of this location on, at most size - 1 characters and a NUL.
 * Returns false when it cannot be read, or is newer than the program: it may have changed. */
bool os_source_read(const struct os_source_loc *loc, char *source, size_t size);

/* ---- libraries of the system ---- */

/* Decompresses what zstd has compressed, `bytes` bytes in the end. Returns false when the system
 * has no libzstd.so.1, or that is not what is there. Needs the lock. */
bool os_read_zstd(const void *from, size_t compressed, void *to, size_t bytes);

/* ---- files ---- */

/* A file for the journal, or for reports. What is written after a fork, by the child, goes nowhere.
 * "%p" in the path stands for the pid. While one living process writes a file, another that opens
 * it gets PATH.PID instead (a program and the processes that it starts have one environment). All
 * of these need the lock. */
typedef struct os_file os_file;
/* The lowest of our own descriptors (assumed: programs count on the numbers below). */
#define OS_FIRST_FD 200
/* Creates or empties the file. Returns NULL when that fails; os_open_error has the sentence. `what`
 * is how a sentence calls the file when it can take no more. The caller owns it until os_close. */
os_file *os_open(const char *path, const char *what);
const char *os_open_error(void);
void os_write(os_file *file, const char *text, size_t bytes);
/* Writes as much of the text as brings the file to a multiple of OS_WRITE_UNIT, where a large file
 * is cheap to go on. A text of that many bytes always reaches one. Returns how many bytes were
 * written. */
#define OS_WRITE_UNIT (256 * KiB)
size_t os_write_units(os_file *file, const char *text, size_t bytes);
/* What was written is in the file when this returns. */
void os_flush(os_file *file);
void os_close(os_file *file);

#endif
