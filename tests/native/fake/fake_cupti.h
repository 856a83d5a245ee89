/* Between the two parts of the fake libcupti: its interface, and the work whose records it hands out. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define KINDS 64

#define PUT(record, offset, type, value)                 \
    do {                                                 \
        type put_ = (type)(value);                       \
        memcpy((record) + (offset), &put_, sizeof put_); \
    } while (0)

#pragma GCC visibility push(hidden)

typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);

extern callback_fn on_callback;
extern void *callback_user;
extern int is_enabled[KINDS], is_callback[4][1024];

/* Times as CUPTI takes them on the host and on the device, and the id it has for this thread. */
uint64_t host_now(void);
uint64_t device_now(void);
uint32_t thread_id(void);
/* Hands out a record once the device's time has come to `end`. */
void submit(uint8_t *record, uint64_t end);
/* The device, its context and its streams, as records. */
void describe_device(void);

#pragma GCC visibility pop

#endif
