/* What an event is: a wait before any record waits for nothing; after a record, a stream waits for
 * it, and a query shows whether the device has reached it. */
#include "kernels.h"
#include "workbook.h"

static cudaStream_t s, t;
static cudaEvent_t event;

static void report(const char *line)
{
    printf("%-30s event: %-19s  stream t: %s\n", line, cudaGetErrorName(cudaEventQuery(event)),
           cudaGetErrorName(cudaStreamQuery(t)));
}

int main(void)
{
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, s));
    CHECK(cudaStreamWaitEvent(t, event, 0));
    report("t waits, nothing is recorded");
    CHECK(cudaEventRecord(event, s));
    report("s records");
    CHECK(cudaStreamWaitEvent(t, event, 0));
    report("t waits for the record");
    gate_open(gate);
    CHECK(cudaStreamSynchronize(t));
    report("s goes on, the host waits");

    gate_destroy(gate);
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(t));
    CHECK(cudaStreamDestroy(s));
    return 0;
}
