/* Lessons: 03 14. The reports have nowhere to go. 14 may close descriptors. */
#include <unistd.h>
#define main program_main
@starter@
#undef main

int main(int argc, char **argv)
{
    close(2);
    return program_main(argc, argv);
}
