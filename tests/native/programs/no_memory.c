/* Preloaded: while `refuses_memory` is set, the agent gets no anonymous memory from mmap. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((visibility("default"))) int refuses_memory;

__attribute__((visibility("default"))) void *mmap(void *address, size_t size, int protection, int flags, int file,
                                                  off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    Dl_info caller;
    if (real == NULL)
        real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    if (refuses_memory && (flags & MAP_ANONYMOUS) && dladdr(__builtin_return_address(0), &caller) &&
        strstr(caller.dli_fname, "warpline_agent") != NULL) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(address, size, protection, flags, file, offset);
}
