/* Lessons: all. The same by its whole path. */
#include "@root@/solutions/@name@.c"
