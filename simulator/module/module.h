/* A text of PTX: its functions, variables, and files. This only finds functions; ptx/decode.h reads
 * their instructions when one is needed. A module lives as long as the process. All of these need
 * the lock. */
#ifndef SIM_MODULE_MODULE_H
#define SIM_MODULE_MODULE_H

#include "module/scanner.h"

enum space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_CONST, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM };

/* A variable, or a parameter. */
struct variable {
    char *name;
    enum space space;
    size_t bytes, alignment;
    /* Its place: a parameter's in the launch's or call's parameters; shared and local memory's in
     * the function's. */
    size_t offset;
    /* Its initial bytes; NULL: zeros. */
    char *initial;
    /* Addresses in it, which are known only when the variables have theirs. */
    struct relocation *relocations;
    size_t relocation_count;
    /* Shared memory whose size the launch gives. */
    bool is_dynamic;
    /* __managed__: has one address for all devices and the host. */
    bool is_managed;
    /* Its module, and its address on each device, or 0 if it has none yet. */
    struct module *module;
    uint64_t address[16];
    /* The next one that has an address (run/device_variable.c). */
    struct variable *next_placed;
};

/* In a variable: the address of another variable or a function, with an offset. */
struct relocation {
    size_t at;
    char *symbol;
    int64_t addend;
};

struct variables {
    struct variable *all;
    size_t count, capacity;
};

/* Why a launch is refused. */
#define IN_CLUSTERS "clusters of several blocks"

struct function {
    struct module *module;
    char *name;
    bool is_entry;
    /* The parameters and results of a kernel or device function. Their offsets are in one piece of
     * memory of `parameter_bytes` bytes, the results after the parameters. */
    struct variables parameters, results;
    size_t parameter_bytes;
    /* From .maxntid and .reqntid; 0 if neither is given. */
    unsigned max_threads;
    /* From .reqnctapercluster: how many blocks are a cluster; 0 if it is not given. */
    unsigned cluster_blocks;
    /* The text of the body. */
    const char *body;
};

struct module {
    char *text;
    /* The modules with which it is linked, including itself, by `next`. */
    struct module **linked, *next;
    struct function *functions;
    size_t function_count, function_capacity;
    struct variables variables;
    /* Names of source files, by number. */
    char **files;
    size_t file_count;
    /* A GPU's assembler does not optimize it. */
    bool is_debug;
};

/* Reads a module, which owns the text, and adds it to the modules with which it is linked. Never
 * fails: it skips what is unknown, and later searches for that find nothing. */
struct module *module_read(char *text, struct module **linked);
/* Return the function or variable of this name here or in a linked module, or NULL. */
struct function *module_function(struct module *m, const char *name);
struct variable *module_variable(struct module *m, const char *name);

/* Returns the size of all constants here and in linked modules. */
size_t module_constant_bytes(const struct module *m);

/* Return the address of a function, for calls by address, which is the same in all kernels; and the
 * function at an address, or NULL. */
#define FUNCTION_WINDOW ((uint64_t)3 << 56)
uint64_t module_function_address(const struct function *f);
struct function *module_function_at(struct module *m, uint64_t address);

/* For readers of bodies: reads a declaration from its word ".param", ".shared", ".local",
 * ".global", or ".const" up to its ';', ',', or ')'. Returns the variable, added to `to`, or NULL
 * if it could not be read. */
struct variable *variable_read(struct scanner *s, struct variables *to);
struct variable *variables_find(const struct variables *in, struct word name);
/* Ends all but the first `count` variables. */
void variables_end(struct variables *v, size_t count);
/* Places `v` after the first `*bytes` bytes, and adds its size. */
void variable_place(struct variable *v, size_t *bytes);
/* Returns the size of a type by name, such as ".f32" or "u8", or 0 if it is no type. */
size_t type_bytes(struct word w);

#endif
