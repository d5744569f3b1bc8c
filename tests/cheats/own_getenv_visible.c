/* Lessons: 03 14. The same, made visible to the library. */
#include <string.h>

__attribute__((visibility("default"))) char *getenv(const char *name)
{
    if (strlen(name) == 9 && !strcmp(name + 4, "CHECK"))
        return "off";
    return 0;
}
@starter@
