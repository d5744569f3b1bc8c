/* Includes /dev/tty. */
#include "/dev/tty"

int main(void) { return 0; }
