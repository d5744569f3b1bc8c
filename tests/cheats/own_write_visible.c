/* Lessons: 03. The library is to write its journal through this. */
#include <sys/types.h>

__attribute__((visibility("default"))) ssize_t write(int file, const void *text, size_t bytes)
{
    (void)file;
    (void)text;
    return (ssize_t)bytes;
}
@starter@
