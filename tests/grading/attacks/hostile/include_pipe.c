/* Includes /tmp/pipe. */
#include "/tmp/pipe"

int main(void) { return 0; }
