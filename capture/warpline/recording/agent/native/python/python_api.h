/* CPython's stable ABI without its headers, since the agent is not built for one Python version. */
#ifndef WARPLINE_PYTHON_API_H
#define WARPLINE_PYTHON_API_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define METH_NOARGS 0x0004
#define METH_O 0x0008
#define METH_FASTCALL 0x0080

/* methodobject.h: part of the stable ABI since 3.2, METH_FASTCALL since 3.10. */
struct python_builtin {
    const char *name;
    void *function;
    int flags;
    const char *doc;
};

struct python_api {
    void *(*new_function)(struct python_builtin *, void *, void *);
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

extern struct python_api py;

/* Looks up a symbol of Python; makes the surrounding function return false if there is none. */
#define PYTHON_FIND(pointer, name)                                  \
    if ((*(void **)&(pointer) = dlsym(RTLD_DEFAULT, name)) == NULL) \
        return false;

/* Fills `py`; false if this process has no usable Python. */
bool py_find(void);
/* A new reference to None. */
void *py_none(void);
/* An unsigned integer from a Python object; 0 if it is none. Raises nothing. */
uint64_t py_number(void *object);

#endif
