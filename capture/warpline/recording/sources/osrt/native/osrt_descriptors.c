/* Texts of descriptors, kept by number. After a long call the kernel is asked again. */
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
#include "sandbox.h"

/* CONNECTING: a socket named by its target until its peer is known. KEEPS_ITS_TEXT: opened by that name, or a socket
 * that has all its names. */
enum { NOT_LOOKED_AT, A_FILE, NO_FILE, CONNECTING, KEEPS_ITS_TEXT };

/* A waiting descriptor is checked only now and then: a change meanwhile costs a few needless stacks. */
#define BLOCKING_CALLS 16

_Atomic uint32_t osrt_known_texts[DESCRIPTORS];
static struct {
    _Atomic uint8_t class;
    _Atomic uint8_t blocking_calls; /* calls until the next check */
    uint64_t device, inode;         /* 0: not checked (a socket that keeps its text) */
} known[DESCRIPTORS];

static bool is_in_table(int descriptor) { return descriptor >= 0 && descriptor < DESCRIPTORS; }

static uint8_t class_of(int descriptor) { return atomic_load_explicit(&known[descriptor].class, memory_order_relaxed); }

static void set_class(int descriptor, uint8_t class)
{
    atomic_store_explicit(&known[descriptor].class, class, memory_order_relaxed);
}

static void set_blocking_calls(int descriptor, uint8_t calls)
{
    atomic_store_explicit(&known[descriptor].blocking_calls, calls, memory_order_relaxed);
}

static void set_text(int descriptor, uint32_t text)
{
    atomic_store_explicit(&osrt_known_texts[descriptor], text, memory_order_relaxed);
}

static bool has_path(const struct sockaddr_storage *address, socklen_t length)
{
    return address->ss_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) &&
           ((const struct sockaddr_un *)address)->sun_path[0] != 0;
}

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
    if (!has_path(address, length))
        return 0;
    const struct sockaddr_un *in = (const void *)address;
    size_t most = length - offsetof(struct sockaddr_un, sun_path);
    return snprintf(to, room, "%.*s", (int)(most < sizeof in->sun_path ? most : sizeof in->sun_path), in->sun_path);
}

/* "socket:[12] 10.0.0.1:80 from 10.0.0.2:4711": the inode distinguishes sockets of one machine, the rest is for
 * people. A socket with a path has no inode in its text: thousands may connect per second, and each text is kept. */
static int put_socket(char *to, size_t room, int descriptor, uint64_t inode)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char peer[160] = "", own[160] = "", number[32];
    bool is_path = false;
    if (getpeername(descriptor, (struct sockaddr *)&address, &length) == 0) {
        put_address(peer, sizeof peer, &address, length);
        is_path = has_path(&address, length);
        set_class(descriptor, KEEPS_ITS_TEXT);
    }
    length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) == 0) {
        put_address(own, sizeof own, &address, length);
        if (has_path(&address, length)) {
            is_path = true;
            set_class(descriptor, KEEPS_ITS_TEXT);
        }
    }
    snprintf(number, sizeof number, "[%llu]", (unsigned long long)inode);
    return snprintf(to, room, "socket:%s%s%s%s%s", is_path ? "" : number, peer[0] ? " " : "", peer,
                    own[0] ? " from " : "", own);
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
    if (!is_in_table(descriptor))
        return 0;
    uint32_t text = atomic_load_explicit(&osrt_known_texts[descriptor], memory_order_relaxed);
    uint8_t class = class_of(descriptor);
    if (wl_is_confined() || (text != 0 && !is_long && class != CONNECTING))
        return text;
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return 0;
    bool is_socket = S_ISSOCK(status.st_mode);
    bool is_same = known[descriptor].device == status.st_dev && known[descriptor].inode == status.st_ino;
    bool is_unlooked = class == KEEPS_ITS_TEXT && known[descriptor].inode == 0 && is_socket;
    known[descriptor].device = status.st_dev;
    known[descriptor].inode = status.st_ino;
    /* Other sockets may have a peer by now. */
    if (text != 0 && (is_unlooked || (is_same && (class == KEEPS_ITS_TEXT || !is_socket))))
        return text;
    set_class(descriptor, S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? A_FILE : NO_FILE);
    uint32_t found = find_text(descriptor, &status);
    if (text != 0 && class == CONNECTING && is_socket && class_of(descriptor) != KEEPS_ITS_TEXT) {
        set_class(descriptor, CONNECTING);
        return text;
    }
    set_text(descriptor, found);
    return found;
}

bool osrt_may_never_come(int descriptor)
{
    if (!is_in_table(descriptor))
        return false;
    uint8_t class = class_of(descriptor);
    if (class == NOT_LOOKED_AT) {
        if (wl_is_confined())
            return true;
        struct stat status;
        int saved_errno = errno;
        bool is_file = fstat(descriptor, &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
        errno = saved_errno;
        class = is_file ? A_FILE : NO_FILE;
        set_class(descriptor, class);
    }
    return class != A_FILE;
}

bool osrt_never_waits(int descriptor)
{
    if (wl_is_confined())
        return false;
    bool is_kept = is_in_table(descriptor);
    uint8_t calls = is_kept ? atomic_load_explicit(&known[descriptor].blocking_calls, memory_order_relaxed) : 0;
    if (calls != 0) {
        set_blocking_calls(descriptor, calls - 1);
        return false;
    }
    int saved_errno = errno, flags = fcntl(descriptor, F_GETFL);
    errno = saved_errno;
    bool is_waiting = flags >= 0 && !(flags & O_NONBLOCK);
    if (is_kept && is_waiting)
        set_blocking_calls(descriptor, BLOCKING_CALLS);
    return flags >= 0 && !is_waiting;
}

uint32_t osrt_find_waiting_text(int descriptor)
{
    if (!osrt_may_never_come(descriptor))
        return 0;
    int saved_errno = errno;
    wl_quiet++;
    uint32_t text = osrt_descriptor_text(descriptor, false);
    wl_quiet--;
    errno = saved_errno;
    return text;
}

/* Only the call that makes a pair knows that its ends belong together. */
void osrt_note_pair(const int ends[2])
{
    struct stat status[2];
    if (wl_is_confined() || !is_in_table(ends[0]) || !is_in_table(ends[1]) || fstat(ends[0], &status[0]) != 0 ||
        fstat(ends[1], &status[1]) != 0)
        return;
    wl_quiet++;
    for (int i = 0; i < 2; i++) {
        char text[96];
        int length = snprintf(text, sizeof text, "socket:[%llu] paired with socket:[%llu]",
                              (unsigned long long)status[i].st_ino, (unsigned long long)status[1 - i].st_ino);
        known[ends[i]].device = status[i].st_dev;
        known[ends[i]].inode = status[i].st_ino;
        set_class(ends[i], KEEPS_ITS_TEXT);
        set_text(ends[i], wl_intern(text, (size_t)length));
    }
    wl_quiet--;
}

void osrt_note_opened(int descriptor, const char *path, uint32_t text)
{
    /* Other files there are something else. */
    bool is_itself = path[0] == '/' && strncmp(path, "/proc/", 6) != 0 &&
                     (strncmp(path, "/dev/", 5) != 0 || strncmp(path, "/dev/shm/", 9) == 0);
    struct stat status = {0};
    /* The inode later shows whether the number was reused unseen, as after `fclose`. */
    if (!is_itself || !is_in_table(descriptor) || (!wl_is_confined() && fstat(descriptor, &status) != 0))
        return;
    known[descriptor].device = status.st_dev;
    known[descriptor].inode = status.st_ino;
    set_class(descriptor, KEEPS_ITS_TEXT);
    set_text(descriptor, text);
}

void osrt_note_connecting(int descriptor, const struct sockaddr *peer, socklen_t length)
{
    struct sockaddr_storage address = {0};
    char text[192] = "socket: ";
    const size_t used = strlen(text);
    if (!is_in_table(descriptor) || peer == NULL || length < sizeof peer->sa_family || length > sizeof address)
        return;
    memcpy(&address, peer, length);
    int saved_errno = errno, size = put_address(text + used, sizeof text - used, &address, length);
    if (size > 0) {
        known[descriptor].inode = 0;
        set_class(descriptor, CONNECTING);
        set_text(descriptor, wl_intern(text, used + (size_t)size));
    }
    errno = saved_errno;
}

void osrt_note_connected(int descriptor, const struct sockaddr *peer)
{
    /* Other families have their own address by now. */
    if (is_in_table(descriptor) && class_of(descriptor) == CONNECTING && peer->sa_family == AF_UNIX)
        set_class(descriptor, KEEPS_ITS_TEXT);
}

static void copy(int from, int to)
{
    known[to].device = known[from].device;
    known[to].inode = known[from].inode;
    set_class(to, class_of(from));
    set_blocking_calls(to, atomic_load_explicit(&known[from].blocking_calls, memory_order_relaxed));
    set_text(to, atomic_load_explicit(&osrt_known_texts[from], memory_order_relaxed));
}

void osrt_note_accepted(int listening, int descriptor, const struct sockaddr *peer, const socklen_t *length)
{
    bool is_nobody = peer != NULL && length != NULL && *length == sizeof peer->sa_family && peer->sa_family == AF_UNIX;
    osrt_forget_descriptor(descriptor);
    if (is_in_table(listening) && is_in_table(descriptor) && is_nobody && class_of(listening) == KEEPS_ITS_TEXT) {
        copy(listening, descriptor);
        known[descriptor].inode = 0;
    }
}

void osrt_note_copy(int from, int to)
{
    if (!is_in_table(from) || !is_in_table(to) || (class_of(from) == NOT_LOOKED_AT && class_of(to) == NOT_LOOKED_AT))
        return;
    /* After vfork, descriptors are the child's but our memory is still the parent's. */
    if (wl_is_own_process())
        copy(from, to);
}

void osrt_forget_descriptor(int descriptor)
{
    if (!is_in_table(descriptor))
        return;
    set_text(descriptor, 0);
    set_class(descriptor, NOT_LOOKED_AT);
    set_blocking_calls(descriptor, 0);
}

void osrt_forget_descriptors(unsigned int first, unsigned int last)
{
    for (unsigned int each = first; each <= last && each < DESCRIPTORS; each++) {
        if (LIKELY(class_of((int)each) == NOT_LOOKED_AT))
            continue;
        /* A vfork child mostly closes all descriptors; the parent must not forget its pairs because of that. */
        if (!wl_is_own_process())
            return;
        osrt_forget_descriptor((int)each);
    }
}
