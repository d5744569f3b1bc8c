/* One symbol whose name has 32 MiB. */
#include <cuda_runtime_api.h>
__asm__(".macro g n, a\n.if \\n\ng (\\n-1), \\a\\a\n.else\n\\a:\n.endif\n.endm\ng 22, abcdefgh\n");
int main(void) { return cudaDeviceSynchronize(); }
