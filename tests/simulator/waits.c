/* tests/probe.c, which is sooner sure that a call is blocked: in the simulated device nothing goes on while all threads sleep. */
#define BLOCKED 5
#include "../probe.c"
