/* Threads of the agent, which the program should not notice. */
#ifndef WARPLINE_OWN_THREADS_H
#define WARPLINE_OWN_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Starts a thread that does `work`. No signal handler of the program runs on it, and its waits are not recorded.
 * Returns false if the system refuses. */
bool wl_start_thread(void (*work)(void));

/* Ends the agent's threads, and waits for that: the process enters a sandbox with all its threads. */
void wl_end_threads(void);
/* The sandbox was refused: they need not end any more. Starts those that ended for it again, if the calling thread is
 * free; otherwise the new threads would be in its sandbox, so they stay noted until a free thread calls. */
void wl_start_ended_threads(bool is_free);
/* In a forked child, which has none of them. */
void wl_forget_threads(void);
/* How many of them exist, at least. */
uint32_t wl_own_threads(void);
/* Ends the process if no thread but the agent's is left. Threads of the agent call it from time to time. */
void wl_end_with_program(void);
/* Whether the calling thread of the agent must end now. */
bool wl_must_end(void);
/* Before and after a wait that may last for ever: such a thread makes no system call while it waits. */
void wl_note_rest(bool is_resting);

#endif
