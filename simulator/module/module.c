/* Reads what is outside of functions. */
#include "module/module.h"

#include <stdlib.h>
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

/* ---- variables ---- */

size_t type_bytes(struct word w)
{
    NEEDS_LOCK();
    if (w.length && *w.at == '.')
        w = (struct word){w.at + 1, w.length - 1};
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"pred", 1}, {"b8", 1},    {"u8", 1},     {"s8", 1},    {"b16", 2},   {"u16", 2},
                 {"s16", 2},  {"f16", 2},   {"bf16", 2},   {"b32", 4},   {"u32", 4},   {"s32", 4},
                 {"f32", 4},  {"f16x2", 4}, {"bf16x2", 4}, {"u16x2", 4}, {"s16x2", 4}, {"b64", 8},
                 {"u64", 8},  {"s64", 8},   {"f64", 8},    {"b128", 16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (word_is(w, types[i].name))
            return types[i].bytes;
    return 0;
}

static enum space space_of(struct word w)
{
    static const char *const names[] = {"", ".global", ".const", ".shared", ".local", ".param"};
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (word_is(w, names[i]))
            return (enum space)i;
    return SPACE_GENERIC;
}

struct variable *variables_find(const struct variables *in, struct word name)
{
    NEEDS_LOCK();
    /* Search the newest first, because a name in an inner scope hides an outer one. */
    for (size_t i = in->count; i-- > 0;)
        if (word_is(name, in->all[i].name))
            return &in->all[i];
    return NULL;
}

void variables_end(struct variables *v, size_t count)
{
    NEEDS_LOCK();
    while (v->count > count)
        os_free(v->all[--v->count].name);
}

void variable_place(struct variable *v, size_t *bytes)
{
    NEEDS_LOCK();
    v->offset = (*bytes + v->alignment - 1) / v->alignment * v->alignment;
    *bytes = v->offset + v->bytes;
}

static void add_relocation(struct variable *v, size_t at, struct word symbol)
{
    *OS_ADD(v->relocations, v->relocation_count) =
        (struct relocation){.at = at, .symbol = word_copy(symbol)};
}

/* Reads one value of an initializer: a number, or an address with an offset. */
static void read_value(struct scanner *s, struct variable *v, size_t at, size_t element)
{
    bool negative = scan_over(s, "-"), generic = scan_over(s, "generic");
    if (generic)
        scan_over(s, "(");
    uint64_t value = word_number(s->word);
    if (word_starts(s->word, "0f") || word_starts(s->word, "0F") || word_starts(s->word, "0d")
        || word_starts(s->word, "0D"))
        value = strtoull(s->word.at + 2, NULL, 16);
    else if (*s->word.at < '0' || *s->word.at > '9')
        add_relocation(v, at, s->word);
    if (negative)
        value = -value;
    if (at + element <= v->bytes)
        memcpy(v->initial + at, &value, element < 8 ? element : 8);
    scan(s);
    if (generic)
        scan_over(s, ")");
    if (scan_over(s, "+") && v->relocation_count) {
        v->relocations[v->relocation_count - 1].addend = (int64_t)word_number(s->word);
        scan(s);
    }
}

static void read_initializer(struct scanner *s, struct variable *v, size_t element)
{
    size_t at = 0;
    int depth = 0;
    v->initial = os_allocate(v->bytes + 8);
    do {
        if (scan_over(s, "{"))
            depth++;
        else if (scan_over(s, "}"))
            depth--;
        else if (!scan_over(s, ",")) {
            read_value(s, v, at, element);
            at += element;
        }
    } while (depth > 0 && s->word.length);
}

/* Reads the name, the dimensions, and the initializer. */
static struct variable *read_declarator(struct scanner *s, struct variables *to, struct variable v,
                                        size_t element)
{
    OS_MAKE_ROOM(to->all, to->count, to->capacity)
    v.name = word_copy(s->word);
    scan(s);
    v.bytes = element;
    while (scan_over(s, "[")) {
        v.is_dynamic = word_is(s->word, "]");
        v.bytes *= v.is_dynamic ? 0 : word_number(s->word);
        if (!v.is_dynamic)
            scan(s);
        scan_over(s, "]");
    }
    struct variable *added = &to->all[to->count++];
    *added = v;
    if (scan_over(s, "="))
        read_initializer(s, added, element);
    return added;
}

struct variable *variable_read(struct scanner *s, struct variables *to)
{
    NEEDS_LOCK();
    struct variable v = {.space = space_of(s->word)};
    size_t element = 0, vector = 1;
    for (scan(s); s->word.length && *s->word.at == '.'; scan(s)) {
        if (word_is(s->word, ".align")) {
            scan(s);
            v.alignment = word_number(s->word);
        } else if (word_is(s->word, ".v2") || word_is(s->word, ".v4")) {
            vector = (size_t)(s->word.at[2] - '0');
        } else if (word_is(s->word, ".attribute")) {
            /* .attribute(.managed) */
            scan(s);
            scan(s);
            v.is_managed |= word_is(s->word, ".managed");
            while (s->word.length && !word_is(s->word, ")"))
                scan(s);
        } else if (type_bytes(s->word)) {
            element = type_bytes(s->word);
        }
    }
    if (!element || !s->word.length)
        return NULL;
    if (!v.alignment)
        v.alignment = element * vector;
    return read_declarator(s, to, v, element * vector);
}

/* ---- functions ---- */

static void read_parameters(struct scanner *s, struct function *f, struct variables *to)
{
    scan_over(s, "(");
    while (s->word.length && !word_is(s->word, ")")) {
        struct variable *v =
            word_is(s->word, ".param") || word_is(s->word, ".reg") ? variable_read(s, to) : NULL;
        if (v)
            variable_place(v, &f->parameter_bytes);
        else
            scan(s);
        while (s->word.length && !word_is(s->word, ",") && !word_is(s->word, ")"))
            scan(s);
        scan_over(s, ",");
    }
    scan_over(s, ")");
}

/* .maxntid 256, 1, 1, .reqnctapercluster 2, 1, 1 and the like, up to the body or the end of a
 * declaration. */
static void read_directives(struct scanner *s, struct function *f)
{
    while (s->word.length && !word_is(s->word, "{") && !word_is(s->word, ";")) {
        bool threads = word_is(s->word, ".maxntid") || word_is(s->word, ".reqntid");
        unsigned *product = threads                                ? &f->max_threads
                          : word_is(s->word, ".reqnctapercluster") ? &f->cluster_blocks
                                                                   : NULL;
        scan(s);
        if (!product)
            continue;
        *product = 1;
        do {
            *product *= (unsigned)word_number(s->word);
            scan(s);
        } while (scan_over(s, ","));
    }
}

static void read_function(struct scanner *s, struct module *m, bool is_entry)
{
    struct function f = {.module = m, .is_entry = is_entry};
    struct variables results = {NULL, 0, 0};
    scan(s);
    const struct scanner at_results = *s;
    if (word_is(s->word, "("))
        scan_brackets(s);
    f.name = word_copy(s->word);
    scan(s);
    read_parameters(s, &f, &f.parameters);
    if (word_is(at_results.word, "(")) {
        struct scanner again = at_results;
        read_parameters(&again, &f, &results);
    }
    f.results = results;
    read_directives(s, &f);
    if (scan_over(s, ";"))
        return;
    f.body = s->word.at;
    scan_brackets(s);
    OS_MAKE_ROOM(m->functions, m->function_count, m->function_capacity)
    m->functions[m->function_count++] = f;
}

/* ---- the module ---- */

static void read_file(struct scanner *s, struct module *m)
{
    scan(s);
    size_t number = word_number(s->word);
    scan(s);
    if (number < 100000 && number >= m->file_count) {
        m->files = os_grow(m->files, (number + 1) * sizeof *m->files);
        while (m->file_count <= number)
            m->files[m->file_count++] = NULL;
    }
    if (number < m->file_count && s->word.length > 2)
        m->files[number] = word_copy((struct word){s->word.at + 1, s->word.length - 2});
    scan_line(s);
}

/* Skips .section NAME { ... }: debug information. */
static void skip_section(struct scanner *s)
{
    while (s->word.length && !word_is(s->word, "{"))
        scan(s);
    scan_brackets(s);
}

static void read_variable(struct scanner *s, struct module *m)
{
    struct variable *v = variable_read(s, &m->variables);
    if (v)
        v->module = m;
    while (s->word.length && !word_is(s->word, ";"))
        scan(s);
}

static void read_statement(struct scanner *s, struct module *m, bool *is_extern)
{
    size_t variables = m->variables.count;
    if (word_is(s->word, ".entry") || word_is(s->word, ".func")) {
        read_function(s, m, word_is(s->word, ".entry"));
    } else if (word_is(s->word, ".file")) {
        read_file(s, m);
    } else if (word_is(s->word, ".section")) {
        skip_section(s);
    } else if (space_of(s->word) && space_of(s->word) != SPACE_PARAM) {
        read_variable(s, m);
        /* It is another module's variable, unless it is shared memory whose size the launch
         * gives. */
        if (*is_extern && m->variables.count > variables
            && m->variables.all[variables].space != SPACE_SHARED)
            variables_end(&m->variables, variables);
    } else {
        *is_extern |= word_is(s->word, ".extern");
        m->is_debug |= word_is(s->word, "debug");
        scan(s);
        return;
    }
    *is_extern = false;
}

struct module *module_read(char *text, struct module **linked)
{
    NEEDS_LOCK();
    struct module *m = os_allocate(sizeof *m);
    m->text = text;
    m->linked = linked;
    m->next = *linked;
    *linked = m;
    struct scanner s = {.at = text};
    bool is_extern = false;
    scan(&s);
    while (s.word.length)
        read_statement(&s, m, &is_extern);
    return m;
}

static struct function *function_in(struct module *m, const char *name)
{
    for (size_t i = 0; i < m->function_count; i++)
        if (!strcmp(m->functions[i].name, name))
            return &m->functions[i];
    return NULL;
}

/* Static functions may have the same name in several modules, so the own module comes first. */
struct function *module_function(struct module *m, const char *name)
{
    NEEDS_LOCK();
    struct function *f = function_in(m, name);
    for (struct module *other = *m->linked; other && !f; other = other->next)
        f = function_in(other, name);
    return f;
}

uint64_t module_function_address(const struct function *f)
{
    NEEDS_LOCK();
    return FUNCTION_WINDOW | (uintptr_t)f;
}

struct function *module_function_at(struct module *m, uint64_t address)
{
    NEEDS_LOCK();
    for (struct module *other = *m->linked; other; other = other->next)
        for (size_t i = 0; i < other->function_count; i++)
            if (module_function_address(&other->functions[i]) == address)
                return &other->functions[i];
    return NULL;
}

size_t module_constant_bytes(const struct module *m)
{
    NEEDS_LOCK();
    size_t bytes = 0;
    for (m = *m->linked; m; m = m->next)
        for (size_t i = 0; i < m->variables.count; i++)
            bytes += m->variables.all[i].space == SPACE_CONST ? m->variables.all[i].bytes : 0;
    return bytes;
}

struct variable *module_variable(struct module *m, const char *name)
{
    NEEDS_LOCK();
    struct word w = {name, strlen(name)};
    struct variable *v = variables_find(&m->variables, w);
    for (struct module *other = *m->linked; other && !v; other = other->next)
        v = variables_find(&other->variables, w);
    return v;
}
