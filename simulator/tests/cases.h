/* The named cases of a program: CASE(name) { ... } is a function without arguments, which stands in
 * the list `cases`, in the order of its line. */
#ifndef CASES_H
#define CASES_H

#include <stdio.h>
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

/* Runs the case that the first argument names. Without an argument it prints the names. Returns 2,
 * with a sentence, if there is no case of that name, and otherwise 0. */
static inline int run_case(int argc, char **argv)
{
    for (const struct named_case *one = named_cases; one; one = one->next)
        if (argc == 1) {
            puts(one->name);
        } else if (strcmp(argv[1], one->name) == 0) {
            one->run();
            return 0;
        }
    if (argc == 1)
        return 0;
    fprintf(stderr, "%s has no case \"%s\"\n", argv[0], argv[1]);
    return 2;
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
