/* What NVIDIA's header does, as far as the tests need it: load the tool named by NVTX_INJECTION64_PATH on first use, let
 * it fill the tables, call through them. Everything is static: each shared object that includes this has its own. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#ifdef REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

typedef uint64_t nvtxRangeId_t;
typedef void *nvtxDomainHandle_t;
typedef void *nvtxStringHandle_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
        const wchar_t *unicode;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;
#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE sizeof(nvtxEventAttributes_t)
enum { NVTX_COLOR_ARGB = 1 };
enum {
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64,
    NVTX_PAYLOAD_TYPE_DOUBLE,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
    NVTX_PAYLOAD_TYPE_INT32,
    NVTX_PAYLOAD_TYPE_FLOAT
};
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED };

#define UNUSED __attribute__((unused))
typedef void (*client_function)(void);
static client_function client_core[16], client_core2[16];
static client_function *client_core_table[16], *client_core2_table[16];

static int client_table(int module, client_function ***table, unsigned *size)
{
    if (module != 1 && module != 5)
        return 0;
    *table = module == 1 ? client_core_table : client_core2_table;
    *size = 16;
    return 1;
}
static const struct {
    size_t size;
    int (*get)(int, client_function ***, unsigned *);
} client_callbacks = {sizeof client_callbacks, client_table};
static const void *client_export(uint32_t id) { return id == 1 ? &client_callbacks : NULL; }

static void client_start(void)
{
    for (int i = 0; i < 16; i++) {
        client_core_table[i] = i ? &client_core[i] : NULL;
        client_core2_table[i] = i ? &client_core2[i] : NULL;
    }
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(
        uint32_t)) = tool ? (int (*)(const void *(*)(uint32_t)))dlsym(tool, "InitializeInjectionNvtx2") : NULL;
    if (initialize)
        initialize(client_export);
}

static client_function client_get(int is_core2, int id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, client_start);
    return is_core2 ? client_core2[id] : client_core[id];
}

#define CLIENT(is_core2, id, result, none, name, parameters, arguments) \
    UNUSED static result name parameters                                \
    {                                                                   \
        client_function function = client_get(is_core2, id);            \
        if (!function)                                                  \
            return none;                                                \
        return ((result(*) parameters)function)arguments;               \
    }
#define NOTHING
CLIENT(0, 1, void, NOTHING, nvtxMarkEx, (const nvtxEventAttributes_t *e), (e))
CLIENT(0, 2, void, NOTHING, nvtxMarkA, (const char *t), (t))
CLIENT(0, 3, void, NOTHING, nvtxMarkW, (const wchar_t *t), (t))
CLIENT(0, 4, nvtxRangeId_t, 0, nvtxRangeStartEx, (const nvtxEventAttributes_t *e), (e))
CLIENT(0, 5, nvtxRangeId_t, 0, nvtxRangeStartA, (const char *t), (t))
CLIENT(0, 6, nvtxRangeId_t, 0, nvtxRangeStartW, (const wchar_t *t), (t))
CLIENT(0, 7, void, NOTHING, nvtxRangeEnd, (nvtxRangeId_t id), (id))
CLIENT(0, 8, int, -2, nvtxRangePushEx, (const nvtxEventAttributes_t *e), (e))
CLIENT(0, 9, int, -2, nvtxRangePushA, (const char *t), (t))
CLIENT(0, 10, int, -2, nvtxRangePushW, (const wchar_t *t), (t))
CLIENT(0, 11, int, -2, nvtxRangePop, (void), ())
CLIENT(0, 12, void, NOTHING, nvtxNameCategoryA, (uint32_t c, const char *t), (c, t))
CLIENT(0, 14, void, NOTHING, nvtxNameOsThreadA, (uint32_t c, const char *t), (c, t))
CLIENT(1, 1, void, NOTHING, nvtxDomainMarkEx, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *e), (d, e))
CLIENT(1, 4, int, -2, nvtxDomainRangePushEx, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *e), (d, e))
CLIENT(1, 5, int, -2, nvtxDomainRangePop, (nvtxDomainHandle_t d), (d))
CLIENT(1, 8, void, NOTHING, nvtxDomainNameCategoryA, (nvtxDomainHandle_t d, uint32_t c, const char *t), (d, c, t))
CLIENT(1, 10, nvtxStringHandle_t, NULL, nvtxDomainRegisterStringA, (nvtxDomainHandle_t d, const char *t), (d, t))
CLIENT(1, 12, nvtxDomainHandle_t, NULL, nvtxDomainCreateA, (const char *t), (t))
#endif

#endif
