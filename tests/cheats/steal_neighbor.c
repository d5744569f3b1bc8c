/* Lessons: 07 12. A neighbor's copy, while both are graded. */
#include <stdlib.h>

int main(void)
{
    return system("for f in @root@/build/check/grade.*/*/*.c /tmp/*.c; do cc $f -o own && ./own; "
                  "done");
}
