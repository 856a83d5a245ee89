/* Prints why a library cannot be loaded: the first use of the standard error in this program. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    dlopen("/nonexistent/library.so", RTLD_NOW);
    const char *why = dlerror();
    fputs("not loaded: ", stderr);
    fprintf(stderr, "%s\n", why);
    return 0;
}
