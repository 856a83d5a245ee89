/* The part of NVTX's tool interface that is used here. Stable since NVTX 3.0: tables of pointers by module and
 * callback number, see NVIDIA's nvtxDetail/nvtxTypes.h. */
#ifndef WARPLINE_NVTX_ABI_H
#define WARPLINE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { NVTX_EXPORT_CALLBACKS = 1 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CUDA = 2, NVTX_MODULE_CUDART = 4, NVTX_MODULE_CORE2 = 5 };
enum {
    NVTX_CUDA_DEVICE_A = 1,
    NVTX_CUDA_DEVICE_W,
    NVTX_CUDA_CONTEXT_A,
    NVTX_CUDA_CONTEXT_W,
    NVTX_CUDA_STREAM_A,
    NVTX_CUDA_STREAM_W,
};
enum { NVTX_CUDART_DEVICE_A = 1, NVTX_CUDART_DEVICE_W, NVTX_CUDART_STREAM_A, NVTX_CUDART_STREAM_W };
enum {
    NVTX_CORE_MARK_EX = 1,
    NVTX_CORE_MARK_A,
    NVTX_CORE_MARK_W,
    NVTX_CORE_START_EX,
    NVTX_CORE_START_A,
    NVTX_CORE_START_W,
    NVTX_CORE_END,
    NVTX_CORE_PUSH_EX,
    NVTX_CORE_PUSH_A,
    NVTX_CORE_PUSH_W,
    NVTX_CORE_POP,
    NVTX_CORE_CATEGORY_A,
    NVTX_CORE_CATEGORY_W,
    NVTX_CORE_THREAD_A,
    NVTX_CORE_THREAD_W,
};
enum {
    NVTX_CORE2_MARK_EX = 1,
    NVTX_CORE2_START_EX,
    NVTX_CORE2_END,
    NVTX_CORE2_PUSH_EX,
    NVTX_CORE2_POP,
    NVTX_CORE2_RESOURCE_CREATE,
    NVTX_CORE2_RESOURCE_DESTROY,
    NVTX_CORE2_CATEGORY_A,
    NVTX_CORE2_CATEGORY_W,
    NVTX_CORE2_STRING_A,
    NVTX_CORE2_STRING_W,
    NVTX_CORE2_DOMAIN_A,
    NVTX_CORE2_DOMAIN_W,
    NVTX_CORE2_DOMAIN_DESTROY,
    NVTX_CORE2_INITIALIZE,
};

typedef void (*nvtx_function)(void);
struct nvtx_export_callbacks {
    size_t struct_size;
    /* The table: pointers to the function pointers to fill; entries may be NULL. `size` counts entries. */
    int (*get_table)(int module, nvtx_function ***table, unsigned int *size);
};
typedef const void *(*nvtx_get_export_table)(uint32_t id);

enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };
enum { NVTX_COLOR_ARGB = 1 };

struct nvtx_event_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *unicode;
        const void *registered;
    } message;
};
_Static_assert(sizeof(struct nvtx_event_attributes) == 48, "nvtxEventAttributes_t of a 64-bit program");
_Static_assert(offsetof(struct nvtx_event_attributes, payload) == 24, "nvtxEventAttributes_t");
_Static_assert(offsetof(struct nvtx_event_attributes, message) == 40, "nvtxEventAttributes_t");

#define NVTX_NO_PUSH_POP_TRACKING (-2)

#endif
