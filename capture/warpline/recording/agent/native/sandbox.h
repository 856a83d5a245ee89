/* Programs that forbid system calls to themselves (seccomp). From the moment before they do, the agent makes none: a
 * forbidden one would kill the program, or return an error that it does not expect. */
#ifndef WARPLINE_SANDBOX_H
#define WARPLINE_SANDBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a thread of this process may be in a sandbox. It stays set, unless the kernel refuses the sandbox. */
extern _Atomic bool wl_confined;
#define wl_is_confined() __builtin_expect(__atomic_load_n((const bool *)&wl_confined, __ATOMIC_RELAXED), 0)

/* Whether this is not the child of a vfork, which has its parent's memory. In a sandbox the answer is always true. */
bool wl_is_own_process(void);
/* Notes that this thread exists; before any sandbox, it cannot have inherited one. */
void wl_note_thread(void);
/* In a forked child: another thread of the parent may have held it. */
void wl_renew_sandbox_lock(void);
/* The id of this thread; in a sandbox as the C library knows it. */
uint32_t wl_thread_id(void);
/* Locks a mutex; in a sandbox without sleeping. */
void wl_lock(pthread_mutex_t *mutex);

/* Zeroed memory, from what was mapped in advance while confined; NULL if there is none. */
void *wl_allocate(size_t size);
void *wl_reallocate(void *memory, size_t old_size, size_t size);
/* Keeps the memory while confined. */
void wl_release(void *memory);

/* Set for a program that is executed in a sandbox: it is not recorded from inside. */
#define CONFINED_VARIABLE "WARPLINE_CONFINED"
/* Whether the program that is executed next starts in a sandbox. */
bool wl_next_is_confined(void);

#endif
