/* What Paddle marks beside its events, where a profiler asks for it: parts of operators, shapes of inputs, memory. */
#ifndef WARPLINE_PADDLE_DETAILS_H
#define WARPLINE_PADDLE_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* phi::RecordEvent::IsEnabled, phi::RecordOpInfoSupplement::IsEnabled */
#define PARTS_WANTED "_ZN3phi11RecordEvent9IsEnabledEv"
#define SHAPES_WANTED "_ZN3phi22RecordOpInfoSupplement9IsEnabledEv"
/* phi::RecordOpInfoSupplement(const string &, const vector<pair<const char *, vector<DDim>>> &, const AttributeMap &) */
#define SHAPES                                                                                            \
    "_ZN3phi22RecordOpInfoSupplementC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vector" \
    "ISt4pairIPKcS9_IN6common4DDimESaISE_EEESaISH_EERKN6paddle13flat_hash_map"
/* paddle::platform::RecordMemEvent(const void *, const phi::Place &, size_t, phi::TracerMemEventType) */
#define MEMORY "_ZN6paddle8platform14RecordMemEventC1EPKvRKN3phi5PlaceEmNS4_18TracerMemEventTypeE"

/* Paddle's own functions of these names. */
extern bool (*paddle_parts_wanted)(void);
extern bool (*paddle_shapes_wanted)(void);
extern void (*paddle_shapes)(void *, const void *, const void *, const void *);
extern void (*paddle_memory)(void *, const void *, const void *, size_t, int);

bool our_parts_wanted(void);
bool our_shapes_wanted(void);
void our_shapes(void *self, const void *type, const void *inputs, const void *attributes);
void our_memory(void *self, const void *address, const void *place, size_t bytes, int operation);

#endif
