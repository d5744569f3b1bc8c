/* Lessons: 03. The same in assembly, where no attribute is needed. */
__asm__(".text\n.globl write\n.type write, @function\nwrite: mov %rdx, %rax\nret\n");
@starter@
