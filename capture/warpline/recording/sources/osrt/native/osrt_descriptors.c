/* What a descriptor stands for. The text is kept per number; a call that was long anyway asks the kernel again. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "osrt.h"

enum { NOT_LOOKED_AT, A_FILE, NO_FILE, ONE_OF_A_PAIR };

_Atomic uint32_t osrt_known_texts[DESCRIPTORS];
static struct {
    _Atomic uint8_t class;
    uint64_t device, inode;
} known[DESCRIPTORS];

static int put_address(char *to, size_t room, const struct sockaddr_storage *address, socklen_t length)
{
    char host[INET6_ADDRSTRLEN];
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)address;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        return snprintf(to, room, "%s:%d", host, ntohs(in->sin_port));
    }
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)address;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
        return snprintf(to, room, "[%s]:%d", host, ntohs(in->sin6_port));
    }
    if (address->ss_family == AF_UNIX) {
        const struct sockaddr_un *in = (const void *)address;
        if (length > offsetof(struct sockaddr_un, sun_path) && in->sun_path[0] != 0)
            return snprintf(to, room, "%.*s", (int)sizeof in->sun_path, in->sun_path);
    }
    return 0;
}

/* "socket:[12] 10.0.0.1:80 from 10.0.0.2:4711": the inode tells ends of one machine apart, the rest is for people. */
static int put_socket(char *to, size_t room, int descriptor, uint64_t inode)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    int used = snprintf(to, room, "socket:[%llu]", (unsigned long long)inode);
    char name[160];
    if (getpeername(descriptor, (struct sockaddr *)&address, &length) == 0 &&
        put_address(name, sizeof name, &address, length) > 0)
        used += snprintf(to + used, room - (size_t)used, " %s", name);
    length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) == 0 &&
        put_address(name, sizeof name, &address, length) > 0)
        used += snprintf(to + used, room - (size_t)used, " from %s", name);
    return used;
}

static uint32_t find_text(int descriptor, const struct stat *status)
{
    char text[1024], link[64];
    if (S_ISSOCK(status->st_mode)) {
        int length = put_socket(text, sizeof text, descriptor, status->st_ino);
        return wl_intern(text, (size_t)length);
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, text, sizeof text);
    return length > 0 ? wl_intern(text, (size_t)length) : 0;
}

uint32_t osrt_descriptor_text(int descriptor, bool is_long)
{
    if (descriptor < 0 || descriptor >= DESCRIPTORS)
        return 0;
    uint32_t text = atomic_load_explicit(&osrt_known_texts[descriptor], memory_order_relaxed);
    if (text != 0 && !is_long)
        return text;
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return 0;
    /* A socket may have got a peer since. */
    bool may_differ = S_ISSOCK(status.st_mode) &&
                      atomic_load_explicit(&known[descriptor].class, memory_order_relaxed) != ONE_OF_A_PAIR;
    if (text != 0 && known[descriptor].device == status.st_dev && known[descriptor].inode == status.st_ino &&
        !may_differ)
        return text;
    text = find_text(descriptor, &status);
    known[descriptor].device = status.st_dev;
    known[descriptor].inode = status.st_ino;
    atomic_store_explicit(&osrt_known_texts[descriptor], text, memory_order_relaxed);
    return text;
}

bool osrt_may_never_come(int descriptor)
{
    if (descriptor < 0 || descriptor >= DESCRIPTORS)
        return false;
    uint8_t class = atomic_load_explicit(&known[descriptor].class, memory_order_relaxed);
    if (class == NOT_LOOKED_AT) {
        struct stat status;
        int saved_errno = errno;
        bool is_file = fstat(descriptor, &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
        errno = saved_errno;
        class = is_file ? A_FILE : NO_FILE;
        atomic_store_explicit(&known[descriptor].class, class, memory_order_relaxed);
    }
    return class != A_FILE;
}

bool osrt_never_waits(int descriptor)
{
    int saved_errno = errno, flags = fcntl(descriptor, F_GETFL);
    errno = saved_errno;
    return flags >= 0 && (flags & O_NONBLOCK);
}

uint32_t osrt_find_waiting_text(int descriptor)
{
    if (!osrt_may_never_come(descriptor))
        return 0;
    int saved_errno = errno;
    osrt_is_quiet++;
    uint32_t text = osrt_descriptor_text(descriptor, false);
    osrt_is_quiet--;
    errno = saved_errno;
    return text;
}

/* Nobody but who makes a pair knows that its ends belong together. */
void osrt_note_pair(const int ends[2])
{
    struct stat status[2];
    if (ends[0] < 0 || ends[0] >= DESCRIPTORS || ends[1] < 0 || ends[1] >= DESCRIPTORS ||
        fstat(ends[0], &status[0]) != 0 || fstat(ends[1], &status[1]) != 0)
        return;
    osrt_is_quiet++;
    for (int i = 0; i < 2; i++) {
        char text[96];
        int length = snprintf(text, sizeof text, "socket:[%llu] paired with socket:[%llu]",
                              (unsigned long long)status[i].st_ino, (unsigned long long)status[1 - i].st_ino);
        known[ends[i]].device = status[i].st_dev;
        known[ends[i]].inode = status[i].st_ino;
        atomic_store_explicit(&known[ends[i]].class, ONE_OF_A_PAIR, memory_order_relaxed);
        atomic_store_explicit(&osrt_known_texts[ends[i]], wl_intern(text, (size_t)length), memory_order_relaxed);
    }
    osrt_is_quiet--;
}

void osrt_forget_descriptor(int descriptor)
{
    if (descriptor < 0 || descriptor >= DESCRIPTORS)
        return;
    atomic_store_explicit(&osrt_known_texts[descriptor], 0, memory_order_relaxed);
    atomic_store_explicit(&known[descriptor].class, NOT_LOOKED_AT, memory_order_relaxed);
}
