#define _GNU_SOURCE
#include "interpose.h"

#include <dlfcn.h>
#include <stddef.h>

__thread uint32_t wl_quiet __attribute__((tls_model("initial-exec")));

void *wl_real(const char *name, const char *version)
{
    void *function = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    function = function ? function : dlsym(RTLD_NEXT, name);
    if (function == NULL)
        dlerror(); /* the program must not find this error */
    return function;
}

/* The linker's names for a section: its first entry, and what lies behind the last. */
extern const struct real_function *const __start_real_functions[] __attribute__((visibility("hidden")));
extern const struct real_function *const __stop_real_functions[] __attribute__((visibility("hidden")));

__attribute__((constructor(FIRST_CONSTRUCTOR))) static void look_up_functions(void)
{
    for (const struct real_function *const *entry = __start_real_functions; entry < __stop_real_functions; entry++)
        __atomic_store_n((*entry)->known, wl_real((*entry)->name, NULL), __ATOMIC_RELAXED);
}
