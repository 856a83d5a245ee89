/* Threads of the agent, which the program should not notice. */
#ifndef WARPLINE_OWN_THREADS_H
#define WARPLINE_OWN_THREADS_H

#include <stdbool.h>

/* Starts a thread that does `work`. No signal handler of the program runs on it, and its waits are not recorded.
 * Returns false if the system refuses. */
bool wl_start_thread(void (*work)(void));

#endif
