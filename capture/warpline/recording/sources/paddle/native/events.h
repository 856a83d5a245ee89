/* What Paddle says of itself to its own profiler: operators, what they consist of, launches of kernels. */
#ifndef WARPLINE_PADDLE_EVENTS_H
#define WARPLINE_PADDLE_EVENTS_H

#include <stdbool.h>

/* Has the libraries of Paddle in this process call us where an event begins and ends; false where they do not do it in
 * the way that is known. Nothing is recorded yet. */
bool paddle_follow(void);
/* Whether, since then, an event of this name and type was seen to begin and to end. */
bool paddle_has_seen(const char *name, unsigned type);
/* From now on events are recorded, or no more. */
void paddle_tell(bool is_on);

#endif
