/* Includes /dev/stdin. */
#include "/dev/stdin"

int main(void) { return 0; }
