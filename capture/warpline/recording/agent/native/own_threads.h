/* Threads of our own in the program: it is not to notice them. */
#ifndef WARPLINE_OWN_THREADS_H
#define WARPLINE_OWN_THREADS_H

#include <stdbool.h>

/* Start a thread that does `work`: none of the program's signal handlers runs on it, and what it waits for is not written
 * down. False where the system gives no thread. */
bool wl_start_thread(void (*work)(void));

#endif
