/* Lets the assembler repeat a line 2000000000 times. */
__asm__(".rept 2000000000\n.long 1\n.endr");

int main(void) { return 0; }
