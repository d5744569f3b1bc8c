/* Takes data from a file that never ends. */
__asm__(".incbin \"/dev/zero\"");

int main(void) { return 0; }
