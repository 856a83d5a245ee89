/* The agent's reading of activity records, over buffers made here, iterated by a real libcupti (WARPLINE_LIBCUPTI).
 * Needs no driver. Prints "kind size" for each kind, as learnt from where libcupti says the next record begins.
 * Exit status 77: this libcupti does not iterate without a driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_internal.h"
#include "spool.h"

static const uint32_t kinds[] = {
    ACTIVITY_CONCURRENT_KERNEL,
    ACTIVITY_MEMCPY,
    ACTIVITY_MEMCPY2,
    ACTIVITY_MEMSET,
    ACTIVITY_RUNTIME,
    ACTIVITY_DRIVER,
    ACTIVITY_SYNCHRONIZATION,
    ACTIVITY_OVERHEAD,
    ACTIVITY_EXTERNAL_CORRELATION,
    ACTIVITY_STREAM,
    ACTIVITY_CONTEXT,
    ACTIVITY_DEVICE,
    ACTIVITY_GRAPH_TRACE,
    ACTIVITY_MEMORY2,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
static const size_t least[KINDS] = {
    sizeof(struct activity_kernel),     sizeof(struct activity_memcpy) - 4, sizeof(struct activity_memcpy_peer) - 4,
    sizeof(struct activity_memset) - 4, sizeof(struct activity_api),        sizeof(struct activity_api),
    sizeof(struct activity_sync),       sizeof(struct activity_overhead),   sizeof(struct activity_external) - 4,
    sizeof(struct activity_stream),     sizeof(struct activity_context),    sizeof(struct activity_device),
    sizeof(struct activity_graph),      sizeof(struct activity_memory),
};

static size_t learn(uint32_t kind)
{
    static uint64_t buffer[512];
    void *record = NULL;
    for (size_t i = 0; i < 512; i++) /* whatever the size is, a record of this kind follows */
        buffer[i] = kind;
    if (cupti.next_record((uint8_t *)buffer, sizeof buffer, &record) != CUPTI_OK || record != (void *)buffer)
        return 0;
    if (cupti.next_record((uint8_t *)buffer, sizeof buffer, &record) != CUPTI_OK)
        return 0;
    return (size_t)((uint8_t *)record - (uint8_t *)buffer);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? (size_t)atol(argv[1]) : 1000, sizes[KINDS], used = 0;
    char reason[256];
    if (!wl_start() || !cupti_load(reason, sizeof reason))
        return 1;
    cupti_keeps_every_call = true;
    for (int i = 0; i < KINDS; i++) {
        sizes[i] = learn(kinds[i]);
        if (sizes[i] == 0)
            return 77;
        printf("%u %zu\n", kinds[i], sizes[i]);
        if (sizes[i] < least[i]) {
            printf("too small: the agent reads %zu bytes\n", least[i]);
            return 2;
        }
    }
    uint8_t *buffer = calloc(count, 512);
    for (size_t n = 0; n < count; n++) {
        int i = (int)(n % KINDS);
        uint8_t *record = buffer + used;
        memset(record, 0, sizes[i]);
        memcpy(record, &kinds[i], 4);
        uint32_t number = (uint32_t)n + 1;
        switch (kinds[i]) {
        case ACTIVITY_CONCURRENT_KERNEL: {
            struct activity_kernel *r = (void *)record;
            r->name = "contract_kernel";
            r->start = r->end = number;
            r->correlation = number;
            break;
        }
        case ACTIVITY_MEMCPY: {
            struct activity_memcpy *r = (void *)record;
            r->start = r->end = number;
            r->correlation = number;
            break;
        }
        case ACTIVITY_MEMCPY2: {
            struct activity_memcpy_peer *r = (void *)record;
            r->start = r->end = number;
            r->correlation = number;
            break;
        }
        case ACTIVITY_MEMSET: {
            struct activity_memset *r = (void *)record;
            r->start = r->end = number;
            r->correlation = number;
            break;
        }
        case ACTIVITY_RUNTIME:
        case ACTIVITY_DRIVER: {
            struct activity_api *r = (void *)record;
            r->function = kinds[i] == ACTIVITY_RUNTIME ? 211 : 307;
            r->correlation = number;
            break;
        }
        case ACTIVITY_SYNCHRONIZATION: ((struct activity_sync *)record)->correlation = number; break;
        case ACTIVITY_EXTERNAL_CORRELATION: ((struct activity_external *)record)->correlation = number; break;
        case ACTIVITY_GRAPH_TRACE: {
            struct activity_graph *r = (void *)record;
            r->start = r->end = number;
            r->correlation = number;
            break;
        }
        case ACTIVITY_MEMORY2: ((struct activity_memory *)record)->correlation = number; break;
        default: break;
        }
        used += sizes[i];
    }
    cupti_write_records(buffer, used);
    return cupti_unreadable() ? 3 : 0;
}
