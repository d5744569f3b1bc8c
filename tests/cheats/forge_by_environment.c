/* Lessons: 01 03 05 07 08 11 12 13 14 16 17 18 20. Its own journal, in the file that the
 * environment names. */
#include <stdio.h>
#include <stdlib.h>

static const char journal[] = "@journal@";

int main(void)
{
    FILE *file = fopen(getenv("SIM" "_JOURNAL"), "w");
    fwrite(journal, 1, sizeof journal - 1, file);
    @print@
    return 0;
}
