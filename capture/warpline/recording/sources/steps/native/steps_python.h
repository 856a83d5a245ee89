/* CPython's stable ABI without its headers: the agent is not built for one Python. */
#ifndef WARPLINE_STEPS_PYTHON_H
#define WARPLINE_STEPS_PYTHON_H

#include <stdbool.h>
#include <sys/types.h>

#define METH_NOARGS 0x0004
#define METH_O 0x0008
#define METH_FASTCALL 0x0080

/* methodobject.h: part of the stable ABI since 3.2, METH_FASTCALL since 3.10. */
struct method {
    const char *name;
    void *function;
    int flags;
    const char *doc;
};

struct steps_python {
    void *(*new_function)(struct method *, void *, void *);
    void *(*new_dict)(void);
    int (*set_item)(void *, const char *, void *);
    void *(*compile)(const char *, const char *, int);
    void *(*evaluate)(void *, void *, void *);
    void *(*builtins)(void);
    void *(*from_long)(long long);
    unsigned long long (*to_number)(void *);
    long long (*to_long)(void *);
    void *(*new_text)(const char *);
    const char *(*text)(void *, ssize_t *);
    void (*retain)(void *);
    void (*release)(void *);
    void (*clear_error)(void);
    void *(*call)(void *, void *);
    int (*call_soon)(int (*)(void *), void *);
    void *none;
};

extern struct steps_python py;

/* Sets a pointer to what Python calls so; the function it stands in ends with false where there is none. */
#define STEPS_FIND(pointer, name) \
    if ((*(void **)&(pointer) = dlsym(RTLD_DEFAULT, name)) == NULL) \
        return false;

/* Fills `py`; false where this process has no Python that can be used. */
bool steps_find_python(void);
/* None, as a function returns it. */
void *steps_none(void);

#endif
