"""Macros over the views, with the counting rules of Warpline's own analysis."""

from __future__ import annotations

from warpline.query.definitions import Definition


def _table(name: str, about: str, parameters: str, sql: str, *uses: str) -> Definition:
    text = f"CREATE OR REPLACE MACRO {{s}}.{name}({parameters}) AS TABLE {sql}"
    return Definition(name, about, text, uses or ("events",), call=f"{name}({parameters})")


def _scalar(name: str, about: str, parameters: str, sql: str) -> Definition:
    text = f"CREATE OR REPLACE MACRO {{s}}.{name}({parameters}) AS {sql}"
    return Definition(name, about, text, (), call=f"{name}({parameters})")


# The moment an event of no duration is at belongs to it; otherwise the end does not.
_OVERLAPS = "e.ts < {b} AND (e.ts + e.dur > {a} OR (e.dur = 0 AND e.ts >= {a}))"

MACROS: tuple[Definition, ...] = (
    _table(
        "slice_at",
        "events that run at a time",
        "t",
        "SELECT e.* FROM {s}.events e WHERE e.ts <= t AND (e.ts + e.dur > t OR (e.dur = 0 AND e.ts = t))",
    ),
    _table(
        "between_ts",
        "events that overlap [a, b), with the part of each that lies inside as dur_inside",
        "a, b",
        "SELECT e.*, least(e.ts + e.dur, b) - greatest(e.ts, a) AS dur_inside FROM {s}.events e WHERE "
        + _OVERLAPS.format(a="a", b="b"),
    ),
    _table(
        "ancestors",
        "events that an event lies in, outermost first",
        "x",
        "SELECT e.* FROM {s}.events e, (SELECT ts, dur, track_id, depth FROM {s}.events WHERE id = x) c "
        "WHERE e.track_id = c.track_id AND e.depth < c.depth AND e.ts <= c.ts "
        "AND e.ts + e.dur >= greatest(c.ts + c.dur, c.ts + 1) ORDER BY e.depth",
    ),
    _table(
        "descendants",
        "events that lie in an event",
        "x",
        "SELECT e.* FROM {s}.events e, (SELECT ts, dur, track_id, depth FROM {s}.events WHERE id = x) c "
        "WHERE e.track_id = c.track_id AND e.depth > c.depth AND e.ts >= c.ts AND e.ts < c.ts + c.dur "
        "AND e.ts + e.dur <= c.ts + c.dur ORDER BY e.depth, e.ts",
    ),
    _table(
        "launch_of",
        "the call that launched GPU work",
        "x",
        "SELECT e.* FROM {s}.launches l JOIN {s}.events e ON e.id = l.call_id WHERE l.id = x",
        "events",
        "launches",
    ),
    _table(
        "intersection",
        "intervals in which two tracks are busy at the same time",
        "a, b",
        "SELECT greatest(x.ts, y.ts) AS ts, least(x.ts + x.dur, y.ts + y.dur) - greatest(x.ts, y.ts) AS dur "
        "FROM {s}.busy x JOIN {s}.busy y ON x.ts < y.ts + y.dur AND y.ts < x.ts + x.dur "
        "WHERE x.track_id = a AND y.track_id = b ORDER BY ts",
        "busy",
    ),
    _table(
        "device_intersection",
        "intervals in which two GPUs run something at the same time",
        "a, b",
        "SELECT greatest(x.ts, y.ts) AS ts, least(x.ts + x.dur, y.ts + y.dur) - greatest(x.ts, y.ts) AS dur "
        "FROM {s}.device_busy x JOIN {s}.device_busy y ON x.ts < y.ts + y.dur AND y.ts < x.ts + x.dur "
        "WHERE x.device = a AND y.device = b ORDER BY ts",
        "device_busy",
    ),
    _scalar(
        "bucket",
        "start of the bucket of a width (ns) that a time lies in",
        "t, width",
        "t - (t % width + width) % width",
    ),
)
MACRO_NAMES = frozenset(macro.name for macro in MACROS)
EVENT_MACROS = frozenset(macro.name for macro in MACROS if " AS TABLE SELECT e.*" in macro.sql)
"""Macros whose rows are events: their ``id`` is the row of one."""
