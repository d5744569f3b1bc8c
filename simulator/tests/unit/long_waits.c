/* Waits that never end, on a GPU neither. The argument says what waits for what:
 * - lock: a host function for a lock whose owner is in cudaFree
 * - function: a host function for another one, of another stream
 * - gate: a call for a launch_hold whose gate another thread could open */
#include "expect.h"
#include "kernels.h"
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t go_on;

static void locks(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void waits(void *unused)
{
    (void)unused;
    sem_wait(&go_on);
}

static void posts(void *unused)
{
    (void)unused;
    sem_post(&go_on);
}

static void *sleeps(void *unused)
{
    (void)unused;
    sleep(60);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    cudaStream_t a, b;
    void *memory;
    int *gate;
    pthread_t other;
    sem_init(&go_on, 0, 0);
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaMalloc(&memory, 1024));
    OK(cudaMallocHost((void **)&gate, sizeof *gate));
    if (!strcmp(name, "lock")) {
        pthread_mutex_lock(&lock);
        OK(cudaLaunchHostFunc(a, locks, NULL));
        OK(cudaFree(memory));
    } else if (!strcmp(name, "function")) {
        OK(cudaLaunchHostFunc(a, waits, NULL));
        OK(cudaLaunchHostFunc(b, posts, NULL));
        OK(cudaStreamSynchronize(b));
    } else if (!strcmp(name, "gate")) {
        *gate = 0;
        OK(launch_hold(gate, a));
        pthread_create(&other, NULL, sleeps, NULL);
        OK(cudaStreamSynchronize(a));
    }
    return 1;
}
