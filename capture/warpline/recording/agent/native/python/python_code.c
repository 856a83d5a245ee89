/* Location tables of CPython 3.11 and later (Objects/locations.md in its sources). Each entry begins with a byte: the
 * code (bits 3–6) and the number of instructions less one (bits 0–2); variable-length numbers follow. Only the first
 * byte of an entry has its top bit set. */
#include "python_code.h"

#include <stdbool.h>
#include <string.h>

#include "python_memory.h"

enum { LOCATION_NONE = 15, LOCATION_LONG = 14, LOCATION_NO_COLUMNS = 13, LOCATION_ONE_LINE = 10 };

/* A range of memory, read piece by piece: thread stacks may be small, and nothing may be allocated here. */
struct bytes {
    uintptr_t from, end; /* not read yet */
    unsigned at, size;
    uint8_t piece[256];
};

static bool has_more(struct bytes *bytes)
{
    if (bytes->at < bytes->size)
        return true;
    size_t left = bytes->end - bytes->from;
    unsigned size = left < sizeof bytes->piece ? (unsigned)left : (unsigned)sizeof bytes->piece;
    if (size == 0 || !python_read(bytes->piece, bytes->from, size))
        return false;
    bytes->from += size;
    bytes->at = 0;
    bytes->size = size;
    return true;
}

static int signed_number(struct bytes *from)
{
    uint32_t value = 0;
    for (int shift = 0; shift < 30 && has_more(from); shift += 6) {
        uint8_t byte = from->piece[from->at++];
        value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

static int line_at(struct bytes *table, int line, uint64_t offset)
{
    uint64_t position = 0;
    while (has_more(table)) {
        uint8_t head = table->piece[table->at++];
        int code = (head >> 3) & 15;
        if (code == LOCATION_LONG || code == LOCATION_NO_COLUMNS)
            line += signed_number(table);
        else if (code >= LOCATION_ONE_LINE && code < LOCATION_NO_COLUMNS)
            line += code - LOCATION_ONE_LINE;
        position += 2u * ((head & 7u) + 1u);
        if (offset < position)
            return code == LOCATION_NONE ? -1 : line;
        while (has_more(table) && !(table->piece[table->at] & 0x80))
            table->at++;
    }
    return -1;
}

int python_code_line(const struct python_layout *layout, uintptr_t code, uintptr_t instruction)
{
    uintptr_t object = 0, begin = code + layout->code_instructions;
    uint64_t size = 0;
    int32_t first = 0;
    if (instruction < begin || !python_read(&first, code + layout->code_first_line, sizeof first) ||
        !python_read(&object, code + layout->code_linetable, sizeof object) ||
        !python_read(&size, object + layout->bytes_size, sizeof size) || size > UINT32_MAX)
        return -1;
    struct bytes table;
    table.from = object + layout->bytes_data;
    table.end = table.from + size;
    table.at = table.size = 0;
    return line_at(&table, first, instruction - begin);
}

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        if (c >= 0xd800 && c < 0xe000)
            c = 0xfffd; /* surrogates encode bytes that are no text */
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | (c >> 18 & 7));
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

size_t python_text(const struct python_layout *layout, uintptr_t text, char *to, size_t room)
{
    uint64_t length = 0;
    uint32_t state = 0;
    uint8_t raw[1024];
    if (text == 0 || !python_read(&length, text + layout->text_length, sizeof length) ||
        !python_read(&state, text + layout->text_state, sizeof state))
        return 0;
    /* interned:2, kind:3, compact:1, ascii:1 */
    unsigned kind = state >> 2 & 7, is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    if (!is_compact || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    if (length > sizeof raw / kind)
        length = sizeof raw / kind;
    if (!python_read(raw, text + (is_ascii ? layout->text_ascii : layout->text_compact), length * kind))
        return 0;
    size_t written = 0;
    for (uint64_t i = 0; i < length && written + 4 <= room; i++) {
        uint32_t c = 0;
        memcpy(&c, raw + i * kind, kind); /* little-endian, like every machine the agent supports */
        written += put_utf8(to + written, c);
    }
    return written;
}
