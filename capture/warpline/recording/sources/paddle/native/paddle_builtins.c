/* Builtins for our Python code inside Paddle. */
#include "events.h"
#include "python_api.h"
#include "source_hooks.h"
#include "spool.h"

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

/* A later session of a process whose hooks are installed already. */
static void joined(void)
{
    if (paddle_records())
        wl_write_source_state("paddle", true, "", "", 0);
}

REGISTER_SOURCE(.joined = joined, .builtins = builtins, .builtin_count = sizeof builtins / sizeof builtins[0]);
