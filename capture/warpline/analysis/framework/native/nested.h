/* Input, state and results of the pass over nested events in nested.c. */
#ifndef WARPLINE_NESTED_H
#define WARPLINE_NESTED_H

#include "entries.h"

enum { NONE = 255, BY_PATH = -1, BY_ITSELF = -2 };
enum { WITH_PARTS, BY_NAME, BY_CALL }; /* how events of a type are grouped */

/* Steps by time, in which calls of a name are numbered; from `last` on they share one number. */
typedef struct {
    const int64_t *start, *stop;
    int64_t count, last;
} Steps;

/* Columns of all events; the lanes of a thread, outermost first; its calls and launches by time. */
typedef struct {
    const int64_t *start, *duration;
    const uint32_t *name;
    const uint8_t *kind;
    const int64_t *first, *stop, *offset; /* of each lane: rows, clock offset */
    int64_t lanes, ids, farthest, low, high;
    const uint8_t *table_of_kind; /* 256: number of a table, or NONE to ignore a kind */
    const uint8_t *const *tables; /* types of events, by name or by index in the kind's table */
    const int64_t *sizes;         /* of the tables */
    int64_t *place;               /* index of the next event of each lane (row) in each table, -1 if types go by name */
    int64_t count_of_tables;
    int64_t call, call_stop, call_offset, call_kind; /* rows of calls in one lane */
    int64_t launches;
    const int64_t *launch_time, *work_ns, *work_start, *work;
    int64_t type; /* of the events to group by `way`; or BY_PATH, or BY_ITSELF */
    int64_t way;  /* WITH_PARTS, BY_NAME (also inside events of its name), or BY_CALL */
    Steps steps;
    int64_t enough, limit; /* number of paths that is enough, and the maximum */
    int64_t *most_levels;  /* of the tree of all threads, lowered by all of them */
} Nest;

/* An event that launched GPU work, and its operations: number, first start, last end. */
typedef struct {
    int64_t row, index, place, start, level, children;
    int64_t works, work_start, work_stop;
} Launcher;

typedef struct {
    Entry *entries;
    int64_t count, levels, complete;
    Launcher *launchers;
    int64_t launcher_count;
} Result;

typedef struct {
    int64_t lane, row, time; /* of the next event; INT64_MAX at the end */
    int64_t start, stop;     /* of the open event, like the fields below */
    int64_t cpu, self_cpu, gpu, self_gpu;
    int64_t entry, part;
    Launcher launcher;
    int64_t top; /* lane of the outermost event of its name around it */
    uint32_t name;
    uint8_t type, kind;
} Lane;

/* Numbers of calls of a name inside the step numbered `step` (from 1), and outside steps. */
typedef struct {
    int64_t step, inside, outside;
} Calls;

typedef struct {
    const Nest *nest;
    Lane *lanes;
    int64_t *due;
    Lane *empty; /* events that another of their lane follows at the same time */
    int64_t empty_room;
    Table table;
    Launcher *launchers;
    int64_t launcher_count, launcher_room;
    int64_t *of_level;            /* entries of each level */
    int64_t levels, cut, deepest; /* levels after `cut` are dropped */
    Calls *calls;                 /* of each name */
    int64_t step;
} Pass;

#endif
