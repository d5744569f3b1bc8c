/* Splits PTX into words. A name may begin with a dot, a percent sign, or a dollar sign, and may
 * contain dots, so an instruction's name with its modifiers is one word. */
#include "module/scanner.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

static const char *skip_blanks(const char *at)
{
    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (at[0] == '/' && at[1] == '/')
            at += strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*' && strstr(at + 2, "*/"))
            at = strstr(at + 2, "*/") + 2;
        else
            return at;
    }
}

static bool is_part_of_name(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_$.%", c));
}

bool scan(struct scanner *s)
{
    const char *at = skip_blanks(s->at);
    size_t length = *at != 0;
    if (*at == '"') {
        const char *end = strchr(at + 1, '"');
        length = end ? (size_t)(end - at) + 1 : strlen(at);
    } else if (is_part_of_name(*at)) {
        /* A percent sign begins a name: "mov.u32%r1" is two words. */
        while (is_part_of_name(at[length]) && at[length] != '%')
            length++;
        /* Labels in C++ names contain colons: "a::b" is one word. */
        while (length && at[length] == ':' && at[length + 1] == ':')
            for (length += 2; is_part_of_name(at[length]);)
                length++;
    }
    s->word = (struct word){at, length};
    s->at = at + length;
    return length > 0;
}

bool word_is(struct word w, const char *text)
{
    return strlen(text) == w.length && !memcmp(w.at, text, w.length);
}

bool word_starts(struct word w, const char *text)
{
    size_t length = strlen(text);
    return w.length >= length && !memcmp(w.at, text, length);
}

bool word_same(struct word a, struct word b)
{
    return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

uint32_t word_hash(struct word w)
{
    uint32_t hash = 5381;
    for (size_t n = 0; n < w.length; n++)
        hash = hash * 33 + (unsigned char)w.at[n];
    return hash;
}

bool scan_over(struct scanner *s, const char *text)
{
    if (!word_is(s->word, text))
        return false;
    scan(s);
    return true;
}

void scan_line(struct scanner *s)
{
    s->at += strcspn(s->at, "\n");
    scan(s);
}

void scan_statement(struct scanner *s)
{
    while (s->word.length && !word_is(s->word, ";"))
        scan(s);
    scan(s);
}

void scan_brackets(struct scanner *s)
{
    int depth = 0;
    do {
        if (s->word.length == 1 && strchr("{([", *s->word.at))
            depth++;
        if (s->word.length == 1 && strchr("})]", *s->word.at))
            depth--;
    } while (scan(s) && depth > 0);
}

char *word_copy(struct word w)
{
    char *copy = os_allocate(w.length + 1);
    memcpy(copy, w.at, w.length);
    return copy;
}

uint64_t word_number(struct word w)
{
    char text[64] = "";
    memcpy(text, w.at, w.length < 63 ? w.length : 63);
    return strtoull(text, NULL, 0);
}
