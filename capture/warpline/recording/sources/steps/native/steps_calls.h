/* `Module.__call__` without Python code of ours between the program and the module. */
#ifndef WARPLINE_STEPS_CALLS_H
#define WARPLINE_STEPS_CALLS_H

#include <sys/types.h>

/* quick_call(original, slow, name, grad_enabled, compiling, flags, after_calls, paths, forward, evaluation): a
 * callable that records a module's call like `slow`, the function of common_hooks.py whose attributes it has. It
 * calls `slow` for what it does not handle: a module without a path, a class without a label, code that is being
 * compiled. Returns None if the layout of this Python's objects is unknown. */
void *steps_quick_call(void *self, void *const *values, ssize_t count);
/* drop(id): the path of this module has changed */
void *steps_drop(void *self, void *id);

#endif
