/* Writes a buffer as hexadecimal text to a file. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char digits[] = "0123456789abcdef";

static void put(int fd, char c)
{
    if (write(fd, &c, 1) != 1)
        exit(1);
}

static void dump(int fd, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        put(fd, digits[data[i] >> 4]);
        put(fd, digits[data[i] & 15]);
        put(fd, i % 32 == 31 ? '\n' : ' ');
    }
}

int main(void)
{
    enum { SIZE = 600000 };
    uint8_t *data = malloc(SIZE);
    uint32_t x = 12345;
    for (int i = 0; i < SIZE; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = x >> 24;
    }
    char name[] = "/tmp/hexdump-XXXXXX";
    int fd = mkstemp(name);
    dump(fd, data, SIZE);
    printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
    close(fd);
    unlink(name);
    free(data);
    return 0;
}
