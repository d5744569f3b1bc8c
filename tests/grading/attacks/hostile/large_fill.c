/* Lets the assembler write 16 GiB. */
__asm__(".data\n.fill 0x7fffffff, 8, 1");

int main(void) { return 0; }
