/* `Module.__call__` without a line of Python between the program and what the module does. */
#ifndef WARPLINE_STEPS_CALLS_H
#define WARPLINE_STEPS_CALLS_H

#include <sys/types.h>

/* quick_call(original, slow, name, grad_enabled, compiling, flags, after_calls, paths, forward, evaluation): a callable
 * that records a module's call as `slow` does, the function of common_hooks.py that also has its attributes, and has `slow`
 * called for what it does not know of: a module without a path, a class without a label, whatever is compiled. None where
 * this Python's objects are not as we know them. */
void *steps_quick_call(void *self, void *const *values, ssize_t count);
/* drop(id): the path of this module is another one from now on. */
void *steps_drop(void *self, void *id);

#endif
