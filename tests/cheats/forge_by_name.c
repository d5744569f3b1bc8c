/* Lessons: 16 20. The same; the lesson may open files, and the file's name is known. */
#include <stdio.h>
#include <stdlib.h>

static const char journal[] = "@journal@";

int main(void)
{
    FILE *file = fopen("journal" ".jsonl", "w");
    if (file)
        fwrite(journal, 1, sizeof journal - 1, file);
    if (file)
        fclose(file);
    @print@
    return 0;
}
