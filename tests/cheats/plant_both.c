/* Lessons: 13 14. The file that the check makes of both journals is there already. */
#include <stdio.h>
#include <cuda_runtime_api.h>

int main(void)
{
    FILE *file = fopen("both" ".jsonl", "w");
    cudaDeviceSynchronize();
    fputs("@journal@", file);
    fclose(file);
    @print@
    return 0;
}
