/* Lessons: 07. Another student's file, whose folder is known. */
#include "@class@/ada/@name@.c"
