/* What stands between this program and those it becomes (exec). */
#ifndef WARPLINE_BECOMING_H
#define WARPLINE_BECOMING_H

/* Once, when the library is preloaded: finds the C library's functions, which is no time for it in a forked child. */
void becoming_start(void);

#endif
