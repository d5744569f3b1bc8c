/* Words of a compiler that was stopped, as the name of a file with a mistake. */
#line 1 "/as: out of memory"
int main(void) { return x; }
