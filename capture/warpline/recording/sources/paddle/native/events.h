/* Events that Paddle marks for its own profiler: operators, their parts, kernel launches. */
#ifndef WARPLINE_PADDLE_EVENTS_H
#define WARPLINE_PADDLE_EVENTS_H

#include <stdbool.h>

/* Makes Paddle's libraries call us when an event begins and ends; false if they work in an unknown way. Records
 * nothing yet. */
bool paddle_follow(void);
/* Whether an event of this name and type has begun and ended since. */
bool paddle_has_seen(const char *name, unsigned type);
/* Turns recording on or off. */
void paddle_record(bool is_on);
/* Whether it is on. */
bool paddle_records(void);

#endif
