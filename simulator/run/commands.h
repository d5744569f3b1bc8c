/* Memsets, copies, and kernels: checks what a real device checks at the call, and queues the
 * effect. All of these need the lock, and none waits. */
#ifndef SIM_RUN_COMMANDS_H
#define SIM_RUN_COMMANDS_H

#include <driver_types.h>

#include "base/origin.h"
#include "mem/memory.h"
#include "sched/stream.h"

/* The bytes that a copy or memset touches: `height` rows of `width` bytes, at distances of `pitch`
 * bytes. Bytes between rows are not touched. Invariant: height > 0, and width <= pitch if there are
 * several rows. */
struct rows {
    size_t width, height;
    /* For the destination, and for a copy's source. */
    size_t to_pitch, from_pitch;
    /* A copy by cudaMemcpyPeer or a call like it, which needs no access rights. */
    bool between_peers;
};
/* Returns all bytes as one row. */
static inline struct rows rows_of(size_t bytes)
{
    return (struct rows){bytes, 1, bytes, bytes, false};
}
/* Returns the bytes from the first row's start to the last row's end; SIZE_MAX: too many. */
size_t rows_span(const struct rows *r, size_t pitch);

/* The call has queued the op, which keeps the call's number and its place for reports. */
void command_made_by(struct op *op, const struct call *call);
/* The op as reports name it. */
struct origin command_origin(const struct op *op);
/* Returns why a device may not touch these bytes ("is a null pointer"), or NULL if it may. The text
 * is valid until the next call. */
const char *command_why_not(const struct address_info *a, const void *address, size_t bytes,
                            int device, bool write);
/* A fault: the op, or a launch of its call, did something that ends the device (`what`: "wrote 4
 * bytes ..."). If `is_hazard`, the fault is reported as a hazard, unless a report is about the op
 * already; otherwise as a sentence. `inside`: as in struct access. */
void command_fault(const struct op *op, cudaError_t error, const char *what, const char *inside,
                   bool is_hazard);

/* Fills these rows, with elements of 1, 2, or 4 bytes, in the order of stream `s`. Rows that leave
 * their allocation, or that the stream's device may not touch, are rejected with
 * cudaErrorInvalidValue (measured: probe-answers.txt, "copies and memsets";
 * probe-outsiders-peers.txt, "stream_of_other_device"). */
cudaError_t command_memset(const struct call *call, void *to, int value, unsigned element,
                           struct rows r, struct stream *s);
/* Queues a memset node with elements of 1, 2, or 4 bytes. Nothing is checked here; a bad address is
 * a fault when the node runs (measured: probe-graph-nodes.txt, "range_in_step"; a launch notices
 * nothing inside the same segment). */
void command_memset_node(const struct call *call, void *to, int value, unsigned element,
                         struct rows r, struct stream *s);

/* How far a copy is when its call returns. Documented (CUDA Runtime API, "API synchronization
 * behavior"); which calls wait is measured (simulator/tests/facts/probe-waits.txt,
 * probe-host.txt). */
enum copy_wait {
    COPY_QUEUED, /* It is queued. */
    /* Earlier work has ended, and the pageable source may be changed. The bytes may arrive later
     * (documented; measured: probe-uploads.txt, from 64 KiB on they mostly did). */
    COPY_STAGED,
    COPY_DONE
};

/* Queues a copy. `wait` is set to what an asynchronous call must wait for. If it is NULL, no call
 * can wait, and pageable memory is read when the copy runs. */
cudaError_t command_copy(const struct call *call, void *to, const void *from, struct rows r,
                         enum cudaMemcpyKind kind, struct stream *s, enum copy_wait *wait);
/* Returns whether command_copy rejects this copy. */
bool command_refuses_copy(const void *to, const void *from, struct rows r, const struct stream *s);
/* Returns "HostToDevice" and so on, by the memory at both ends. */
const char *command_copy_direction(const struct address_info *to, const struct address_info *from);
/* What cudaMemcpy waits for, and whether cudaMemset waits: not on device memory (documented). */
enum copy_wait command_blocking_copy_wait(const void *to, const void *from);
bool command_memset_blocks(const void *to);

/* Queue a kernel of kernels.h: one that sets `count` ints to the value or, if `adds`, adds the
 * value to them. The memory is not checked at the call; a bad address is a fault when the kernel
 * runs. */
cudaError_t command_write_ints(const struct call *call, bool adds, int *data, int value,
                               size_t count, struct stream *s);
cudaError_t command_hold(const struct call *call, const volatile int *gate, struct stream *s);
cudaError_t command_host_function(const struct call *call, void (*function)(void *), void *argument,
                                  struct stream *s);

/* For all kernels. The first two report to the checker that the op uses `bytes` bytes, and which
 * access its device lacks or was given. The third returns where running work finds bytes that no
 * call has checked, or NULL after a fault. */
void command_check_use(const struct call *call, struct address_info *a, const void *address,
                       size_t bytes, const struct op *op, bool write);
void command_check_peer_access(const struct call *call, struct address_info *a,
                               const struct op *op);
char *command_resolve(const struct op *op, const void *address, size_t bytes, bool write);

/* For work that is described now and runs later: whether a memset, or a copy at one of its ends, of
 * a stream of `device` may touch these bytes, and whether a copy of this kind is allowed. */
bool command_allows_memset(const void *to, size_t bytes, int device);
bool command_allows_copy(const void *address, size_t bytes, int device, bool write);
bool command_kind_allows(enum cudaMemcpyKind kind, const void *to, const void *from);

#endif
