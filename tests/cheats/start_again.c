/* Lessons: 03 12 14. The starter, started again with the checker off. 12 may start programs. */
#define main program_main
@starter@
#undef main

int main(int argc, char **argv)
{
    char command[4096];
    if (argc > 1)
        return program_main(argc, argv);
    snprintf(command, sizeof command, "SIM_CHE" "CK=off SIM_SCHEDULE=instant '%s' again", argv[0]);
    return system(command) != 0;
}
