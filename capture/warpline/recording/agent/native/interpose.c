#define _GNU_SOURCE
#include "interpose.h"

#include <dlfcn.h>
#include <stddef.h>

__thread uint32_t wl_quiet __attribute__((tls_model("initial-exec")));

void *wl_real(const char *name, const char *version)
{
    void *function = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    return function ? function : dlsym(RTLD_NEXT, name);
}
