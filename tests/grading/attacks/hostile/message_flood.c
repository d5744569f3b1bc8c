/* 10,000 messages of the compiler. */
#include <cuda_runtime_api.h>
#define A _Pragma("message(\"x\")")
#define B A A A A A A A A A A
#define C B B B B B B B B B B
#define D C C C C C C C C C C
#define E D D D D D D D D D D
E int main(void) { return cudaDeviceSynchronize(); }
