/* The named cases of a program: CASE(name) { ... } is a function without arguments, which stands in
 * the list `cases`, in the order of its line. */
#ifndef CASES_H
#define CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named_case {
    const char *name;
    void (*run)(void), (*other)(void); /* the other is that of a second process, or NULL */
    int line;
    struct named_case *next;
};

static struct named_case *named_cases;

static inline void add_case(struct named_case *one)
{
    struct named_case **at = &named_cases;
    while (*at && (*at)->line < one->line)
        at = &(*at)->next;
    one->next = *at;
    *at = one;
}

/* Ends the program with status 2, and a sentence, if there is no such case. */
static inline const struct named_case *find_case(const char *name)
{
    for (const struct named_case *one = named_cases; one; one = one->next)
        if (strcmp(name, one->name) == 0)
            return one;
    fprintf(stderr, "there is no case \"%s\"\n", name);
    exit(2);
}

/* Runs the case that the first argument names. Without an argument it prints the names. */
static inline int run_case(int argc, char **argv)
{
    for (const struct named_case *one = named_cases; argc == 1 && one; one = one->next)
        puts(one->name);
    if (argc > 1)
        find_case(argv[1])->run();
    return 0;
}

/* Lists `function` before main begins. */
#define LIST_CASE(title, function) CASE_OF_TWO(title, function, NULL)

/* Lists a case of two processes. */
#define CASE_OF_TWO(title, function, other)                                       \
    __attribute__((constructor)) static void list_##title(void)                   \
    {                                                                             \
        static struct named_case one = {#title, function, other, __LINE__, NULL}; \
        add_case(&one);                                                           \
    }

#define CASE(title)          \
    static void title(void); \
    LIST_CASE(title, title)  \
    static void title(void)

#endif
