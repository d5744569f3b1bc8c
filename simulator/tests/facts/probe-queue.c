/* Records after how many pending operations of a stream the host stops, kind by kind. A thread
 * queues them behind a hold, the gate is opened when it has stopped or has come to its end. */
#include "probe.h"

enum { MOST = 5000, NODES = 5 };

static cudaGraphExec_t one_node, several_nodes;
static void *a;
static int *number; /* pinned */
static _Atomic int queued, ended;
static void (*queue_one)(int i);

static void nothing(void *unused) { (void)unused; }

/* ---- what is queued ---- */

static void kernel(int i) { launch_fill(m, i, 16, s); }
static void memset_of_device(int i) { cudaMemsetAsync(m, i, 64, s); }
static void copy_on_device(int i)
{
    cudaMemcpyAsync(m, (char *)m + 4096 + i % 64 * 64, 64, cudaMemcpyDeviceToDevice, s);
}
static void copy_up(int i) { cudaMemcpyAsync((char *)m + i % 64 * 64, number, 64, 1, s); }
static void copy_down(int i) { cudaMemcpyAsync(number, (char *)m + i % 64 * 64, 64, 2, s); }
static void record_of_event(int i)
{
    (void)i;
    cudaEventRecord(ev, s);
}
/* Of an event that is recorded behind the hold. */
static void wait_in_another_stream(int i)
{
    (void)i;
    cudaStreamWaitEvent(t, ev, 0);
}
static void wait_in_the_same_stream(int i)
{
    (void)i;
    cudaStreamWaitEvent(s, ev2, 0);
}
static void host_function(int i)
{
    (void)i;
    cudaLaunchHostFunc(s, nothing, NULL);
}
static void allocation_and_free(int i)
{
    (void)i;
    cudaMallocAsync(&a, 512, s);
    cudaFreeAsync(a, s);
}
static void launch_of_a_node(int i)
{
    (void)i;
    cudaGraphLaunch(one_node, s);
}
static void launch_of_5_nodes(int i)
{
    (void)i;
    cudaGraphLaunch(several_nodes, s);
}
static void kernels_in_two_streams(int i) { launch_fill(m, i, 16, i % 2 ? s : b); }
static void memset_and_record(int i)
{
    cudaMemsetAsync(m, i, 64, s);
    cudaEventRecord(ev2, s);
}
static void memset_record_wait(int i)
{
    memset_and_record(i);
    cudaStreamWaitEvent(t, ev2, 0);
}

/* ---- how many ---- */

static void *queue_all(void *unused)
{
    (void)unused;
    for (int i = 0; i < MOST; i++) {
        queue_one(i);
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
    (void)unused;
    launch_add(m, 1, 16, idle);
    returned = 1;
    return NULL;
}

static void how_many(const char *what, void (*one)(int i))
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
#define HOW_MANY(kind) how_many(#kind, kind)

/* ---- what it takes ---- */

static cudaGraphExec_t make_graph(int nodes)
{
    struct cudaMemsetParams set = {.dst = m, .elementSize = 4, .width = 4, .height = 1};
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL, before;
    cudaGraphCreate(&graph, 0);
    for (int i = 0; i < nodes; i++) {
        before = node;
        cudaGraphAddMemsetNode(&node, graph, &before, before != NULL, &set);
    }
    cudaGraphInstantiate(&exec, graph, 0);
    return exec;
}

int main(void)
{
    set_up_process();
    alarm(110);
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
    HOW_MANY(kernel);
    HOW_MANY(memset_of_device);
    HOW_MANY(copy_on_device);
    HOW_MANY(copy_up);
    HOW_MANY(copy_down);
    HOW_MANY(record_of_event);
    HOW_MANY(wait_in_another_stream);
    HOW_MANY(wait_in_the_same_stream);
    HOW_MANY(host_function);
    HOW_MANY(allocation_and_free);
    HOW_MANY(launch_of_a_node);
    HOW_MANY(launch_of_5_nodes);
    HOW_MANY(kernels_in_two_streams);
    HOW_MANY(memset_and_record);
    HOW_MANY(memset_record_wait);
    puts("end");
    return 0;
}
