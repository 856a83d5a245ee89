/* Finds the members of trace events in JSON text, without making an object of each.
 *
 * Everything here only reads inside [text, text + size) and only writes inside the arrays it is given. What is
 * unusual is left to the Python code, which understands more: an event is marked, or the whole text refused.
 * The caller is warpline/interchange/trace_native.py, which also documents the arrays.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MISSING INT64_MIN
#define MAX_DEPTH 60
/* 2^61 ns in microseconds, as in columns.py. */
#define MAX_WHOLE 2305843009213693LL

enum { INTEGER = 0, REAL = 1, TOKEN = 2, TRIPLE = 3 };

typedef struct {
    const uint8_t *text;
    int64_t size;
    int64_t at;
} Cursor;

/* Distinct pieces of text, numbered in the order of their first appearance. */
typedef struct {
    int64_t *spans; /* begin and length of each, two per piece */
    int32_t *slots; /* hash table of numbers, -1 where free */
    int64_t mask;
    int64_t capacity;
    int64_t count;
} Intern;

static void intern_init(Intern *intern, int64_t *spans, int32_t *slots, int64_t slot_count, int64_t capacity) {
    intern->spans = spans;
    intern->slots = slots;
    intern->mask = slot_count - 1;
    intern->capacity = capacity;
    intern->count = 0;
    memset(slots, 0xff, (size_t)slot_count * sizeof *slots);
}

static int64_t intern_code(Intern *intern, const uint8_t *text, int64_t begin, int64_t length) {
    uint64_t hash = 1469598103934665603ULL ^ (uint64_t)length;
    const uint8_t *piece = text + begin;
    int64_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, piece + i, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    for (; i < length; i++) hash = (hash ^ piece[i]) * 1099511628211ULL;
    hash ^= hash >> 32;
    for (int64_t slot = (int64_t)(hash & (uint64_t)intern->mask);; slot = (slot + 1) & intern->mask) {
        int32_t code = intern->slots[slot];
        if (code < 0) {
            if (intern->count >= intern->capacity) return -1;
            intern->slots[slot] = (int32_t)intern->count;
            intern->spans[2 * intern->count] = begin;
            intern->spans[2 * intern->count + 1] = length;
            return intern->count++;
        }
        if (intern->spans[2 * code + 1] == length && memcmp(text + intern->spans[2 * code], piece, (size_t)length) == 0)
            return code;
    }
}

static void skip_space(Cursor *c) {
    while (c->at < c->size) {
        uint8_t byte = c->text[c->at];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') return;
        c->at++;
    }
}

/* The byte at the cursor, 0 at the end. */
static uint8_t peek(const Cursor *c) { return c->at < c->size ? c->text[c->at] : 0; }

/* From an opening quotation mark to behind the closing one. Most strings are short: a loop beats memchr. */
static bool skip_string(Cursor *c) {
    const uint8_t *at = c->text + c->at + 1, *end = c->text + c->size;
    while (at < end) {
        uint8_t byte = *at++;
        if (byte == '"') {
            c->at = at - c->text;
            return true;
        }
        if (byte == '\\' && at < end) at++;
    }
    return false;
}

/* What a byte outside of strings is: part of a number or word, between members, an opening or closing bracket. */
enum { OTHER = 0, WORD = 1, BETWEEN = 2, OPENING = 3, CLOSING = 4, QUOTE = 5 };
static const uint8_t kind_of[256] = {
    ['0'] = WORD, ['1'] = WORD, ['2'] = WORD, ['3'] = WORD, ['4'] = WORD, ['5'] = WORD, ['6'] = WORD, ['7'] = WORD,
    ['8'] = WORD, ['9'] = WORD, ['-'] = WORD, ['+'] = WORD, ['.'] = WORD,
    ['a'] = WORD, ['b'] = WORD, ['c'] = WORD, ['d'] = WORD, ['e'] = WORD, ['f'] = WORD, ['g'] = WORD, ['h'] = WORD,
    ['i'] = WORD, ['j'] = WORD, ['k'] = WORD, ['l'] = WORD, ['m'] = WORD, ['n'] = WORD, ['o'] = WORD, ['p'] = WORD,
    ['q'] = WORD, ['r'] = WORD, ['s'] = WORD, ['t'] = WORD, ['u'] = WORD, ['v'] = WORD, ['w'] = WORD, ['x'] = WORD,
    ['y'] = WORD, ['z'] = WORD, ['E'] = WORD, ['N'] = WORD, ['I'] = WORD,
    [','] = BETWEEN, [':'] = BETWEEN, [' '] = BETWEEN, ['\n'] = BETWEEN, ['\r'] = BETWEEN, ['\t'] = BETWEEN,
    ['{'] = OPENING, ['['] = OPENING, ['}'] = CLOSING, [']'] = CLOSING, ['"'] = QUOTE,
};

static bool is_word(const Cursor *c) { return c->at < c->size && kind_of[c->text[c->at]] == WORD; }

/* Behind any value. Brackets must pair; what stands between them is not looked at. */
static bool skip_value(Cursor *c) {
    char open[MAX_DEPTH];
    int depth = 0;
    const uint8_t *text = c->text;
    while (c->at < c->size) {
        uint8_t byte = text[c->at];
        switch (kind_of[byte]) {
        case QUOTE:
            if (!skip_string(c)) return false;
            break;
        case OPENING:
            if (depth == MAX_DEPTH) return false;
            open[depth++] = (char)byte;
            c->at++;
            continue;
        case CLOSING:
            if (depth == 0 || open[--depth] != (byte == '}' ? '{' : '[')) return false;
            c->at++;
            break;
        case WORD:
            do c->at++;
            while (is_word(c));
            break;
        case BETWEEN:
            if (depth == 0) return false;
            c->at++;
            continue;
        default:
            return false;
        }
        if (depth == 0) return true;
    }
    return false;
}

/* A whole number token of at most 18 digits; false for anything else (the cursor then stays). */
static bool read_integer(const Cursor *c, int64_t end, int64_t *value) {
    int64_t at = c->at;
    bool negative = at < end && c->text[at] == '-';
    if (negative) at++;
    if (at >= end || end - at > 18) return false;
    int64_t result = 0;
    for (; at < end; at++) {
        uint8_t byte = c->text[at];
        if (byte < '0' || byte > '9') return false;
        result = result * 10 + (byte - '0');
    }
    *value = negative ? -result : result;
    return true;
}

/* Microseconds with a fraction, as nanoseconds rounded to nearest; false for exponents and impossible lengths. */
static bool read_nanoseconds(const Cursor *c, int64_t end, int64_t *value) {
    int64_t at = c->at;
    bool negative = at < end && c->text[at] == '-';
    if (negative) at++;
    int64_t whole = 0, digits = 0;
    for (; at < end && c->text[at] >= '0' && c->text[at] <= '9'; at++) {
        whole = whole * 10 + (c->text[at] - '0');
        if (++digits > 17) return false;
    }
    if (digits == 0 || whole >= MAX_WHOLE) return false;
    int64_t fraction = 0, scale = 100;
    bool round_up = false;
    if (at < end && c->text[at] == '.') {
        at++;
        if (at >= end) return false;
        for (int place = 0; at < end && c->text[at] >= '0' && c->text[at] <= '9'; at++, place++) {
            if (place < 3) {
                fraction += (c->text[at] - '0') * scale;
                scale /= 10;
            } else if (place == 3) {
                round_up = c->text[at] >= '5';
            }
        }
    }
    if (at != end) return false;
    int64_t result = whole * 1000 + fraction + (round_up ? 1 : 0);
    *value = negative ? -result : result;
    return true;
}

/* A decimal number of at most 15 digits, exactly rounded: both operands are exact. Not strtod, which obeys the locale. */
static bool read_real(const Cursor *c, int64_t end, double *value) {
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int64_t at = c->at;
    bool negative = at < end && c->text[at] == '-';
    if (negative) at++;
    int64_t mantissa = 0;
    int digits = 0, decimals = 0;
    bool after_point = false;
    for (; at < end; at++) {
        uint8_t byte = c->text[at];
        if (byte == '.' && !after_point && digits > 0) {
            after_point = true;
            continue;
        }
        if (byte < '0' || byte > '9' || ++digits > 15) return false;
        mantissa = mantissa * 10 + (byte - '0');
        decimals += after_point;
    }
    if (digits == 0 || (after_point && decimals == 0)) return false;
    *value = (double)mantissa / powers[decimals];
    if (negative) *value = -*value;
    return true;
}

static bool key_is(const Cursor *c, int64_t begin, int64_t length, const char *name) {
    return (int64_t)strlen(name) == length && memcmp(c->text + begin, name, (size_t)length) == 0;
}

/* Columns of scan_events, each `capacity` long. */
enum { PHASE, CATEGORY, NAME, START, DURATION, PID, TID, ARGS_BEGIN, ARGS_LENGTH, BEGIN, LENGTH, ODD, COLUMNS };
/* Tables of distinct tokens. */
enum { PHASES, CATEGORIES, NAMES, PIDS, TIDS, TABLES };

/* Reads "[{…},{…}]". Returns the number of events, -1 when the text is not of that form, -2 when there is no room. */
EXPORT int64_t warpline_scan_events(const uint8_t *text, int64_t size, int64_t capacity, int64_t *out, int64_t *spans,
                                    int32_t *slots, int64_t slot_count, int64_t *table_counts) {
    Cursor c = {text, size, 0};
    Intern tables[TABLES];
    for (int i = 0; i < TABLES; i++)
        intern_init(&tables[i], spans + 2 * capacity * i, slots + slot_count * i, slot_count, capacity);
    skip_space(&c);
    if (peek(&c) != '[') return -1;
    c.at++;
    int64_t n = 0;
    skip_space(&c);
    if (peek(&c) == ']') c.at++;
    else {
        for (;;) {
            skip_space(&c);
            if (peek(&c) != '{') return -1;
            if (n >= capacity) return -2;
            int64_t row[COLUMNS];
            for (int i = 0; i < COLUMNS; i++) row[i] = MISSING;
            row[BEGIN] = c.at;
            row[ODD] = 0;
            row[ARGS_LENGTH] = 0;
            c.at++;
            skip_space(&c);
            if (peek(&c) == '}') c.at++;
            else {
                for (;;) {
                    skip_space(&c);
                    if (peek(&c) != '"') return -1;
                    int64_t key = c.at + 1;
                    if (!skip_string(&c)) return -1;
                    int64_t key_length = c.at - 1 - key;
                    skip_space(&c);
                    if (peek(&c) != ':') return -1;
                    c.at++;
                    skip_space(&c);
                    Cursor value = c;
                    uint8_t first = peek(&c);
                    if (!skip_value(&c)) return -1;
                    int64_t length = c.at - value.at;
                    int column = -1, table = -1;
                    switch (key_length) {
                    case 2:
                        if (key_is(&c, key, 2, "ph")) column = PHASE, table = PHASES;
                        else if (key_is(&c, key, 2, "ts")) column = START;
                        break;
                    case 3:
                        if (key_is(&c, key, 3, "pid")) column = PID, table = PIDS;
                        else if (key_is(&c, key, 3, "tid")) column = TID, table = TIDS;
                        else if (key_is(&c, key, 3, "cat")) column = CATEGORY, table = CATEGORIES;
                        else if (key_is(&c, key, 3, "dur")) column = DURATION;
                        break;
                    case 4:
                        if (key_is(&c, key, 4, "name")) column = NAME, table = NAMES;
                        else if (key_is(&c, key, 4, "args")) column = ARGS_BEGIN;
                        break;
                    default:
                        break;
                    }
                    if (column >= 0 && row[column] != MISSING) row[ODD] = 1;
                    if (table >= 0) {
                        /* Names are texts; process and thread may be numbers as well. */
                        if (first != '"' && (table < PIDS || !((first >= '0' && first <= '9') || first == '-')))
                            row[ODD] = 1;
                        row[column] = intern_code(&tables[table], text, value.at, length);
                        if (row[column] < 0) return -2;
                    } else if (column == ARGS_BEGIN) {
                        if (first != '{') row[ODD] = 1;
                        row[ARGS_BEGIN] = value.at;
                        row[ARGS_LENGTH] = length;
                    } else if (column >= 0 && !read_nanoseconds(&value, c.at, &row[column])) {
                        row[ODD] = 1;
                    } else if (key_length == 4 && key_is(&c, key, 4, "tdur")) {
                        row[ODD] |= 2;
                    }
                    skip_space(&c);
                    uint8_t next = peek(&c);
                    c.at++;
                    if (next == '}') break;
                    if (next != ',') return -1;
                }
            }
            row[LENGTH] = c.at - row[BEGIN];
            for (int i = 0; i < COLUMNS; i++) out[capacity * i + n] = row[i];
            n++;
            skip_space(&c);
            uint8_t next = peek(&c);
            c.at++;
            if (next == ']') break;
            if (next != ',') return -1;
        }
    }
    skip_space(&c);
    for (int i = 0; i < TABLES; i++) table_counts[i] = tables[i].count;
    return c.at == size ? n : -1;
}

/* Reads members of n objects, whose begins and lengths scan_events found.
 *
 * `keys` holds the wanted keys one after another, `key_ends` where each ends, `types` what its value must be. Key k has
 * its values in `out` from column `columns[k]` on, n per column (a triple takes three columns); reals go to `reals` in
 * the same place. Tokens are numbered per key: spans from 2 * n * k on, counts in `table_counts[k]`. `hits` counts how
 * often each key occurs.
 * Returns how many objects hold something else under a wanted key; -1 when one is no object after all.
 */
EXPORT int64_t warpline_scan_members(const uint8_t *text, int64_t size, int64_t n, const int64_t *begins,
                                     const int64_t *lengths, int64_t key_count, const uint8_t *keys,
                                     const int64_t *key_ends, const int32_t *types, const int64_t *columns, int64_t *out,
                                     double *reals, int64_t *spans, int32_t *slots, int64_t slot_count,
                                     int64_t *table_counts, int64_t *hits) {
    Intern tables[64];
    if (key_count > 64) return -1;
    for (int64_t k = 0; k < key_count; k++)
        if (types[k] == TOKEN) intern_init(&tables[k], spans + 2 * n * k, slots + slot_count * k, slot_count, n);
    int64_t odd = 0;
    for (int64_t i = 0; i < n; i++) {
        if (lengths[i] == 0) continue;
        if (begins[i] < 0 || lengths[i] < 2 || begins[i] > size - lengths[i]) return -1;
        Cursor c = {text, begins[i] + lengths[i], begins[i] + 1};
        bool is_odd = false;
        int64_t guess = 0;
        skip_space(&c);
        if (peek(&c) == '}') continue;
        for (;;) {
            skip_space(&c);
            if (peek(&c) != '"') return -1;
            int64_t key = c.at + 1;
            if (!skip_string(&c)) return -1;
            int64_t key_length = c.at - 1 - key;
            skip_space(&c);
            if (peek(&c) != ':') return -1;
            c.at++;
            skip_space(&c);
            Cursor value = c;
            uint8_t first = peek(&c);
            if (!skip_value(&c)) return -1;
            /* Members mostly come in the order of the last object's. */
            for (int64_t tried = 0; tried < key_count; tried++) {
                int64_t k = guess + tried < key_count ? guess + tried : guess + tried - key_count;
                int64_t key_begin = k ? key_ends[k - 1] : 0;
                if (key_ends[k] - key_begin != key_length || memcmp(keys + key_begin, text + key, (size_t)key_length) != 0)
                    continue;
                guess = k + 1 < key_count ? k + 1 : 0;
                int64_t *cell = out + n * columns[k] + i;
                hits[k]++;
                if (first == 'n' && c.at - value.at == 4 && memcmp(text + value.at, "null", 4) == 0) break;
                if (types[k] == INTEGER) {
                    if (!read_integer(&value, c.at, cell)) is_odd = true;
                } else if (types[k] == REAL) {
                    if (!read_real(&value, c.at, &reals[n * columns[k] + i])) is_odd = true;
                } else if (types[k] == TOKEN) {
                    *cell = intern_code(&tables[k], text, value.at, c.at - value.at);
                    if (*cell < 0) return -1;
                } else {
                    Cursor part = value;
                    part.at++;
                    bool fine = first == '[';
                    for (int axis = 0; axis < 3 && fine; axis++) {
                        skip_space(&part);
                        Cursor number = part;
                        while (is_word(&part)) part.at++;
                        fine = part.at < c.at && read_integer(&number, part.at, cell + n * axis);
                        skip_space(&part);
                        fine = fine && peek(&part) == (axis < 2 ? ',' : ']');
                        part.at++;
                    }
                    if (!fine) is_odd = true;
                }
                break;
            }
            skip_space(&c);
            uint8_t next = peek(&c);
            c.at++;
            if (next == '}') break;
            if (next != ',') return -1;
        }
        odd += is_odd;
    }
    for (int64_t k = 0; k < key_count; k++) table_counts[k] = types[k] == TOKEN ? tables[k].count : 0;
    return odd;
}

/* Numbers n pieces of text; spans and the count are those of the distinct ones. Returns -1 when a span is impossible. */
EXPORT int64_t warpline_intern(const uint8_t *text, int64_t size, int64_t n, const int64_t *begins, const int64_t *lengths,
                               int64_t *codes, int64_t *spans, int32_t *slots, int64_t slot_count) {
    Intern table;
    intern_init(&table, spans, slots, slot_count, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = lengths[i] == 0 ? 0 : begins[i];
        if (begin < 0 || lengths[i] < 0 || begin > size - lengths[i]) return -1;
        codes[i] = intern_code(&table, text, begin, lengths[i]);
        if (codes[i] < 0) return -1;
    }
    return table.count;
}
