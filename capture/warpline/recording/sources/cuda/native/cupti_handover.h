/* Between the two halves of the sharing: what each user wants, and the buffers. */
#ifndef WARPLINE_CUPTI_HANDOVER_H
#define WARPLINE_CUPTI_HANDOVER_H

#include <stdatomic.h>

#include "cupti_sharing.h"

#define DOMAINS 8u
#define CALLBACKS 1024u

struct buffer_callbacks {
    cupti_request request;
    cupti_complete complete;
};

struct user {
    _Atomic(cupti_callback) callback; /* NULL: not subscribed */
    void *_Atomic data;
    _Atomic uint8_t is_callback[DOMAINS][CALLBACKS], is_domain[DOMAINS];
    _Atomic(const struct buffer_callbacks *) buffers;
    _Atomic uint64_t kinds, kinds_ever; /* a bit for each kind */
    /* Records with times in [stopped_ns, since_ns), by CLOCK_MONOTONIC, are not for this user: all its kinds were off. Work on the GPU may
     * begin long after its launch, so it is told by its correlation: launched_later is that of the first call after
     * the stop. */
    _Atomic uint64_t stopped_ns, since_ns;
    _Atomic uint32_t launched_later;
};
extern struct user users[USERS];

/* The only callbacks that CUPTI has. */
void handover_request(uint8_t **buffer, size_t *size, size_t *max_records);
void handover_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);
/* How many buffers, of either user, CUPTI has. */
int handover_buffers_out(void);

#endif
