/* The programs that run on the pages of the book, in one module: the bench, and some lessons and
 * their solutions. The first argument is the program's name; the others are its own. Each was
 * compiled with another name for its main (simulator/web.mk). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/web/site.h"

#define PROGRAM(symbol, name) int symbol(int argc, char **argv);
#include "programs.inc"
#undef PROGRAM

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} programs[] = {
#define PROGRAM(symbol, name) {name, symbol},
#include "programs.inc"
};

/* What `exit` is in the programs. */
void live_exit(int status);
void live_exit(int status)
{
    os_web_exits(status);
    exit(status);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(programs[i].name, argv[1]))
            live_exit(programs[i].main(argc - 1, argv + 1));
    fprintf(stderr, "there is no program \"%s\" on this page.\n", argc > 1 ? argv[1] : "");
    return 2;
}
