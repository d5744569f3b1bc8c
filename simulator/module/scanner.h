/* The words of a PTX text: names, numbers, strings, and single characters. No lock is needed. */
#ifndef SIM_MODULE_SCANNER_H
#define SIM_MODULE_SCANNER_H

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
    /* The last word that was read; length 0 at the end of the text. */
    struct word word;
};

/* Reads the next word, skipping blanks and comments. Returns false at the end of the text. */
bool scan(struct scanner *s);
/* Return whether the word is this text, or starts with it, or is the same as another one. */
bool word_is(struct word w, const char *text);
bool word_starts(struct word w, const char *text);
bool word_same(struct word a, struct word b);
/* For tables of words. */
uint32_t word_hash(struct word w);
/* If the word is this text, reads the next one and returns true. */
bool scan_over(struct scanner *s, const char *text);
/* Skip to the next word after the end of this line, or of this statement, or after the brackets
 * that begin here. */
void scan_line(struct scanner *s);
void scan_statement(struct scanner *s);
void scan_brackets(struct scanner *s);
/* Return a copy of the word, which the caller owns (os_free), and its value as a number. */
char *word_copy(struct word w);
uint64_t word_number(struct word w);

#endif
