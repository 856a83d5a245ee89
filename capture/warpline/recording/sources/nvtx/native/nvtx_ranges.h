/* Records of NVTX and warpline.annotate. The text is `ascii`, `wide` or that of `event`. */
#ifndef WARPLINE_NVTX_RANGES_H
#define WARPLINE_NVTX_RANGES_H

#include <stdint.h>
#include <wchar.h>

#include "nvtx_abi.h"

/* What a handle of a domain points to; the default domain has id 0 and the handle NULL. */
struct nvtx_domain {
    uint32_t id, name;
};

/* Reads from the environment which range begins the recording. */
void nvtx_read_capture_range(void);

/* Levels as NVTX counts them; NVTX_NO_PUSH_POP_TRACKING without memory, -1 for a pop without a push. */
int nvtx_push(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event);
int nvtx_pop(uint32_t domain);
uint64_t nvtx_start(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event);
void nvtx_end(uint64_t range);
void nvtx_mark(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event);

/* Names are interned strings. */
void nvtx_name_category(uint32_t domain, uint32_t category, uint32_t name);
void nvtx_name_thread(uint32_t tid, uint32_t name);
const struct nvtx_domain *nvtx_create_domain(uint32_t name);

#endif
