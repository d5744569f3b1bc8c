/* For the programs that ask again what a GPU answered: a line for each call, as it is written, and
 * what it returns, in the form of the recording. */
#ifndef ASK_H
#define ASK_H

#include <cuda_runtime_api.h>
#include <stdio.h>

/* How wide the recording's calls are. */
#ifndef ASK_COLUMNS
#define ASK_COLUMNS 78
#endif
#define ASK(call) print_answer(#call, (call))

/* Which of two processes asks, or NULL: there is one. */
static const char *side;

/* The line is out before the next call, which may end the process. */
static inline void print_answer(const char *call, cudaError_t answer)
{
    if (side)
        printf("[%s] ", side);
    printf("%-*s -> %s\n", ASK_COLUMNS, call, cudaGetErrorName(answer));
    fflush(stdout);
    cudaGetLastError();
}

#endif
