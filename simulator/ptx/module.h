/* A text of PTX: its functions, its variables and its files. Functions are only found here;
 * ptx/decode.h reads their instructions when one of them is needed.
 *
 * All of these need the lock. A module lives as long as the process. */
#ifndef SIM_PTX_MODULE_H
#define SIM_PTX_MODULE_H

#include "ptx/scanner.h"

enum space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_CONST, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM };

/* A variable, or a parameter. */
struct variable {
    char *name;
    enum space space;
    size_t bytes, alignment;
    /* Where it is: of a parameter, in the launch's or the call's; of shared and local memory, in
     * the function's. */
    size_t offset;
    /* What it is initialized with; NULL: zeros. */
    char *initial;
    /* Addresses in it that are known only when the variables have theirs. */
    struct relocation *relocations;
    size_t relocation_count;
    /* Shared memory whose size the launch gives. */
    bool is_dynamic;
    /* __managed__: at one address for all devices and the host. */
    bool is_managed;
    /* Of the module: which, and where it is on each device; 0: nowhere yet. */
    struct module *module;
    uint64_t address[16];
};

/* In a variable: the address of another one, or of a function, and what is added to it. */
struct relocation {
    size_t at;
    char *symbol;
    int64_t addend;
};

struct variables {
    struct variable *all;
    size_t count, capacity;
};

struct function {
    struct module *module;
    char *name;
    bool is_entry;
    /* Of an entry, or of a device function: what it takes and what it returns. Their offsets are in
     * one piece of memory of `parameter_bytes` bytes, the results behind the parameters. */
    struct variables parameters, results;
    size_t parameter_bytes;
    /* From .maxntid and .reqntid; 0: none. */
    unsigned max_threads;
    /* The text of the body. */
    const char *body;
};

struct module {
    char *text;
    /* The modules that it is linked with, itself among them, by `next`. */
    struct module **linked, *next;
    struct function *functions;
    size_t function_count, function_capacity;
    struct variables variables;
    /* Names of source files, by their numbers. */
    char **files;
    size_t file_count;
};

/* Reads a module, which owns the text, and adds it to those that it is linked with. Never fails:
 * what it does not know it leaves out, and who needs that finds nothing. */
struct module *module_read(char *text, struct module **linked);
/* The function or variable of this name here or in a module that this one is linked with, or
 * NULL. */
struct function *module_function(struct module *m, const char *name);
struct variable *module_variable(struct module *m, const char *name);

/* The address of a function, for calls by address, which is the same in all kernels; and the
 * function at one, or NULL. */
#define FUNCTION_WINDOW ((uint64_t)3 << 56)
uint64_t module_function_address(const struct function *f);
struct function *module_function_at(struct module *m, uint64_t address);

/* For what reads bodies. Reads a declaration whose word is ".param", ".shared", ".local", ".global"
 * or ".const", up to its ';', ',' or ')'. Returns the variable, added to `to`; NULL: it could not
 * be read. */
struct variable *variable_read(struct scanner *s, struct variables *to);
struct variable *variables_find(const struct variables *in, struct word name);
/* Puts `v` behind what the first `*bytes` bytes hold. */
void variable_place(struct variable *v, size_t *bytes);
/* Returns the bytes of a type by its name, ".f32", "u8"; 0: it is no type. */
size_t type_bytes(struct word w);

#endif
