/* What the pass over nested events of nested.c is given, what it keeps, and what it finds. */
#ifndef WARPLINE_NESTED_H
#define WARPLINE_NESTED_H

#include "entries.h"

enum { NONE = 255, BY_PATH = -1, BY_ITSELF = -2 };
enum { WITH_PARTS, BY_NAME, BY_CALL }; /* how events of a type are added up */

/* Steps in the order of time, in which calls of a name are numbered; from `last` on they have one number. */
typedef struct {
    const int64_t *start, *stop;
    int64_t count, last;
} Steps;

/* Columns of all events; the lanes of a thread, the outermost first; what the thread called and launched, by time. */
typedef struct {
    const int64_t *start, *duration;
    const uint32_t *name;
    const uint8_t *kind;
    const int64_t *first, *stop, *offset; /* of each lane: rows, clock */
    int64_t lanes, ids, farthest, low, high;
    const uint8_t *table_of_kind; /* 256: number of a table, NONE leaves a kind out */
    const uint8_t *const *tables; /* types of events, by name or by their place among those of the kind */
    const int64_t *sizes;         /* of the tables */
    int64_t *place;               /* of the next event of each lane (row) for each table, -1 where the name tells */
    int64_t count_of_tables;
    int64_t call, call_stop, call_offset, call_kind; /* rows of calls, which lie in one lane */
    int64_t launches;
    const int64_t *launch_time, *work_ns, *work_start, *work;
    int64_t type; /* of operators, which are added up by `way`; or BY_PATH, or BY_ITSELF */
    int64_t way;  /* by name and part and kernel; by name alone, also where one of the name contains it; by call */
    Steps steps;
    int64_t enough, limit; /* paths that are enough, and that there may be */
    int64_t *most_levels;  /* of the tree of all threads, which has none that one thread lacks: they tell each other */
} Nest;

/* An event in which GPU work was launched. */
typedef struct {
    int64_t row, index, place, start, level, children;
    int64_t works, work_start, work_stop; /* how many, from the first to the last */
} Felt;

typedef struct {
    Entry *entries;
    int64_t count, levels, complete;
    Felt *felt;
    int64_t felt_count;
} Found;

typedef struct {
    int64_t lane, row, time; /* of the next event; INT64_MAX behind the last one */
    int64_t start, stop;     /* of the open event, as all that follows */
    int64_t cpu, self_cpu, gpu, self_gpu;
    int64_t entry, part;
    Felt felt;
    int64_t top; /* lane of the outermost of events of its name that contain each other */
    uint32_t name;
    uint8_t type, kind;
} Lane;

/* How many calls of a name there were in the step that is numbered `step` from 1 on, and outside of steps. */
typedef struct {
    int64_t step, inside, outside;
} Calls;

typedef struct {
    const Nest *nest;
    Lane *lanes;
    int64_t *due;
    Lane *empty; /* events that others of their lane follow at the same moment */
    int64_t empty_room;
    Table table;
    Felt *felt;
    int64_t felt_count, felt_room;
    int64_t *of_level;            /* entries of each level */
    int64_t levels, cut, deepest; /* levels behind `cut` are left out */
    Calls *calls;                 /* of each name */
    int64_t step;
} Pass;

#endif
