/* Has an array of 4 GiB with one value. */
char all[1UL << 32] = {1};

int main(void) { return all[5]; }
