/* The words of a text of PTX: names, numbers, strings, and single characters. No lock is needed. */
#ifndef SIM_PTX_SCANNER_H
#define SIM_PTX_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A word is a part of the text, which outlives it. */
struct word {
    const char *at;
    size_t length;
};

struct scanner {
    const char *at;
    /* The word that was read last; length 0 at the end of the text. */
    struct word word;
};

/* Reads the next word, behind blanks and comments. Returns false at the end of the text. */
bool scan(struct scanner *s);
/* Is the word this text? */
bool word_is(struct word w, const char *text);
bool word_starts(struct word w, const char *text);
/* The word is this text: reads the next one and returns true. */
bool scan_over(struct scanner *s, const char *text);
/* Goes to the next word behind the end of this line, or behind the brackets that begin here. */
void scan_line(struct scanner *s);
void scan_brackets(struct scanner *s);
/* Returns a copy, which the caller owns (os_free); and the word as a number. */
char *word_copy(struct word w);
uint64_t word_number(struct word w);

#endif
