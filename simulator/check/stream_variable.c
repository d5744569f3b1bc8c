/* Finds the name of a stream in the program's source. It reads characters and does not know macros,
 * so it gives up on anything that is not plain. */
#include "check/stream_variable.h"

#include <string.h>

/* The calls by which a program launches a kernel, if it does not write <<< and >>>, and which of
 * their arguments is the stream. */
static const struct launch {
    const char *name;
    unsigned stream;
} launches[] = {{"sim_launch", 1},
                {"cudaLaunchKernel", 6},
                {"cudaLaunchCooperativeKernel", 6},
                {"cuLaunchKernel", 9},
                {"cuLaunchCooperativeKernel", 9}};

/* Is it a function of NVIDIA's or of lessons/kernels.h, and no kernel of the program? */
static bool is_of_library(const char *call)
{
    return !strncmp(call, "cuda", 4)
        || (!strncmp(call, "cu", 2) && call[2] >= 'A' && call[2] <= 'Z')
        || !strcmp(call, "launch_add") || !strcmp(call, "launch_fill")
        || !strcmp(call, "launch_hold");
}

/* Returns which argument of a library's function is the stream; 0: the last one. Functions that
 * create a stream have its address first. */
static unsigned place_of_stream(const char *call)
{
    return strstr(call, "Stream") || strstr(call, "LaunchHostFunc") ? 1 : 0;
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

/* Returns the text without the blanks around it, and its length. */
static const char *trimmed(const char *start, const char *end, size_t *length)
{
    while (start < end && strchr(" \t\r\n", *start))
        start++;
    while (end > start && strchr(" \t\r\n", end[-1]))
        end--;
    *length = (size_t)(end - start);
    return start;
}

/* Returns an argument, counted from 1, or the last one (`number` 0), and its length. The arguments
 * begin at the parenthesis. Returns NULL if there are fewer, or if something in them is not plain.
 */
static const char *argument(const char *c, unsigned number, size_t *length)
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
        if (++commas == number)
            break;
        start = c + 1;
    }
    if (!*c || (number && commas + (*c == ')') != number))
        return NULL;
    return trimmed(start, c, length);
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
    return trimmed(start, c, length);
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

/* Returns the argument of the function in the first line, or NULL. */
static const char *argument_of(const char *source, const char *call, unsigned number,
                               size_t *length)
{
    const char *c = find_call(source, call);
    while (c && (*c == ' ' || *c == '\t'))
        c++;
    return c && *c == '(' ? argument(c, number, length) : NULL;
}

bool stream_variable_find(const char *source, const char *call, char *name, size_t size)
{
    const bool is_kernel = !is_of_library(call);
    size_t length = 0;
    const char *text = is_kernel ? launch_argument(source, &length)
                                 : argument_of(source, call, place_of_stream(call), &length);
    for (size_t i = 0; is_kernel && !text && i < sizeof launches / sizeof *launches; i++)
        text = argument_of(source, launches[i].name, launches[i].stream, &length);
    name[0] = '\0';
    if (text && strstr(call, "StreamCreate")
        && (*text++ != '&' || !length-- || has_variable_index(text, length)))
        return false;
    if (!text || length >= size || !is_variable(text, length))
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    return true;
}
