/* Lessons: 03. Code that runs before main. */
__attribute__((constructor)) static void early(void) { }
@starter@
