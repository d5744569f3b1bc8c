/* Virtual memory management of the driver API: reserved addresses, memory that is made without
 * addresses, and mappings of the one to the other. A reservation is a heap whose live ranges are
 * its mappings. All of these need the lock. Measured, where nothing else is named:
 * probe-virtual.txt. */
#ifndef SIM_MEM_VIRTUAL_MEMORY_H
#define SIM_MEM_VIRTUAL_MEMORY_H

#include "mem/memory.h"

/* The properties of memory that the simulated device keeps. */
struct virtual_properties {
    int device;
    int compression, network, handle_types;
};

/* Memory that cuMemCreate has made, or that was imported. */
struct virtual_memory {
    void *handle;
    size_t bytes;
    struct virtual_properties properties;
    int file; /* Its bytes, and then a page that says what it is. */
    bool imported;
    unsigned references; /* Handles that were not released. */
    unsigned mappings;
};

/* Returns memory, or NULL if the device has no more, or the process no file. */
struct virtual_memory *virtual_memory_new(size_t bytes, struct virtual_properties properties);
/* Returns the memory in another process's file, which it owns from now on, or NULL if the file has
 * none. */
struct virtual_memory *virtual_memory_import(int file);
/* Gives back one reference. Returns false if there is none. What is mapped stays until it is
 * unmapped. */
bool virtual_memory_release(struct virtual_memory *m);

/* Returns the base of so many bytes of addresses, or NULL if there are none. */
char *virtual_reserve(size_t bytes);
/* Returns the newest reservation. The others follow by `next_opened`. */
struct heap *virtual_first(void);
/* Returns whether the bytes are exactly a reservation without mappings, and ends it. */
bool virtual_unreserve(const char *base, size_t bytes);

/* Maps memory there, with access for no device. Returns false if the bytes are not free addresses
 * of one reservation, which may have memory of several devices. */
bool virtual_map(const struct call *call, char *at, struct virtual_memory *m);
/* Returns the first mapping at or behind the address, or NULL. */
struct virtual_mapping *virtual_find(const char *at);
/* Ends the mapping, and reports work that may still use it. */
void virtual_unmap(const struct call *call, struct virtual_mapping *v);

struct virtual_mapping {
    struct virtual_mapping *next; /* In its reservation, in order of address. */
    char *base;
    size_t bytes;
    struct virtual_memory *memory;
    uint32_t access, writable; /* The devices that may read, and write: a bit for each. */
};

/* Returns the mapping that contains the address, or NULL. */
struct virtual_mapping *virtual_at(const void *address);
/* Returns whether the bytes are in one reservation, and no mapping lies there only in part. */
bool virtual_is_whole(const char *at, size_t bytes);

#endif
