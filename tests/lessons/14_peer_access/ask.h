/* Calls lesson 14's set_access for GPUs that its main does not use: arguments OWNER and GPU, two of
 * the four that the check gives it. GPU gets access to the pool of OWNER, and loses it again: what
 * was changed is in the journal. The check puts the lesson in front of this file, its main
 * renamed. */

int main(int argc, char **argv)
{
    int owner = argc > 2 ? atoi(argv[1]) : 2, gpu = argc > 2 ? atoi(argv[2]) : 3;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, owner));
    for (int allowed = 1; allowed >= 0; allowed--)
        printf("\nset_access(pool of GPU %d, %d, %d, %d) = %d\n", owner, owner, gpu, allowed,
               set_access(pool, owner, gpu, allowed));
    return 0;
}
