/* The exec functions, which the agent stands in for. */
#ifndef WARPLINE_EXEC_CALLS_H
#define WARPLINE_EXEC_CALLS_H

/* Looks up the C library's functions, once, when the agent is preloaded: a forked child must not do it. */
void exec_start(void);

/* Looks whether programs will be able to read the agent: in a sandbox there is no looking. */
void exec_look(void);

#endif
