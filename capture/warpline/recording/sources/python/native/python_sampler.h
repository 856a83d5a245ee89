/* The thread that follows a Python: it waits for the interpreter, has it checked, and then samples all its threads. */
#ifndef WARPLINE_PYTHON_SAMPLER_H
#define WARPLINE_PYTHON_SAMPLER_H

/* Starts the thread when there is a Python in this process; again in a forked child, where threads are gone. */
void python_sampler_start(void);

#endif
