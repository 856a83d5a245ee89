/* What a seccomp filter says to the agent's system calls. */
#ifndef WARPLINE_SECCOMP_FILTER_H
#define WARPLINE_SECCOMP_FILTER_H

#include <stdbool.h>

struct sock_fprog;

/* Whether the filter lets the agent make all its system calls. False for filters that are not understood. */
bool filter_allows_agent(const struct sock_fprog *filter);

#endif
