/* Numbers of descriptors that are given anew, each after a file whose name is known by then had it: closed or taken by
 * the calls that this is about. Says which pipe each leads to; what waits for it is short first, then long. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than some C libraries' headers. */
int close_range(unsigned int, unsigned int, int);
void closefrom(int);
#define RANGE_CLOEXEC (1 << 2)

static void check(int is_true)
{
    if (!is_true)
        abort();
}

static int open_known(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    check(file >= 0 && pwrite(file, "text", 4, 0) == 4);
    return file;
}

static void read_twice(int from, int to)
{
    struct stat status;
    char byte;
    check(write(to, "x", 1) == 1 && readv(from, &(struct iovec){&byte, 1}, 1) == 1);
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        check(write(to, "x", 1) == 1);
        _exit(0);
    }
    check(child > 0 && readv(from, &(struct iovec){&byte, 1}, 1) == 1 && waitpid(child, NULL, 0) == child);
    check(fstat(from, &status) == 0);
    printf("pipe:[%llu]\n", (unsigned long long)status.st_ino);
}

int main(int count, char **words)
{
    check(count == 2);
    int ends[2], kept[2], pair[2];
    char byte;

    int file = open_known(words[1]);
    check(close_range((unsigned)file, (unsigned)file, 0) == 0 && pipe(ends) == 0 && ends[0] == file);
    read_twice(ends[0], ends[1]);

    check(pipe(kept) == 0);
    file = open_known(words[1]);
    closefrom(file);
    check(pipe(ends) == 0 && ends[0] == file);
    read_twice(ends[0], ends[1]);

    file = open_known(words[1]);
    check(syscall(SYS_close, file) == 0 && dup(kept[0]) == file); /* nobody tells of the first */
    read_twice(file, kept[1]);

    /* What is only marked to be closed later is not, nor what a child of vfork closes, whose numbers are its own. */
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    close_range(3, UINT_MAX, RANGE_CLOEXEC);
    pid_t child = vfork();
    if (child == 0) {
        close_range(3, UINT_MAX, 0);
        _exit(0);
    }
    check(child > 0 && waitpid(child, NULL, 0) == child);
    check(send(pair[0], "x", 1, 0) == 1 && recv(pair[1], &byte, 1, 0) == 1);
    return 0;
}
