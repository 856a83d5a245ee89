/* Builtins for our Python code inside Paddle. */
#include "events.h"
#include "python_api.h"
#include "source_hooks.h"

/* paddle(what): see events.h */
static void *paddle(void *self, void *what)
{
    (void)self;
    bool is_done = true;
    switch (py_number(what)) {
    case 1: is_done = paddle_follow(); break;
    case 2: is_done = paddle_has_seen("warpline", 14); break; /* trial_event by the hooks: PythonUserDefined */
    case 3: paddle_record(true); break;
    case 4: paddle_record(false); break;
    default: is_done = false;
    }
    return py.from_long(is_done);
}

static struct python_builtin builtins[] = {{"paddle", paddle, METH_O, NULL}};

REGISTER_SOURCE(.builtins = builtins, .builtin_count = sizeof builtins / sizeof builtins[0]);
