/* Calls lesson 14's functions for GPUs, pools and data of the check's own. "access OWNER GPU": GPU
 * gets access to two pools of OWNER, its default pool and a new one, and loses that to the first;
 * what was changed is in the journal. "fetch A B": fetch copies, twice, while GPU 1 has no
 * access. */

static int asked_access(int owner, int gpu)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, owner}};
    cudaMemPool_t pools[2];
    CHECK(cudaDeviceGetDefaultMemPool(&pools[0], owner));
    CHECK(cudaMemPoolCreate(&pools[1], &props));
    CHECK(cudaSetDevice(0));
    for (int i = 0; i < 3; i++)
        printf("\nset_access(%s pool of GPU %d, %d, %d, %d) = %d\n", i == 1 ? "a new" : "default",
               owner, owner, gpu, i < 2, set_access(pools[i % 2], owner, gpu, i < 2));
    return 0;
}

/* One of the ints of gpu1_data, copied by calls that no student's function makes. */
static int asked_int(int at)
{
    int value = 0;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemcpyAsync(&value, gpu1_data + at, sizeof value, cudaMemcpyDeviceToHost, stream[1]));
    CHECK(cudaStreamSynchronize(stream[1]));
    return value;
}

static int asked_fetch(int first, int second)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaStreamCreate(&stream[gpu]));
        CHECK(cudaMallocAsync((void **)(gpu ? &gpu1_data : &gpu0_data), BYTES, stream[gpu]));
    }
    CHECK(cudaDeviceGetDefaultMemPool(&gpu0_pool, 0));
    CHECK(launch_fill(gpu1_data, 0, COUNT, stream[1]));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(0));
        CHECK(launch_fill(gpu0_data, first + i, COUNT / 2, stream[0]));
        CHECK(launch_fill(gpu0_data + COUNT / 2, second + i, COUNT / 2, stream[0]));
        CHECK(cudaStreamSynchronize(stream[0]));
        CHECK(cudaStreamSynchronize(stream[1]));
        CHECK(cudaSetDevice(1));
        cudaError_t returned = fetch();
        CHECK(cudaStreamSynchronize(stream[1]));
        CHECK(cudaStreamSynchronize(stream[0]));
        printf("\nfetch %d = %s\n", i + 1, cudaGetErrorName(returned));
        for (int part = 0; part < 4; part++) {
            int at = part / 2 * COUNT / 2 + part % 2 * (COUNT / 2 - 1);
            printf("\ngpu1_data[%d] after fetch %d = %d\n", at, i + 1, asked_int(at));
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int a = atoi(argv[2]), b = atoi(argv[3]);
    return *argv[1] == 'f' ? asked_fetch(a, b) : asked_access(a, b);
}
