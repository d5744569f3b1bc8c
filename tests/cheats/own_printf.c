/* Lessons: 04. No header declares printf, so it may be the student's. */
typedef unsigned long size_t;
static int printf(const char *format, ...) { return format != 0; }
#include "workbook.h"
@starter@
