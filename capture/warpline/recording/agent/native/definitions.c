/* Records that every spool file needs: repeated, in order, in a forked child and in a session joined later. */
#include <errno.h>
#include <string.h>

#include "sandbox.h"
#include "spool_internal.h"

struct definition {
    struct definition *next;
    enum slot slot;
    size_t size;
    uint8_t record[128];
};

static struct definition *first_definition, **definition_tail = &first_definition;

void wl_define(enum slot slot, const void *record, size_t size)
{
    struct definition *definition = wl_allocate(sizeof *definition);
    int saved_errno = errno;
    if (definition == NULL || size > sizeof definition->record) {
        wl_release(definition);
        wl_count_lost(1);
        return;
    }
    definition->slot = slot;
    definition->size = size;
    memcpy(definition->record, record, size);
    spool_lock();
    *definition_tail = definition;
    definition_tail = &definition->next;
    if (spool_is_open_locked())
        spool_append_locked(slot, record, size);
    spool_unlock();
    errno = saved_errno;
}

void definitions_dump_locked(void)
{
    for (struct definition *d = first_definition; d != NULL; d = d->next)
        spool_append_locked(d->slot, d->record, d->size);
}
