/* Lessons: 03. The library's memory is found by the loader's list. */
#define _GNU_SOURCE
#include <link.h>

static int each(struct dl_phdr_info *library, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    return library->dlpi_addr == 0;
}
#define main program_main
@starter@
#undef main

int main(int argc, char **argv)
{
    dl_iterate_phdr(each, 0);
    return program_main(argc, argv);
}
