/* Reads the rows of an SQLite statement into columns. SQLite's functions are passed as pointers, so nothing links to it.
 *
 * Called by warpline/interchange/nsys/tables/sqlite_rows.py. Values of an unexpected type are left to the Python code.
 */
#include "intern.h"

#include <math.h>

#define EXPORT __attribute__((visibility("default")))
#define MISSING INT64_MIN
#define MAX_COLUMNS 64

typedef struct {
    int (*step)(void *);
    int (*type)(void *, int);
    int64_t (*integer)(void *, int);
    double (*real)(void *, int);
    const void *(*blob)(void *, int);
    int (*bytes)(void *, int);
} Sqlite;

enum { SQLITE_ROW = 100, SQLITE_DONE = 101 };
enum { IS_INTEGER = 1, IS_FLOAT = 2, IS_TEXT = 3, IS_BLOB = 4, IS_NULL = 5 };
/* Types of columns. */
enum { INTEGER = 0, REAL = 1, TEXT = 2 };

/* Reads up to `capacity` rows. The values of column k start at capacity * k: integers in `out` (-2^63 for NULL), reals in
 * `reals` (NaN for NULL), texts as codes in `out`. The spans from 2 * capacity * k on give the `text_counts[k]` distinct
 * texts of column k in `arena`; their hash table is at slot_count * k. `is_done` becomes 1 after the last row.
 * Returns the number of rows, -1 for a cell of another type, an SQLite error or a full arena.
 */
EXPORT int64_t warpline_sqlite_rows(const Sqlite *api, void *statement, int64_t columns, const int32_t *types,
                                    int64_t capacity, int64_t *out, double *reals, uint8_t *arena, int64_t arena_size,
                                    int64_t *spans, int32_t *slots, int64_t slot_count, int64_t *text_counts,
                                    int64_t *is_done)
{
    Intern tables[MAX_COLUMNS];
    if (columns > MAX_COLUMNS)
        return -1;
    for (int64_t k = 0; k < columns; k++)
        if (types[k] == TEXT)
            intern_init(&tables[k], spans + 2 * capacity * k, slots + slot_count * k, slot_count, capacity);
    int64_t used = 0;
    for (int64_t row = 0; row < capacity; row++) {
        int answer = api->step(statement);
        if (answer != SQLITE_ROW) {
            if (answer != SQLITE_DONE)
                return -1;
            *is_done = 1;
            for (int64_t k = 0; k < columns; k++)
                text_counts[k] = types[k] == TEXT ? tables[k].count : 0;
            return row;
        }
        for (int64_t k = 0; k < columns; k++) {
            int type = api->type(statement, (int)k);
            int64_t cell = capacity * k + row;
            if (types[k] == REAL) {
                reals[cell] = type == IS_FLOAT || type == IS_INTEGER ? api->real(statement, (int)k) : NAN;
            } else if (type == IS_NULL) {
                out[cell] = MISSING;
            } else if (types[k] == INTEGER) {
                if (type != IS_INTEGER)
                    return -1;
                out[cell] = api->integer(statement, (int)k);
            } else {
                if (type != IS_TEXT && type != IS_BLOB)
                    return -1;
                const void *text = api->blob(statement, (int)k);
                int64_t length = api->bytes(statement, (int)k);
                if (length > arena_size - used || (length && !text))
                    return -1;
                if (length)
                    memcpy(arena + used, text, (size_t)length);
                int64_t known = tables[k].count;
                out[cell] = intern_code(&tables[k], arena, used, length);
                if (out[cell] < 0)
                    return -1;
                if (tables[k].count > known)
                    used += length;
            }
        }
    }
    for (int64_t k = 0; k < columns; k++)
        text_counts[k] = types[k] == TEXT ? tables[k].count : 0;
    return capacity;
}
