/* The functions of floats, and conversions. */
#include "ptx/operations.h"

#define WITHOUT_INTEGERS
#include "ptx/operations.def"
