/* Lessons: 07 12. The solution is compiled while the program runs. 12 may start programs. */
#include <stdlib.h>

int main(void)
{
    return system("cc -std=c11 -I@root@/lessons -I@root@/build/cuda/include "
                  "@root@/solutions/@name@.c -o own @root@/build/simulator/libcudart.so.13 && "
                  "LD_LIBRARY_PATH=@root@/build/simulator ./own");
}
