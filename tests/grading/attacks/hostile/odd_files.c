/* Leaves links, pipes and files with odd names where its results are read. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    cudaDeviceSynchronize();

    close(open("a\nb", O_CREAT | O_WRONLY, 0));
    close(open("-rf *", O_CREAT | O_WRONLY, 0));
    mkfifo("pipe", 0666);
    unlink("stdout");
    symlink("/etc/passwd", "stdout");
    mkdir("status", 0);
    mkdir("ended", 0);
    symlink("/dev/zero", "both.jsonl");
    unlink("journal"
           ".jsonl");
    mkfifo("journal"
           ".jsonl",
           0666);
    rename("stderr", "other");
    chmod(".", 0);
    _exit(0);
    return 0;
}
