/* Finds the name of a stream in the program's source. It reads characters and does not know macros,
 * so it gives up on anything that is not plain. */
#include "check/stream_variable.h"

#include <string.h>

/* The calls whose last argument is the stream, with how many arguments they have; those that create
 * one have its address first. Any other name is a program's own kernel's: sim_launch has the stream
 * first, and between <<< and >>> it is the fourth. */
static const struct call_form {
    const char *name;
    unsigned count;
} calls[] = {{"cudaStreamCreate", 1},
             {"cudaStreamCreateWithFlags", 0},
             {"cudaStreamCreateWithPriority", 0},
             {"cudaFreeAsync", 2},
             {"cudaGraphLaunch", 2},
             {"cudaMallocAsync", 3},
             {"cudaMallocFromPoolAsync", 4},
             {"cudaMemPrefetchAsync", 5},
             {"cudaMemcpy2DAsync", 8},
             {"cudaMemcpyAsync", 5},
             {"cudaMemcpyPeerAsync", 6},
             {"cudaMemset2DAsync", 6},
             {"cudaMemsetAsync", 4},
             {"launch_add", 4},
             {"launch_fill", 4},
             {"launch_hold", 2}};

static struct call_form form_of(const char *call)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, call))
            return calls[i];
    return (struct call_form){.name = NULL};
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Returns what follows the call's name in the first line, or NULL if the name is missing, occurs
 * more than once, or follows a possible comment or string. */
static const char *find_call(const char *source, const char *call)
{
    size_t length = strlen(call), line = strcspn(source, "\n");
    const char *found = NULL;
    for (size_t i = 0; i + length < line; i++) {
        if (strncmp(source + i, call, length) != 0 || (i && is_word(source[i - 1]))
            || is_word(source[i + length]))
            continue;
        if (found)
            return NULL;
        found = source + i + length;
    }
    for (const char *c = source; found && c < found; c++)
        if (*c == '"' || (c[0] == '/' && (c[1] == '/' || c[1] == '*')))
            return NULL;
    return found;
}

/* Returns the last of `count` arguments, which begin at the parenthesis, or the first of several if
 * count is 0; and its length. Returns NULL if there are fewer, or if something in them is not
 * plain. */
static const char *argument(const char *c, unsigned count, size_t *length)
{
    const char *start = c + 1;
    unsigned depth = 0, commas = 0;
    for (; *c; c++) {
        if (strchr("\"'#\\;", *c) || (c[0] == '/' && (c[1] == '/' || c[1] == '*')))
            return NULL;
        if (strchr("([{", *c))
            depth++;
        else if (strchr(")]}", *c) && --depth == 0)
            break;
        if (*c != ',' || depth != 1)
            continue;
        if (!count)
            break;
        commas++;
        start = c + 1;
    }
    if (count ? *c != ')' || commas + 1 != count : *c != ',')
        return NULL;
    while (start < c && strchr(" \t\r\n", *start))
        start++;
    while (c > start && strchr(" \t\r\n", c[-1]))
        c--;
    *length = (size_t)(c - start);
    return start;
}

/* Returns the fourth argument between <<< and >>> in the statement that begins here; NULL: there is
 * none, or something before it is not plain. */
static const char *launch_argument(const char *source, size_t *length)
{
    size_t statement = strcspn(source, ";{}\"#\\");
    const char *c = source, *end = source + statement, *start = NULL;
    unsigned depth = 0, commas = 0;
    while (c < end && strncmp(c, "<<<", 3) && !(c[0] == '/' && (c[1] == '/' || c[1] == '*')))
        c++;
    if (c == end || *c == '/')
        return NULL;
    for (c += 3; c < end && strncmp(c, ">>>", 3); c++) {
        if (c[0] == '/' && (c[1] == '/' || c[1] == '*'))
            return NULL;
        depth += strchr("([", *c) != NULL;
        depth -= strchr(")]", *c) != NULL;
        if (*c == ',' && !depth && ++commas == 3)
            start = c + 1;
    }
    if (c == end || commas != 3)
        return NULL;
    while (start < c && strchr(" \t\r\n", *start))
        start++;
    while (c > start && strchr(" \t\r\n", c[-1]))
        c--;
    *length = (size_t)(c - start);
    return start;
}

/* Is it `name`, `name[i]`, `name[i][2]`, `a.name`, `a->name`? */
static bool is_variable(const char *text, size_t length)
{
    size_t i = 0;
    if (!length || (text[0] >= '0' && text[0] <= '9'))
        return false;
    while (i < length && is_word(text[i]))
        i++;
    bool is_plain = i > 0;
    while (is_plain && i < length) {
        size_t from = i + 1, to = from;
        if (text[i] == '.' || (text[i] == '-' && from < length && text[from] == '>')) {
            from += text[i] == '-';
            for (to = from; to < length && is_word(text[to]);)
                to++;
            is_plain = to > from;
            i = to;
            continue;
        }
        while (to < length && is_word(text[to]))
            to++;
        is_plain = text[i] == '[' && to > from && to < length && text[to] == ']';
        i = to + 1;
    }
    return is_plain;
}

/* Is it an element that a variable chooses, as in a loop? It names several streams. */
static bool has_variable_index(const char *text, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (text[i] == '[' && !(text[i + 1] >= '0' && text[i + 1] <= '9'))
            return true;
    return false;
}

bool stream_variable_find(const char *source, const char *call, char *name, size_t size)
{
    struct call_form form = form_of(call);
    unsigned count = form.count;
    const char *c = find_call(source, form.name ? call : "sim_launch");
    size_t length = 0;
    const char *of_launch = form.name || c ? NULL : launch_argument(source, &length);
    name[0] = '\0';
    while (c && (*c == ' ' || *c == '\t'))
        c++;
    const char *text = of_launch ? of_launch : c && *c == '(' ? argument(c, count, &length) : NULL;
    if (text && !strncmp(call, "cudaStreamCreate", strlen("cudaStreamCreate"))
        && (*text++ != '&' || !length-- || has_variable_index(text, length)))
        return false;
    if (!text || length >= size || !is_variable(text, length))
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    return true;
}
