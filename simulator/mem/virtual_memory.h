/* Virtual memory management of the driver API: reserved addresses, memory without addresses, and
 * mappings between the two. A reservation is a heap whose live ranges are its mappings. All of
 * these need the lock. Unless a comment says otherwise, behavior is measured: probe-virtual.txt. */
#ifndef SIM_MEM_VIRTUAL_MEMORY_H
#define SIM_MEM_VIRTUAL_MEMORY_H

#include "mem/memory.h"

/* The properties of the memory that the simulated device remembers. */
struct virtual_properties {
    int device;
    int compression, network, handle_types;
};

/* Memory that cuMemCreate has made, or that was imported. */
struct virtual_memory {
    void *handle;
    uint64_t number; /* Of the memory, the same in all processes. */
    size_t bytes;
    struct virtual_properties properties;
    int file; /* Its bytes, and then a page that describes it. */
    bool imported;
    unsigned references; /* The handles that were not released. */
    unsigned mappings;
};

/* Returns new memory, or NULL if the device has no more, or the process no more files. */
struct virtual_memory *virtual_memory_new(size_t bytes, struct virtual_properties properties);
/* Returns the memory in another process's file, which it owns from now on, or NULL if the file has
 * no such memory. */
struct virtual_memory *virtual_memory_import(int file);
/* Releases a handle. Returns false if there is none. Mapped memory stays until it is unmapped. */
bool virtual_memory_release(struct virtual_memory *m);

/* Returns the base of so many bytes of addresses, or NULL if there are none. */
char *virtual_reserve(size_t bytes);
/* Returns the newest reservation. The others follow by `next_opened`. */
struct heap *virtual_first(void);
/* Returns whether the bytes are exactly a reservation without mappings, and ends it. */
bool virtual_unreserve(const char *base, size_t bytes);

/* Maps memory at the address, with access for no device. Returns false if the bytes are not free
 * addresses of a single reservation. A reservation may have memory of several devices. */
bool virtual_map(const struct call *call, char *at, struct virtual_memory *m);
/* Returns the first mapping that contains the address or comes after it, or NULL. */
struct virtual_mapping *virtual_find(const char *at);
/* Ends the mapping, and reports work that may still use it. */
void virtual_unmap(const struct call *call, struct virtual_mapping *v);

struct virtual_mapping {
    struct virtual_mapping *next; /* The next one at a higher address. */
    char *base;
    size_t bytes;
    struct virtual_memory *memory;
    uint32_t access, writable; /* A bit for each device that has it. */
    struct mapping checked;
};

/* Returns the mapping that contains the address, or NULL. */
struct virtual_mapping *virtual_at(const void *address);
/* Returns the device's access: 0 none, 1 read, 3 read and write, as in CUmemAccess_flags. */
unsigned virtual_access(const struct virtual_mapping *v, int device);
/* Returns whether the bytes are in one reservation and no mapping is only partly among them. */
bool virtual_is_whole(const char *at, size_t bytes);

#endif
