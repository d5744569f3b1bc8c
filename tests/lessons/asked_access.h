/* Calls lesson 12's set_access for GPUs that its main does not use: arguments OWNER and GPU, two of
 * the four that the check gives it. The check puts the lesson in front of this file, its main
 * renamed. It prints what was expected and what happened, of the first that is wrong; nothing when
 * all is correct. */

/* Which of the four GPUs has access, as a number with a bit for each. */
static int asked_rights(cudaMemPool_t pool)
{
    int rights = 0;
    for (int gpu = 0; gpu < 4; gpu++)
        rights |= (pool_get_access(pool, gpu) == cudaMemAccessFlagsProtReadWrite) << gpu;
    return rights;
}

static int asked_wrong(const char *what, int owner, int gpu, int expected, int happened,
                       int returned)
{
    printf("Expected: set_access(pool of GPU %d, %d, %d, %d) %s and returns 1.\nHappened: it "
           "returned %d, and access to the pool have:",
           owner, owner, gpu, expected >> gpu & 1, what, returned);
    for (int i = 0; i < 4; i++)
        if (happened >> i & 1)
            printf(" GPU %d", i);
    puts(happened ? "." : " none.");
    return 0;
}

int main(int argc, char **argv)
{
    int owner = argc > 2 ? atoi(argv[1]) : 2, gpu = argc > 2 ? atoi(argv[2]) : 3;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, owner));
    int returned = set_access(pool, owner, gpu, 1), rights = asked_rights(pool);
    if (returned != 1 || rights != (1 << owner | 1 << gpu))
        return asked_wrong("gives that GPU access", owner, gpu, 1 << owner | 1 << gpu, rights,
                           returned);
    returned = set_access(pool, owner, gpu, 0);
    rights = asked_rights(pool);
    if (returned != 1 || rights != 1 << owner)
        return asked_wrong("takes it away", owner, gpu, 1 << owner, rights, returned);
    return 0;
}
