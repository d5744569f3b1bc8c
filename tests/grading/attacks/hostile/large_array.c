/* Has an array of 4 GiB with values. */
static int all[1 << 30] = {[0 ...(1 << 30) - 1] = 1};

int main(void) { return all[5]; }
