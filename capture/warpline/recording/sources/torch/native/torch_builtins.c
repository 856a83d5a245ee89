/* Builtins for our Python code inside PyTorch. */
#include "autograd.h"
#include "python_api.h"
#include "source_hooks.h"

/* autograd(what): see autograd.h */
static void *autograd(void *self, void *what)
{
    (void)self;
    bool is_done = true;
    switch (py_number(what)) {
    case 1: is_done = autograd_learn(); break;
    case 2: is_done = autograd_follow(); break;
    case 3: is_done = autograd_record(); break;
    case 4: autograd_exclude_thread(true); break;
    case 5: autograd_exclude_thread(false); break;
    case 6: autograd_end(); break;
    default: is_done = false;
    }
    return py.from_long(is_done);
}

static void *to_call;

static int call_it(void *unused)
{
    (void)unused;
    void *result = py.call(to_call, NULL);
    if (result != NULL)
        py.release(result);
    py.clear_error();
    return 0;
}

/* Called in Python's main thread between two lines, since the operator may not hold the GIL. */
static bool have_it_called(void) { return py.call_soon(call_it, NULL) == 0; }

/* after_operators(function, count): see autograd_call_after; the function raises nothing */
static void *after_operators(void *self, void *const *values, ssize_t count)
{
    (void)self;
    if (count == 2) {
        autograd_call_after(0, have_it_called);
        void *before = to_call;
        py.retain(to_call = values[0]);
        if (before != NULL)
            py.release(before);
        autograd_call_after((uint32_t)py_number(values[1]), have_it_called);
    }
    return py_none();
}

static struct python_builtin builtins[] = {
    {"autograd", autograd, METH_O, NULL},
    {"after_operators", after_operators, METH_FASTCALL, NULL},
};

REGISTER_SOURCE(.builtins = builtins, .builtin_count = sizeof builtins / sizeof builtins[0]);
