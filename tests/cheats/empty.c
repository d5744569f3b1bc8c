/* Lessons: all. */
int main(void) { return 0; }
