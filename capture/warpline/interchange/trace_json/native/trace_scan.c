/* Finds the members of trace events in JSON text without decoding each event.
 *
 * Reads only inside [text, text + size) and writes only inside the given arrays. Unusual events are left to the Python
 * decoder: an event is marked, or scanning stops before it. Called by warpline/interchange/trace_json/scanner.py, which
 * documents the arrays.
 */
/* For `newlocale`. */
#define _GNU_SOURCE
#include "intern.h"
#include "json_tokens.h"
#include "numbers.h"
#include "rest_text.h"

#define EXPORT __attribute__((visibility("default")))
#define MISSING INT64_MIN
#define MAX_DEPTH 60

typedef struct {
    const uint8_t *text;
    const uint32_t *tokens;
    int64_t count;
    int64_t at;
} Cursor;

/* Outcome of reading a part of an event: done, truncated, or malformed. */
typedef enum { FINE, CUT, BAD } Outcome;

/* A member of an object: its key without quotation marks, its value's first token and text. */
typedef struct {
    int64_t key, key_length;
    int64_t token, begin, length; /* length is 0 for numbers and words */
    uint8_t first;
} Member;

static uint8_t byte_at(const Cursor *c, int64_t token) { return c->text[c->tokens[token]]; }

/* Length of the string at a token, including quotation marks; 0 when it is not closed. */
static int64_t string_length(const Cursor *c, int64_t token)
{
    int64_t begin = c->tokens[token], last = (int64_t)c->tokens[token + 1] - 1;
    while (is_space(c->text[last]))
        last--;
    return last > begin && c->text[last] == '"' ? last + 1 - begin : 0;
}

/* Moves from an opening bracket to after the closing one. Checks only that brackets pair. */
static Outcome skip_brackets(Cursor *c)
{
    uint8_t open[MAX_DEPTH];
    int depth = 0;
    for (; c->at < c->count; c->at++) {
        uint8_t byte = byte_at(c, c->at);
        if (byte == '{' || byte == '[') {
            if (depth == MAX_DEPTH)
                return BAD;
            open[depth++] = byte;
        } else if (byte == '}' || byte == ']') {
            /* The code of a closing bracket is that of its opening one + 2. */
            if (open[--depth] + 2 != byte)
                return BAD;
            if (depth == 0) {
                c->at++;
                return FINE;
            }
        }
    }
    return CUT;
}

/* Reads the next member of an object; `more` says whether another one follows. */
static inline Outcome next_member(Cursor *c, Member *member, bool *more)
{
    if (c->at + 3 >= c->count)
        return CUT;
    if (byte_at(c, c->at) != '"' || byte_at(c, c->at + 1) != ':')
        return BAD;
    int64_t length = string_length(c, c->at);
    if (length == 0)
        return BAD;
    member->key = (int64_t)c->tokens[c->at] + 1;
    member->key_length = length - 2;
    c->at += 2;
    member->token = c->at;
    member->begin = c->tokens[c->at];
    member->first = byte_at(c, c->at);
    member->length = 0;
    if (member->first == '{' || member->first == '[') {
        Outcome outcome = skip_brackets(c);
        if (outcome != FINE)
            return outcome;
        member->length = (int64_t)c->tokens[c->at - 1] + 1 - member->begin;
        if (c->at >= c->count)
            return CUT;
    } else if (member->first == '"') {
        member->length = string_length(c, c->at);
        if (member->length == 0)
            return BAD;
        c->at++;
    } else if (is_word(member->first)) {
        c->at++;
    } else {
        return BAD;
    }
    uint8_t next = byte_at(c, c->at++);
    *more = next == ',';
    return next == ',' || next == '}' ? FINE : BAD;
}

/* Length of a number or word. */
static int64_t word_length(const uint8_t *at)
{
    const uint8_t *first = at;
    while (is_word(*at))
        at++;
    return at - first;
}

/* Whether a key of the same length equals a literal. The constant length avoids a call. */
#define KEY_IS(c, member, name) (memcmp((c)->text + (member)->key, name, sizeof name - 1) == 0)

/* Columns of scan_events, each `capacity` long. */
enum {
    PHASE,
    CATEGORY,
    NAME,
    PID,
    TID,
    ID,
    BIND,
    SCOPE,
    START,
    DURATION,
    ARGS_BEGIN,
    ARGS_LENGTH,
    ARGS_TOKEN,
    BEGIN,
    LENGTH,
    ODD,
    COLUMNS
};
/* The columns before START hold codes into tables of distinct tokens. */
enum { TABLES = START };
/* Bits of ODD. */
enum { UNUSUAL = 1, OTHER_CLOCK = 2, FURTHER = 4 };

static int column_of(const Cursor *c, const Member *m)
{
    switch (m->key_length) {
    case 1: return KEY_IS(c, m, "s") ? SCOPE : -1;
    case 2:
        return KEY_IS(c, m, "ph")   ? PHASE
               : KEY_IS(c, m, "ts") ? START
               : KEY_IS(c, m, "id") ? ID
               : KEY_IS(c, m, "bp") ? BIND
                                    : -1;
    case 3:
        return KEY_IS(c, m, "pid")   ? PID
               : KEY_IS(c, m, "tid") ? TID
               : KEY_IS(c, m, "cat") ? CATEGORY
               : KEY_IS(c, m, "dur") ? DURATION
                                     : -1;
    case 4: return KEY_IS(c, m, "name") ? NAME : KEY_IS(c, m, "args") ? ARGS_BEGIN : -1;
    default: return -1;
    }
}

static int64_t further_of(const Cursor *c, const Member *m)
{
    switch (m->key_length) {
    case 2: return KEY_IS(c, m, "sf") ? FURTHER : 0;
    case 3: return KEY_IS(c, m, "id2") ? FURTHER : 0;
    case 4: return KEY_IS(c, m, "tdur") ? OTHER_CLOCK : 0;
    case 5: return KEY_IS(c, m, "scope") ? FURTHER : 0;
    default: return 0;
    }
}

/* Stores a member in its column; false when a table is full. */
static bool keep_member(const Cursor *c, const Member *m, int64_t *row, Intern *tables)
{
    int column = column_of(c, m);
    if (column < 0) {
        row[ODD] |= further_of(c, m);
        return true;
    }
    if (row[column] != MISSING)
        row[ODD] |= UNUSUAL;
    if (column < TABLES) {
        /* Process, thread and id may also be numbers. */
        bool may_be_number = column == PID || column == TID || column == ID;
        if (m->first != '"' && !(may_be_number && (is_digit(m->first) || m->first == '-')))
            row[ODD] |= UNUSUAL;
        int64_t length = m->length ? m->length : word_length(c->text + m->begin);
        row[column] = intern_code(&tables[column], c->text, m->begin, length);
        return row[column] >= 0;
    }
    if (column == ARGS_BEGIN) {
        if (m->first != '{')
            row[ODD] |= UNUSUAL;
        row[ARGS_BEGIN] = m->begin;
        row[ARGS_LENGTH] = m->first == '{' ? m->length : 0;
        row[ARGS_TOKEN] = m->token;
    } else if (!read_nanoseconds(c->text + m->begin, &row[column])) {
        row[ODD] |= UNUSUAL;
    }
    return true;
}

/* Reads the events of an array from `begin`, where an event begins or the array ends.
 *
 * Returns the number of events. `spans` and `table_counts` describe the tables of distinct tokens. `progress` gets the
 * position to continue from (after the comma of the last event, or after the closing bracket), whether the array has
 * ended, and the number of tokens. Stops at truncated or malformed text, and when an array is full. `tokens` has room
 * for one entry per byte from `begin` on.
 */
EXPORT int64_t warpline_scan_events(const uint8_t *text, int64_t begin, int64_t size, uint32_t *tokens,
                                    int64_t capacity, int64_t *out, int64_t *spans, int32_t *slots, int64_t slot_count,
                                    int64_t *table_counts, int64_t *progress)
{
    Cursor c = {text, tokens, find_tokens(text, begin, size, tokens), 0};
    Intern tables[TABLES];
    for (int i = 0; i < TABLES; i++)
        intern_init(&tables[i], spans + 2 * capacity * i, slots + slot_count * i, slot_count, capacity);
    int64_t n = 0;
    progress[0] = begin;
    progress[1] = 0;
    progress[2] = c.count;
    if (c.count && byte_at(&c, 0) == ']') {
        progress[0] = (int64_t)tokens[0] + 1;
        progress[1] = 1;
    }
    while (!progress[1] && n < capacity && c.at < c.count && byte_at(&c, c.at) == '{') {
        int64_t row[COLUMNS];
        for (int i = 0; i < COLUMNS; i++)
            row[i] = MISSING;
        row[BEGIN] = tokens[c.at++];
        row[ODD] = 0;
        row[ARGS_LENGTH] = 0;
        bool more = c.at < c.count && byte_at(&c, c.at) != '}';
        if (!more)
            c.at++;
        bool fine = true;
        while (more && fine) {
            Member member;
            fine = next_member(&c, &member, &more) == FINE && keep_member(&c, &member, row, tables);
        }
        if (!fine || c.at >= c.count)
            break;
        uint8_t next = byte_at(&c, c.at);
        if (next != ',' && next != ']')
            break;
        row[LENGTH] = (int64_t)tokens[c.at - 1] + 1 - row[BEGIN];
        for (int i = 0; i < COLUMNS; i++)
            out[capacity * i + n] = row[i];
        n++;
        progress[0] = (int64_t)tokens[c.at] + 1;
        progress[1] = next == ']';
        c.at++;
    }
    for (int i = 0; i < TABLES; i++)
        table_counts[i] = tables[i].count;
    return n;
}

/* Types of values. */
enum { INTEGER = 0, REAL = 1, TOKEN = 2, TRIPLE = 3 };

#define MAX_KEYS 64
#define KEY_SLOTS 256

/* Wanted keys by a hash of their text. */
typedef struct {
    const uint8_t *text;
    int64_t begin[MAX_KEYS], length[MAX_KEYS];
    int8_t slots[KEY_SLOTS];
} Keys;

static unsigned key_slot(const uint8_t *key, int64_t length)
{
    return length ? (unsigned)(length * 7 + key[0] * 31 + key[length - 1] * 13 + key[length / 2]) % KEY_SLOTS : 0;
}

static void keys_init(Keys *keys, const uint8_t *text, const int64_t *ends, int64_t count)
{
    keys->text = text;
    memset(keys->slots, -1, sizeof keys->slots);
    for (int64_t k = 0; k < count; k++) {
        keys->begin[k] = k ? ends[k - 1] : 0;
        keys->length[k] = ends[k] - keys->begin[k];
        unsigned slot = key_slot(text + keys->begin[k], keys->length[k]);
        while (keys->slots[slot] >= 0)
            slot = (slot + 1) % KEY_SLOTS;
        keys->slots[slot] = (int8_t)k;
    }
}

static int keys_find(const Keys *keys, const uint8_t *key, int64_t length)
{
    for (unsigned slot = key_slot(key, length); keys->slots[slot] >= 0; slot = (slot + 1) % KEY_SLOTS) {
        int k = keys->slots[slot];
        if (keys->length[k] == length && memcmp(keys->text + keys->begin[k], key, (size_t)length) == 0)
            return k;
    }
    return -1;
}

/* Three whole numbers in square brackets. */
static bool read_triple(const Cursor *c, int64_t token, int64_t *cell, int64_t stride)
{
    if (token + 6 >= c->count)
        return false;
    for (int axis = 0; axis < 3; axis++) {
        int64_t value = token + 1 + 2 * axis;
        if (!read_integer(c->text + c->tokens[value], cell + stride * axis))
            return false;
        if (byte_at(c, value + 1) != (axis < 2 ? ',' : ']'))
            return false;
    }
    return true;
}

/* Marks the values of a key as missing in all objects. */
static void clear_key(int type, int64_t n, int64_t *out, double *reals)
{
    if (type == REAL)
        for (int64_t i = 0; i < n; i++)
            reals[i] = NAN;
    else
        for (int64_t i = 0; i < (type == TRIPLE ? 3 * n : n); i++)
            out[i] = MISSING;
}

/* Reads members of n objects, given by the first tokens from scan_events (-2^63 for no object).
 *
 * `keys` holds the wanted keys one after another, `key_ends` the end of each, `types` the type of its value. The values
 * of key k go to `out` from column `columns[k]` on, n per column (a triple takes three columns); reals go to the same
 * place in `reals`. Tokens are numbered per key: spans from 2 * n * k on, counts in `table_counts[k]`. `hits` counts the
 * occurrences of each key; nothing is written for a key that does not occur.
 * All other members go to `rest` (`rest_text.h`) of `rest_capacity` bytes. `rest_codes` gets the number of each object
 * among the distinct ones (-2^63 for none), `rest_spans` their begins and lengths, `rest_counts` their number and the
 * bytes used.
 * Returns the number of objects with a value of another type or with unusual members; -1 when one is malformed.
 */
EXPORT int64_t warpline_scan_members(const uint8_t *text, const uint32_t *tokens, int64_t token_count, int64_t n,
                                     const int64_t *objects, int64_t key_count, const uint8_t *keys,
                                     const int64_t *key_ends, const int32_t *types, const int64_t *columns,
                                     int64_t *out, double *reals, int64_t *spans, int32_t *slots, int64_t slot_count,
                                     int64_t *table_counts, int64_t *hits, uint8_t *rest, int64_t rest_capacity,
                                     int64_t *rest_codes, int64_t *rest_spans, int32_t *rest_slots,
                                     int64_t *rest_counts)
{
    Intern tables[MAX_KEYS];
    RestText others;
    Keys wanted;
    if (key_count > MAX_KEYS)
        return -1;
    keys_init(&wanted, keys, key_ends, key_count);
    for (int64_t k = 0; k < key_count; k++)
        if (types[k] == TOKEN)
            intern_init(&tables[k], spans + 2 * n * k, slots + slot_count * k, slot_count, n);
    rest_init(&others, rest, rest_capacity, rest_spans, rest_slots, slot_count, n);
    int64_t odd = 0;
    for (int64_t i = 0; i < n; i++) {
        rest_codes[i] = MISSING;
        if (objects[i] == MISSING)
            continue;
        if (objects[i] < 0 || objects[i] + 1 >= token_count)
            return -1;
        Cursor c = {text, tokens, token_count, objects[i] + 1};
        bool is_odd = false, more = byte_at(&c, c.at) != '}';
        rest_open(&others);
        while (more) {
            Member m;
            if (next_member(&c, &m, &more) != FINE)
                return -1;
            const uint8_t *value = text + m.begin;
            int k = keys_find(&wanted, text + m.key, m.key_length);
            if (k < 0) {
                is_odd |= !rest_add(&others, text + m.key, m.key_length, value,
                                    m.length ? m.length : word_length(value));
                continue;
            }
            int64_t *cell = out + n * columns[k] + i;
            if (!hits[k]++)
                clear_key(types[k], n, out + n * columns[k], reals + n * columns[k]);
            if (m.first == 'n' && word_length(value) == 4 && memcmp(value, "null", 4) == 0)
                continue;
            if (types[k] == INTEGER) {
                is_odd |= !read_integer(value, cell);
            } else if (types[k] == REAL) {
                is_odd |= !read_real(value, &reals[n * columns[k] + i]);
            } else if (types[k] == TOKEN) {
                *cell = intern_code(&tables[k], text, m.begin, m.length ? m.length : word_length(value));
                if (*cell < 0)
                    return -1;
            } else {
                is_odd |= m.first != '[' || !read_triple(&c, m.token, cell, n);
            }
        }
        int64_t code = rest_close(&others);
        if (code >= 0)
            rest_codes[i] = code;
        odd += is_odd;
    }
    for (int64_t k = 0; k < key_count; k++)
        table_counts[k] = types[k] == TOKEN ? tables[k].count : 0;
    rest_counts[0] = others.objects.count;
    rest_counts[1] = others.used;
    return odd;
}

/* Numbers n pieces of text. Writes the spans of the distinct pieces and returns their count, -1 for an invalid span. */
EXPORT int64_t warpline_intern(const uint8_t *text, int64_t size, int64_t n, const int64_t *begins,
                               const int64_t *lengths, int64_t *codes, int64_t *spans, int32_t *slots,
                               int64_t slot_count)
{
    Intern table;
    intern_init(&table, spans, slots, slot_count, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = lengths[i] == 0 ? 0 : begins[i];
        if (begin < 0 || lengths[i] < 0 || begin > size - lengths[i])
            return -1;
        codes[i] = intern_code(&table, text, begin, lengths[i]);
        if (codes[i] < 0)
            return -1;
    }
    return table.count;
}
