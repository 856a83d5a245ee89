"""The messages of Perfetto traces that Warpline reads, as tables.

Source of the numbers: ``protos/perfetto/trace`` of Perfetto.
"""

from __future__ import annotations

from warpline.interchange.framework.messages.schema import Schema

_NAME = Schema(numbers={1: "iid"}, texts={2: "name"})
_CLOCK = Schema(numbers={1: "id", 2: "time", 3: "incremental", 4: "unit_ns"})
_COUNTER = Schema(numbers={1: "type", 3: "unit", 4: "multiplier", 5: "incremental"}, texts={6: "unit_name"})
_PROCESS = Schema(numbers={1: "pid"}, texts={6: "name"}, repeated_texts={2: "cmdline"})
_THREAD = Schema(numbers={1: "pid", 2: "tid", 6: "time_us", 7: "thread_time_us"}, texts={5: "name"})
_TRACK = Schema(
    numbers={1: "uuid", 5: "parent"},
    texts={2: "name", 10: "static_name", 13: "atrace_name"},
    messages={3: ("process", _PROCESS), 4: ("thread", _THREAD), 8: ("counter", _COUNTER)},
)
_LEGACY = Schema(
    numbers={
        1: "name_iid", 2: "phase", 3: "duration_us", 6: "unscoped_id", 8: "bind_id", 10: "local_id",
        11: "global_id", 13: "flow_direction", 18: "pid", 19: "tid",
    },
    texts={7: "id_scope"},
)  # fmt: skip
_ANNOTATION = Schema(
    numbers={1: "name_iid"},
    texts={10: "name"},
    # Of these an annotation has one. Tables of their own keep rows narrow, and tell each number from a missing one.
    repeated_numbers={
        2: "boolean", 3: "unsigned", 4: "signed", 5: "real", 7: "pointer", 17: "string_iid",
    },
    repeated_texts={6: "text", 8: "nested", 9: "json", 11: "entry", 12: "item"},
)  # fmt: skip
TRACK_EVENT = Schema(
    numbers={
        1: "delta_us", 9: "type", 10: "name_iid", 11: "track", 16: "absolute_us", 30: "value", 44: "double_value",
    },
    texts={23: "name"},
    messages={4: ("annotation", _ANNOTATION), 6: ("legacy", _LEGACY)},
    repeated_numbers={
        3: "category_iid", 12: "extra_value", 31: "extra_track", 36: "old_flow", 42: "old_end_flow", 47: "flow",
        48: "end_flow",
    },
    repeated_texts={22: "category"},
    count_others=True,
)  # fmt: skip
_DEFAULTS = Schema(
    numbers={58: "clock"},
    messages={11: ("track_event", Schema(numbers={11: "track"}, repeated_numbers={31: "extra_track"}))},
)
_INTERNED = Schema(
    messages={
        1: ("category", _NAME),
        2: ("event", _NAME),
        3: ("annotation", _NAME),
        5: ("function", _NAME),
        6: ("frame", Schema(numbers={1: "iid", 2: "function", 3: "mapping", 4: "address"})),
        7: ("callstack", Schema(numbers={1: "iid"}, repeated_numbers={2: "frame"})),
        17: ("path", _NAME),
        19: ("mapping", Schema(numbers={1: "iid"}, repeated_numbers={7: "path"})),
        23: ("context", Schema(numbers={1: "iid", 2: "pid", 3: "api"})),
        24: ("stage", _NAME),
        29: ("string", _NAME),
    }
)
_SWITCH = Schema(numbers={2: "prev", 4: "prev_state", 6: "next"}, texts={1: "prev_comm", 5: "next_comm"})
_WAKEUP = Schema(numbers={2: "thread", 5: "cpu"}, texts={1: "comm"})
_CORE_STATE = Schema(numbers={1: "state", 2: "cpu"})
FTRACE_EVENT = Schema(
    numbers={1: "time", 2: "thread"},
    messages={
        3: ("print", Schema(texts={2: "text"})),
        4: ("switch", _SWITCH),
        11: ("frequency", _CORE_STATE),
        13: ("idle", _CORE_STATE),
        17: ("wakeup", _WAKEUP),
        19: ("waking", _WAKEUP),
        20: ("new", _WAKEUP),
        235: ("task", Schema(numbers={1: "pid", 3: "clone_flags"}, texts={2: "comm"})),
        236: ("rename", Schema(numbers={1: "pid"}, texts={3: "comm"})),
    },
    count_others=True,
)
_COMPACT = Schema(
    repeated_numbers={
        1: "switch_time", 2: "switch_state", 3: "switch_next", 6: "switch_comm", 7: "waking_time",
        8: "waking_thread", 11: "waking_comm",
    },
    repeated_texts={5: "text"},
)  # fmt: skip
_FTRACE = Schema(
    numbers={1: "cpu", 3: "lost", 5: "clock"}, messages={2: ("event", FTRACE_EVENT), 4: ("compact", _COMPACT)}
)
_TREE = Schema(
    messages={
        1: ("process", Schema(numbers={1: "pid", 2: "parent"}, repeated_texts={3: "cmdline"})),
        2: ("thread", Schema(numbers={1: "tid", 3: "pid"}, texts={2: "name"})),
    }
)
_STATS = Schema(
    messages={
        1: (
            "process",
            Schema(numbers={1: "pid", 2: "vm_size", 3: "rss", 4: "anon", 5: "file", 6: "shmem", 7: "swap"}),
        )
    }
)
_GPU_COUNTERS = Schema(
    numbers={3: "gpu"},
    messages={
        1: ("descriptor", Schema(messages={1: ("spec", Schema(numbers={1: "id"}, texts={2: "name"}))})),
        2: ("counter", Schema(numbers={1: "id", 2: "value", 3: "double_value"})),
    },
)
_RENDER_STAGE = Schema(
    numbers={2: "duration", 3: "queue_id", 4: "stage_id", 5: "context", 10: "submission", 11: "gpu", 13: "queue",
             14: "stage", 20: "name_iid"},
    texts={17: "name"},
    messages={
        7: (
            "specs",
            Schema(messages={2: ("queue", Schema(texts={1: "name"})), 3: ("stage", Schema(texts={1: "name"}))}),
        )
    },
)  # fmt: skip
_SAMPLE = Schema(
    numbers={1: "cpu", 2: "pid", 3: "tid", 4: "callstack", 6: "count", 17: "lost", 18: "skipped"}
)
PACKET = Schema(
    numbers={8: "time", 10: "sequence", 13: "flags", 41: "cleared", 42: "dropped", 58: "clock"},
    texts={50: "compressed"},
    messages={
        1: ("ftrace", _FTRACE),
        2: ("tree", _TREE),
        6: ("snapshot", Schema(numbers={2: "primary"}, messages={1: ("clock", _CLOCK)})),
        9: ("stats", _STATS),
        11: ("event", TRACK_EVENT),
        12: ("interned", _INTERNED),
        43: ("process", _PROCESS),
        44: ("thread", _THREAD),
        52: ("gpu_counters", _GPU_COUNTERS),
        53: ("stage", _RENDER_STAGE),
        59: ("defaults", _DEFAULTS),
        60: ("track", _TRACK),
        66: ("sample", _SAMPLE),
    },
    count_others=True,
)
