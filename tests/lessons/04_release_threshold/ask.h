/* Asks lesson 04's two rules about sizes of the check's own, in MiB: SEGMENT RESERVED FREED, and
 * then pairs of what is live and a threshold. */

int main(int argc, char **argv)
{
    size_t given[64] = {0};
    for (int i = 1; i < argc && i < 64; i++)
        given[i] = strtoul(argv[i], NULL, 10);
    size_t segment = given[1], reserved = given[2], freed = given[3];
    printf("\npredict_freed(%zu, %zu) = %zu\n", reserved, freed, predict_freed(reserved, freed));
    for (int i = 4; i + 1 < argc && i + 1 < 64; i += 2)
        printf("\npredict_synchronized(%zu, %zu, %zu, %zu) = %zu\n", segment, reserved, given[i],
               given[i + 1], predict_synchronized(segment, reserved, given[i], given[i + 1]));
    return 0;
}
