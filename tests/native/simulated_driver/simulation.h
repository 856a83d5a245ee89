/* Between the parts of the simulated libcupti: its two interfaces, its buffers, and the work whose records it writes. */
#ifndef SIMULATION_H
#define SIMULATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define KINDS 64u
#define CALLBACKS 1024u
#define COLLECTORS 5u

enum {
    OK = 0,
    INVALID_PARAMETER = 1,
    NOT_COMPATIBLE = 14,
    INVALID_KIND = 21,
    NOT_SUPPORTED = 27,
    MULTIPLE_SUBSCRIBERS = 39,
    MAX_LIMIT_REACHED = 12,
};

#define PUT(record, offset, type, value)                 \
    do {                                                 \
        type put_ = (type)(value);                       \
        memcpy((record) + (offset), &put_, sizeof put_); \
    } while (0)

#pragma GCC visibility push(hidden)

typedef void (*request_fn)(uint8_t **, size_t *, size_t *);
typedef void (*complete_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*request_v2_fn)(uint8_t **, size_t *, size_t *, void *);
typedef void (*complete_v2_fn)(uint8_t *, size_t, size_t, void *);
typedef uint64_t (*timestamp_fn)(void);
typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);

struct buffer;

/* Who gets records: the process as a whole in the first family of functions, one subscriber in the second. */
struct collector {
    _Atomic bool is_subscribed;
    _Atomic callback_fn callback;
    void *_Atomic user;
    _Atomic bool is_callback[4][CALLBACKS], is_enabled[KINDS];
    _Atomic request_fn request;
    _Atomic complete_fn complete;
    _Atomic request_v2_fn request_v2;
    _Atomic complete_v2_fn complete_v2;
    _Atomic timestamp_fn timestamp;
    _Atomic bool has_system_tids;
    _Atomic size_t dropped;
    struct buffer *buffers; /* oldest first; under records_lock */
};
/* The first one is the process; a subscriber of the second family is one of the others. */
extern struct collector collectors[COLLECTORS];

/* What this thread is inside of: a call of CUPTI's that the documentation forbids there ends the process. */
enum inside { INSIDE_NOTHING, INSIDE_API_CALLBACK, INSIDE_RESOURCE_CALLBACK, INSIDE_BUFFER_CALLBACK };
extern _Thread_local enum inside inside;

/* CUPTI's own lock, which it also holds while it calls resource callbacks. */
void lock_cupti(const char *call, enum inside most);
void unlock_cupti(void);

/* One setting of the environment, as a number or as text. */
long setting(const char *name, long otherwise);
bool setting_is(const char *name, const char *text);
uint32_t api_version(void);
uint16_t size_of(uint32_t kind);
int refused(const char *call);

struct machine *machine(void);
uint64_t clock_ns(clockid_t id);
/* A time of a collector's clock, and the id it has for this thread. */
uint64_t host_now(const struct collector *collector);
uint32_t thread_id(const struct collector *collector);

/* Has every collector that wants this kind write the record. Times are given in CLOCK_MONOTONIC and written, at the
 * offsets `start_at` and `start_at` + 8, in the collector's clock: those of the GPU when the work has ended. */
struct work {
    uint8_t *record;
    uint32_t start_at; /* 0: the record has no times */
    uint64_t start_ns, end_ns;
    bool is_of_host;    /* complete at once */
    uint32_t thread_at; /* where the thread's id goes; 0: nowhere */
};
void submit(struct work work);
void submit_to(struct collector *collector, struct work work);
/* Hands out the buffers whose records are all complete; with `is_forced` the others too. */
void deliver(struct collector *collector, bool is_forced, bool is_full_only);
void log_flush(uint32_t flag, size_t records);

void call_back(uint32_t domain, uint32_t id, uint32_t site);
/* Devices, contexts and streams as records, for whoever asks for what exists already. */
void dump_existing(struct collector *collector, uint32_t kind);

#pragma GCC visibility pop

#endif
