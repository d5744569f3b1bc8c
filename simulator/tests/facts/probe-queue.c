/* Records after how many pending operations of a stream the host stops, kind by kind. A thread
 * queues them behind a hold, the gate is opened when it has stopped or has come to its end. */
#include "probe.h"

enum { MOST = 5000, NODES = 5 };

static cudaGraphExec_t one_node, several_nodes;
static void *a;
static int *number; /* pinned */
static _Atomic int queued, ended;
static void (*queue_one)(void);

/* ---- what is queued, `i` times ---- */

static int i;

static char *place(int number_of_64) { return (char *)m + 64 * number_of_64; }

CASE(kernel) { launch_fill(m, i, 16, s); }
CASE(memset_of_device) { cudaMemsetAsync(m, i, 64, s); }
CASE(copy_on_device) { cudaMemcpyAsync(m, place(64 + i % 64), 64, cudaMemcpyDeviceToDevice, s); }
CASE(copy_up) { cudaMemcpyAsync(place(i % 64), number, 64, cudaMemcpyHostToDevice, s); }
CASE(copy_down) { cudaMemcpyAsync(number, place(i % 64), 64, cudaMemcpyDeviceToHost, s); }
CASE(record_of_event) { cudaEventRecord(ev, s); }
/* Of an event that is recorded behind the hold. */
CASE(wait_in_another_stream) { cudaStreamWaitEvent(t, ev, 0); }
CASE(wait_in_the_same_stream) { cudaStreamWaitEvent(s, ev2, 0); }
CASE(host_function) { cudaLaunchHostFunc(s, nothing, NULL); }
CASE(allocation_and_free)
{
    cudaMallocAsync(&a, 512, s);
    cudaFreeAsync(a, s);
}
CASE(launch_of_a_node) { cudaGraphLaunch(one_node, s); }
CASE(launch_of_5_nodes) { cudaGraphLaunch(several_nodes, s); }
CASE(kernels_in_two_streams) { launch_fill(m, i, 16, i % 2 ? s : b); }
CASE(memset_and_record)
{
    cudaMemsetAsync(m, i, 64, s);
    cudaEventRecord(ev2, s);
}
CASE(memset_record_wait)
{
    memset_and_record();
    cudaStreamWaitEvent(t, ev2, 0);
}

static void *queue_all(void *unused)
{
    for (i = 0; i < MOST; i++) {
        queue_one();
        queued = i + 1;
    }
    ended = 1;
    return NULL;
}

/* Has it stopped? Nothing was queued for half a second. */
static void wait_for_end_or_stop(void)
{
    for (int before = -1, looks = 0; !ended && looks < 100; usleep(5000)) {
        looks = queued == before ? looks + 1 : 0;
        before = queued;
    }
}

/* While it is stopped, does another thread's call for an idle stream return? It is asked for a
 * second. */
static cudaStream_t idle;
static _Atomic int returned;

static void *call_for_idle_stream(void *unused)
{
    launch_add(m, 1, 16, idle);
    returned = 1;
    return NULL;
}

static void how_many(const char *what, void (*one)(void))
{
    pthread_t thread, other;
    cudaDeviceSynchronize();
    cudaEventRecord(ev2, t);
    hold(s);
    hold(b);
    cudaEventRecord(ev, s);
    queue_one = one;
    queued = ended = returned = 0;
    pthread_create(&thread, NULL, queue_all, NULL);
    wait_for_end_or_stop();
    int count = queued, stopped = !ended;
    pthread_create(&other, NULL, call_for_idle_stream, NULL);
    for (int look = 0; look < 200 && !returned; look++)
        usleep(5000);
    int other_waited = !returned;
    open_gate();
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
    cudaDeviceSynchronize();
    if (stopped)
        printf("%-28s the host stops after %d; another thread's launch in an idle stream %s\n",
               what, count, other_waited ? "waits" : "does not wait");
    else
        printf("%-28s the host does not stop: %d\n", what, count);
}

static cudaGraphExec_t make_graph(int nodes)
{
    struct cudaMemsetParams set = {.dst = m, .elementSize = 4, .width = 4, .height = 1};
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL, before;
    cudaGraphCreate(&graph, 0);
    for (int count = 0; count < nodes; count++) {
        before = node;
        cudaGraphAddMemsetNode(&node, graph, &before, before != NULL, &set);
    }
    cudaGraphInstantiate(&exec, graph, 0);
    return exec;
}

int main(void)
{
    set_up_process();
    cudaMalloc(&m, MiB);
    cudaMallocHost((void **)&number, 4096);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ev, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&ev2, cudaEventDisableTiming);
    one_node = make_graph(1);
    several_nodes = make_graph(NODES);
    cudaGraphLaunch(one_node, s);
    cudaGraphLaunch(several_nodes, s);
    printf("pending in one stream, behind a hold; asked for up to %d\n", MOST);
    for (const struct named_case *one = named_cases; one; one = one->next)
        how_many(one->name, one->run);
    puts("end");
    return 0;
}
