/* Decodes records of protocol buffers into tables of 64-bit columns; schema.py describes the tables.
 *
 * 375 MB of small track events or 775 MB of scheduler events take a second of a core; the twin in message_tables.py
 * decodes 4 MB in that time.
 */
#include "intern.h"
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MISSING INT64_MIN

enum { IGNORED, NUMBER, TEXT, MESSAGE, NUMBERS, TEXTS };
enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };

typedef struct {
    const int32_t *actions; /* two for each field number: what to do, and the column or table */
    int64_t field_count;
    int64_t *rows;
    int64_t columns;
    int64_t count;
    int64_t *unknown; /* how often each field number occurred that the table ignores */
    int64_t record;   /* the last record with rows here, and how many there were before it */
    int64_t before;
} Table;

typedef struct {
    Table *tables;
    int64_t table_count;
    int64_t most_rows; /* of any table */
    int64_t record;
    const uint8_t *text;
    Intern intern;
} Decoder;

static inline int read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    const uint8_t *byte = *at;
    if (byte < end && *byte < 0x80) {
        *value = *byte;
        *at = byte + 1;
        return 1;
    }
    uint64_t result = 0;
    for (int shift = 0; shift < 70 && byte < end; shift += 7) {
        uint8_t part = *byte++;
        result |= shift < 64 ? (uint64_t)(part & 0x7f) << shift : 0;
        if (part < 0x80) {
            *value = result;
            *at = byte;
            return 1;
        }
    }
    return 0;
}

static inline int64_t fixed(const uint8_t *at, int64_t size)
{
    uint64_t value = 0;
    for (int64_t i = size; i-- > 0;)
        value = value << 8 | at[i];
    return (int64_t)value;
}

/* A new row that belongs to a row of the table above. */
static inline int64_t *add_row(Decoder *decoder, int32_t number, int64_t parent)
{
    Table *table = decoder->tables + number;
    int64_t *row = table->rows + table->count * table->columns;
    if (table->record != decoder->record) {
        table->record = decoder->record;
        table->before = table->count;
    }
    row[0] = parent;
    for (int64_t column = 1; column < table->columns; column++)
        row[column] = MISSING;
    if (++table->count > decoder->most_rows)
        decoder->most_rows = table->count;
    return row;
}

static inline int64_t code_of(Decoder *decoder, const uint8_t *at, int64_t length)
{
    return intern_code(&decoder->intern, decoder->text, at - decoder->text, length);
}

static int read_message(Decoder *decoder, int32_t number, int64_t parent, const uint8_t *at, const uint8_t *end)
{
    Table *table = decoder->tables + number;
    int64_t index = table->count;
    int64_t *row = add_row(decoder, number, parent);
    while (at < end) {
        uint64_t tag, value = 0;
        if (!read_varint(&at, end, &tag) || tag >> 3 == 0)
            return 0;
        int64_t length = 0;
        switch (tag & 7) {
        case VARINT:
            if (!read_varint(&at, end, &value))
                return 0;
            break;
        case FIXED64: length = 8; break;
        case FIXED32: length = 4; break;
        case BYTES:
            if (!read_varint(&at, end, &value))
                return 0;
            if (value > (uint64_t)(end - at))
                return 0;
            length = (int64_t)value;
            break;
        default: return 0;
        }
        if (length > end - at)
            return 0;
        const uint8_t *content = at;
        at += length;
        uint64_t field = tag >> 3;
        int32_t action = IGNORED, target = 0;
        if (field < (uint64_t)table->field_count) {
            action = table->actions[2 * field];
            target = table->actions[2 * field + 1];
        }
        int is_bytes = (tag & 7) == BYTES;
        if (action == NUMBER && !is_bytes) {
            row[target] = length ? fixed(content, length) : (int64_t)value;
        } else if (action == TEXT && is_bytes) {
            row[target] = code_of(decoder, content, length);
        } else if (action == MESSAGE && is_bytes) {
            if (!read_message(decoder, target, index, content, at))
                return 0;
        } else if (action == TEXTS && is_bytes) {
            add_row(decoder, target, index)[1] = code_of(decoder, content, length);
        } else if (action == NUMBERS && !is_bytes) {
            add_row(decoder, target, index)[1] = length ? fixed(content, length) : (int64_t)value;
        } else if (action == NUMBERS) {
            while (content < at) {
                if (!read_varint(&content, at, &value))
                    return 0;
                add_row(decoder, target, index)[1] = (int64_t)value;
            }
        } else if (table->unknown) {
            table->unknown[field < (uint64_t)table->field_count ? field : 0]++;
        }
    }
    return 1;
}

/* Decodes the records, the fields of a number in the text, that are whole.
 *
 * `capacity` is the room of every table and of the texts. The first `most_others` fields beside the records go to
 * `others`: tag, number or position, length. Returns the position behind the last record. `result` gets how many records
 * were damaged and left out, how many texts there are, and why decoding ended: 0 the text is used up, 1 a table may not
 * have room for the next record (and how many rows would be enough), 2 what follows is no field; and the number of other
 * fields.
 */
EXPORT int64_t warpline_message_tables(const uint8_t *text, int64_t begin, int64_t end, Table *tables,
                                       int64_t table_count, int64_t capacity, int64_t *spans, int32_t *slots,
                                       int64_t slot_count, int64_t record, int64_t *others, int64_t most_others,
                                       int64_t *result)
{
    const uint64_t record_tag = (uint64_t)record << 3 | BYTES;
    int64_t other_count = 0;
    Decoder decoder = {tables, table_count, 0, 0, text, {0}};
    for (int64_t i = 0; i < table_count; i++)
        tables[i].record = 0;
    intern_init(&decoder.intern, spans, slots, slot_count, capacity);
    result[0] = result[2] = result[3] = 0;
    const uint8_t *at = text + begin, *stop = text + end;
    while (at < stop) {
        const uint8_t *next = at;
        uint64_t tag, length = 0;
        if (!read_varint(&next, stop, &tag)) {
            result[2] = stop - at > 10 ? 2 : 0;
            break;
        }
        if (tag != record_tag) {
            /* Another field of the file. */
            int kind = (int)(tag & 7);
            if (tag >> 3 == 0 || kind == 3 || kind == 4 || kind > 5) {
                result[2] = 2;
                break;
            }
        }
        if ((tag & 7) == FIXED64 || (tag & 7) == FIXED32) {
            length = (tag & 7) == FIXED64 ? 8 : 4;
        } else if (!read_varint(&next, stop, &length)) {
            result[2] = stop - next > 10 ? 2 : 0;
            break;
        }
        uint64_t number = length;
        if ((tag & 7) == VARINT)
            length = 0;
        if (length > (uint64_t)(stop - next))
            break;
        if (tag == record_tag) {
            int64_t most = decoder.most_rows > decoder.intern.count ? decoder.most_rows : decoder.intern.count;
            if (most + (int64_t)length + 1 > capacity) {
                result[2] = 1;
                result[3] = (int64_t)length + 1;
                break;
            }
            decoder.record++;
            if (!read_message(&decoder, 0, next - text, next, next + length)) {
                for (int64_t i = 0; i < table_count; i++)
                    if (tables[i].record == decoder.record)
                        tables[i].count = tables[i].before;
                result[0]++;
            }
        } else if (other_count < most_others) {
            int64_t *other = others + 3 * other_count++;
            other[0] = (int64_t)tag;
            other[1] = (tag & 7) == VARINT ? (int64_t)number : next - text;
            other[2] = (int64_t)length;
        }
        at = next + length;
    }
    result[1] = decoder.intern.count;
    result[4] = other_count;
    return at - text;
}
