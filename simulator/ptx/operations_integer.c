/* The functions of integers. */
#include "ptx/operations.h"

#define WITHOUT_FLOATS
#include "ptx/operations.def"
