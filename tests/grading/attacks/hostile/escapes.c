/* Prints what a terminal obeys, and what HTML, XML and TAP are made of. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    cudaDeviceSynchronize();

    printf(
        "\033]0;name\007\033[2J<script>alert(1)</script> ]]> &amp; \xff\xfe\n1..9\nok 1 forged\n");
    fprintf(stderr, "]]></failure><testcase name='x'/>\n\x0b\x0c\x1b[31m\nok 2 forged\n");
    return 1;
    return 0;
}
