/* Interned strings. A lookup takes no lock: the open-addressed table of pointers only gains entries. When it is full,
 * a larger one replaces it; the old one stays allocated, because a reader may be in it. */
#include <errno.h>
#include <string.h>
#include <wchar.h>

#include "sandbox.h"
#include "spool_internal.h"

#define MAX_STRINGS (1u << 20)
#define MAX_LENGTH 16384u
#define BLOCK_BYTES 65536u
#define KNOWN_PLACES 4096u

struct entry {
    uint64_t hash;
    uint32_t id, length;
    char text[];
};

struct table {
    uint32_t mask;
    _Atomic(struct entry *) slots[];
};

static _Atomic(struct table *) current;
static struct entry **by_id; /* index id - 1 */
static uint32_t count, capacity;
static char *block;
static size_t block_left;
static uint32_t overflow_id;
static _Atomic uint64_t refused;
/* By address of the text: mostly the same text is there again. */
static _Atomic(struct entry *) by_place[KNOWN_PLACES];

uint64_t wl_strings_refused(void) { return atomic_load_explicit(&refused, memory_order_relaxed); }

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_bytes(const char *text, size_t length)
{
    uint64_t hash = length, a = 0, b = 0;
    while (length > 16) {
        memcpy(&a, text, 8);
        memcpy(&b, text + 8, 8);
        hash = mix(a ^ hash, b);
        text += 16;
        length -= 16;
    }
    a = b = 0;
    if (length >= 8) { /* two loads that may overlap */
        memcpy(&a, text, 8);
        memcpy(&b, text + length - 8, 8);
    } else if (length >= 4) {
        uint32_t head, tail;
        memcpy(&head, text, 4);
        memcpy(&tail, text + length - 4, 4);
        a = head;
        b = tail;
    } else if (length) {
        a = (uint8_t)text[0];
        b = ((uint64_t)(uint8_t)text[length / 2] << 8) | (uint8_t)text[length - 1];
    }
    return mix(a ^ hash, b);
}

static struct entry *find(const struct table *table, uint64_t hash, const char *text, uint32_t length)
{
    for (uint32_t i = (uint32_t)hash & table->mask;; i = (i + 1) & table->mask) {
        struct entry *entry = atomic_load_explicit(&table->slots[i], memory_order_acquire);
        if (entry == NULL)
            return NULL;
        if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0)
            return entry;
    }
}

static void insert(struct table *table, struct entry *entry)
{
    uint32_t i = (uint32_t)entry->hash & table->mask;
    while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != NULL)
        i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slots[i], entry, memory_order_release);
}

static struct table *grow(void)
{
    struct table *old = atomic_load_explicit(&current, memory_order_relaxed);
    uint32_t size = old ? (old->mask + 1) * 2 : 1024;
    struct table *table = wl_allocate(sizeof *table + size * sizeof table->slots[0]);
    if (table == NULL)
        return NULL;
    table->mask = size - 1;
    for (uint32_t i = 0; i < count; i++)
        insert(table, by_id[i]);
    atomic_store_explicit(&current, table, memory_order_release);
    return table;
}

static struct entry *allocate_entry(uint32_t length)
{
    size_t need = (sizeof(struct entry) + length + 1 + 7) & ~(size_t)7;
    if (need > block_left) {
        size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        block = wl_allocate(size);
        block_left = block ? size : 0;
        if (block == NULL)
            return NULL;
    }
    struct entry *entry = (struct entry *)block;
    block += need;
    block_left -= need;
    return entry;
}

static uint32_t add_locked(uint64_t hash, const char *text, uint32_t length)
{
    struct table *table = atomic_load_explicit(&current, memory_order_relaxed);
    if (table == NULL || (count + 1) * 2 > table->mask)
        table = grow();
    if (table == NULL)
        return 0;
    struct entry *entry = find(table, hash, text, length); /* another thread may have added it */
    if (entry != NULL)
        return entry->id;
    if (count == capacity) {
        uint32_t larger = capacity ? capacity * 2 : 512;
        struct entry **moved = wl_reallocate(by_id, capacity * sizeof *by_id, larger * sizeof *by_id);
        if (moved == NULL)
            return 0;
        by_id = moved;
        capacity = larger;
    }
    entry = allocate_entry(length);
    if (entry == NULL)
        return 0;
    entry->hash = hash;
    entry->length = length;
    entry->id = count + 1;
    memcpy(entry->text, text, length);
    entry->text[length] = 0;
    by_id[count++] = entry;
    insert(table, entry);
    if (spool_is_open_locked())
        spool_append_string_locked(entry->id, entry->text, entry->length);
    return entry->id;
}

static struct entry *known(uint64_t hash, const char *text, uint32_t length)
{
    struct table *table = atomic_load_explicit(&current, memory_order_acquire);
    return LIKELY(table != NULL) ? find(table, hash, text, length) : NULL;
}

uint32_t wl_intern_text(const char *text)
{
    if (text == NULL || text[0] == 0)
        return 0;
    /* Uses the upper bits of the product, because texts lie at multiples of eight. */
    uint64_t place = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15u;
    _Atomic(struct entry *) *slot = &by_place[place >> 32 & (KNOWN_PLACES - 1)];
    struct entry *entry = atomic_load_explicit(slot, memory_order_acquire);
    /* Another text may be there now. One comparison is cheaper than measuring, hashing and searching. */
    if (LIKELY(entry != NULL) && LIKELY(strcmp(entry->text, text) == 0))
        return entry->id;
    size_t size = strlen(text);
    uint32_t length = size > MAX_LENGTH ? MAX_LENGTH : (uint32_t)size;
    entry = known(hash_bytes(text, length), text, length);
    if (entry == NULL)
        return wl_intern(text, size);
    atomic_store_explicit(slot, entry, memory_order_release);
    return entry->id;
}

uint32_t wl_intern(const char *text, size_t size)
{
    if (text == NULL || size == 0)
        return 0;
    uint32_t length = size > MAX_LENGTH ? MAX_LENGTH : (uint32_t)size;
    uint64_t hash = hash_bytes(text, length);
    struct entry *found = known(hash, text, length);
    if (LIKELY(found != NULL))
        return found->id;
    struct writer *writer = wl_writer();
    if (writer == NULL || writer->is_busy)
        return 0;
    int saved_errno = errno;
    uint32_t id;
    writer->is_busy = true;
    spool_lock();
    if (count < MAX_STRINGS) {
        id = add_locked(hash, text, length);
    } else {
        static const char beyond[] = "(a name beyond the first million)";
        if (overflow_id == 0)
            overflow_id = add_locked(hash_bytes(beyond, sizeof beyond - 1), beyond, sizeof beyond - 1);
        id = overflow_id;
        atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
    }
    spool_unlock();
    writer->is_busy = false;
    errno = saved_errno;
    return id;
}

uint32_t wl_intern_wide(const wchar_t *text)
{
    char buffer[4096]; /* longer wide names are cut */
    size_t length = 0;
    for (; text != NULL && *text != 0 && length + 4 <= sizeof buffer; text++) {
        uint32_t c = (uint32_t)*text;
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        if (c < 0x80) {
            buffer[length++] = (char)c;
        } else if (c < 0x800) {
            buffer[length++] = (char)(0xc0 | c >> 6);
            buffer[length++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            buffer[length++] = (char)(0xe0 | c >> 12);
            buffer[length++] = (char)(0x80 | (c >> 6 & 63));
            buffer[length++] = (char)(0x80 | (c & 63));
        } else {
            buffer[length++] = (char)(0xf0 | c >> 18);
            buffer[length++] = (char)(0x80 | (c >> 12 & 63));
            buffer[length++] = (char)(0x80 | (c >> 6 & 63));
            buffer[length++] = (char)(0x80 | (c & 63));
        }
    }
    return wl_intern(buffer, length);
}

void strings_dump_locked(void)
{
    for (uint32_t i = 0; i < count; i++)
        spool_append_string_locked(by_id[i]->id, by_id[i]->text, by_id[i]->length);
}
