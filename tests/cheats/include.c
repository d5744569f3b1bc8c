/* Lessons: all. The solution is one line away. */
#include "../solutions/@name@.c"
