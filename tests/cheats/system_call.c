/* Lessons: 03. A system call without the C library: the end of the process, before its reports. */
#define main program_main
@starter@
#undef main

int main(int argc, char **argv)
{
    program_main(argc, argv);
    __asm__ volatile("syscall" : : "a"(231), "D"(0));
    return 0;
}
