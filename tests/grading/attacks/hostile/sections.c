/* 60,000 sections of one instruction. */
#include <cuda_runtime_api.h>
__asm__(".macro m\n.section .text.x\\@,\"ax\"\nx\\@: ret\n.endm\n.rept 60000\nm\n.endr\n.text\n");
int main(void) { return cudaDeviceSynchronize(); }
