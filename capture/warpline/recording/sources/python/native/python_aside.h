/* Work that needs the GIL, in a thread of its own: the one that samples never waits for the GIL, since code in C may keep
 * it for seconds. */
#ifndef WARPLINE_PYTHON_ASIDE_H
#define WARPLINE_PYTHON_ASIDE_H

#include <stdatomic.h>

struct aside {
    void (*work)(void);      /* with the GIL held */
    _Atomic int is_asked_in; /* the process where it goes on: a fork leaves it behind */
};

/* Asks for the work, unless it was asked for and is not done yet; by the thread that samples alone. */
void python_aside(struct aside *aside);

#endif
