/* Asks lesson 04's two rules about sizes of the check's own. The arguments, in MiB: a segment, what
 * is live, what is freed, and a threshold. The check puts the lesson in front of this file, its
 * main renamed. */

int main(int argc, char **argv)
{
    size_t given[4];
    if (argc != 5)
        return 1;
    for (int i = 0; i < 4; i++)
        given[i] = strtoul(argv[1 + i], NULL, 10);
    size_t segment = given[0], live = given[1], freed = given[2], threshold = given[3];
    size_t reserved = (live + freed + segment - 1) / segment * segment;
    printf("\npredict_freed(%zu, %zu) = %zu\n", reserved, freed, predict_freed(reserved, freed));
    const size_t asked[][2] = {{0, 0},
                               {0, 3 * segment},
                               {0, 3 * segment - 1},
                               {0, reserved + segment},
                               {0, threshold},
                               {live, 0},
                               {live, threshold},
                               {live, live + segment},
                               {live, live},
                               {live, reserved - 1},
                               {live, reserved + 1000 * segment}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        printf("\npredict_synchronized(%zu, %zu, %zu, %zu) = %zu\n", segment, reserved, asked[i][0],
               asked[i][1], predict_synchronized(segment, reserved, asked[i][0], asked[i][1]));
    return 0;
}
