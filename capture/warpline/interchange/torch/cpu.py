"""Thread states, blocking calls and core slices in traces that Warpline exported.

The rows of these events have made-up numbers. The arguments name the owner: ``tid`` (and ``pid`` on a core's row), and
``core`` on a core's row. `export.chrome_json.args` writes them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np

from warpline.interchange.framework.columns import NO_INTEGER, distinct_rows
from warpline.interchange.trace_json.arguments import Arguments, Int64, decode_args
from warpline.interchange.trace_json.piece_columns import SLICES, Group, Loss, extract_slices, spans
from warpline.interchange.trace_json.target import TraceTarget
from warpline.storage import CaptureBuilder

STATE, SLICE, CALL = "thread_state", "cpu_slice", "osrt"
_TRACKS = {STATE: "state", SLICE: "cpu", CALL: "osrt"}
_OF_STATES = ("cpu", "woken_by", "wait", "core_wait_ns")
_OF_CALLS = ("return_value", "wait", "address", "holder", "ended_by")
_TEXTS_OF_STATES = ("reason", "place", "task")
_TEXTS_OF_CALLS = ("place", "task", "object", "ended_how", "holder_place", "caller")
_NUMBERS = ("pid", "tid", "core", "cpu", "woken_by", "flags")


class SchedulingArgs(msgspec.Struct, gc=False):
    """Arguments of thread states and core slices."""

    pid: Int64 = NO_INTEGER
    tid: Int64 = NO_INTEGER
    core: Int64 = NO_INTEGER
    cpu: Int64 = NO_INTEGER
    woken_by: Int64 = NO_INTEGER
    flags: Int64 = NO_INTEGER
    reason: str = ""


class WaitArgs(SchedulingArgs, gc=False):
    """Arguments of thread states and blocking calls: cause, place, and what ended the wait."""

    wait: Int64 = NO_INTEGER
    core_wait_ns: Int64 = NO_INTEGER
    return_value: Int64 = NO_INTEGER
    address: Int64 = NO_INTEGER
    holder: Int64 = NO_INTEGER
    ended_by: Int64 = NO_INTEGER
    place: str = ""
    task: str = ""
    object: str = ""
    ended_how: str = ""
    holder_place: str = ""
    caller: str = ""
    stack: str = msgspec.field(default="", name="Call stack")


def fill_waits(group: Group, args: Arguments) -> bool:
    """Like `fill_scheduling`, with the arguments of waits."""
    for name in {*_OF_STATES, *_OF_CALLS} - set(_NUMBERS):
        group.numbers[name] = args.integers(name)
    for name in {*_TEXTS_OF_STATES, *_TEXTS_OF_CALLS, "stack"}:
        group.texts[name] = args.texts(name)
    return fill_scheduling(group, args)


def stack_id(builder: CaptureBuilder, text: str) -> int:
    """Id of a call stack in text form (innermost frame first, separated by semicolons), -1 for none."""
    stack = -1
    for frame in reversed([part for part in text.split(";") if part]):
        name = builder.string(frame)
        stack = builder.stack(name) if stack < 0 else builder.stack(name, stack)
    return stack


def fill_scheduling(group: Group, args: Arguments) -> bool:
    """Add owners and other arguments; False when an event has no owner."""
    for name in _NUMBERS:
        group.numbers[name] = args.integers(name)
    group.texts["reason"] = args.texts("reason")
    no_owner = [np.ma.getmaskarray(group.numbers[name]) for name in ("tid", "core")]
    return not (no_owner[0] & no_owner[1]).any()


def extract_scheduling(rows: list[Any], losses: Counter[Loss]) -> dict[str, Group]:
    """Events of one of these categories; events of other tools in the same category become ranges."""
    name = rows[0].cat
    exported = [row for row in rows if b'"tid"' in bytes(row.args) or b'"core"' in bytes(row.args)]
    groups: dict[str, Group] = {}
    if exported:
        timed_rows, group = spans(exported, losses)
        fill = fill_scheduling if name == SLICE else fill_waits
        args = decode_args(timed_rows, SchedulingArgs if name == SLICE else WaitArgs, losses)
        if fill(group, args):
            groups[name] = group
        else:
            exported = []
    if len(exported) < len(rows):
        known = set(map(id, exported))
        groups[SLICES] = extract_slices([row for row in rows if id(row) not in known], losses)
    return groups


def add_scheduling(target: TraceTarget, kind: str, group: Group, rows: dict[Any, int]) -> None:
    """Add states or slices to the tracks of their threads and cores.

    ``rows`` gets the number in the slice registry for each row of the trace.
    """
    builder, tracks, numbers = target.builder, target.tracks, group.numbers
    names = builder.strings(group.name.table)[group.name.codes]
    columns = _attributes(builder, kind, group)
    flags = (np.ma.filled(numbers["flags"], 0) & 0xFF).astype(np.uint8)
    stop = group.start + group.duration
    owner = (np.ma.filled(numbers[name], NO_INTEGER) for name in ("pid", "tid", "core"))
    places, codes = distinct_rows(group.thread.astype(np.int64), *owner)
    for code, (row, pid, tid, core) in enumerate(places):
        index = np.flatnonzero(codes == code)
        key = group.threads[row]
        thread = None if tid == NO_INTEGER else tracks.thread(key[0] if pid == NO_INTEGER else pid, tid)
        attributes: dict[str, Any] = {}
        if kind != SLICE:
            attributes = {name: column[index] for name, column in columns.items()}
        elif thread is not None:
            attributes["process"], attributes["thread"] = thread.process.index, thread.index
        if core != NO_INTEGER:
            cores = tracks.add_track(tracks.specs.cores())
            track = tracks.add_track(tracks.specs.core(core), cores)
        else:
            assert thread is not None, "an event has a thread or a core"
            track = tracks.sub_track(thread, _TRACKS[kind])
        first = builder.add_events(
            track,
            kind,
            group.start[index],
            group.duration[index],
            names[index],
            flags=flags[index],
            attributes=attributes,
        )
        number = rows.setdefault(key, -2 - 2 * len(rows))
        target.slices.add(number, group.start[index], stop[index], np.arange(first, first + len(index)))


def _attributes(builder: CaptureBuilder, kind: str, group: Group) -> dict[str, Any]:
    """Attributes of states and calls, by name; empty texts are masked."""
    if kind == SLICE:
        return {}
    names = (_OF_STATES, _TEXTS_OF_STATES) if kind == STATE else (_OF_CALLS, _TEXTS_OF_CALLS)
    attributes: dict[str, Any] = {name: group.numbers[name] for name in names[0]}
    for name in names[1]:
        texts = builder.strings(group.texts[name].table)[group.texts[name].codes]
        attributes[name] = np.ma.MaskedArray(texts, texts == 0)
    stacks = group.texts["stack"]
    if any(stacks.table):
        ids = np.array([stack_id(builder, text) for text in stacks.table], np.int64)[stacks.codes]
        attributes["stack"] = np.ma.MaskedArray(np.maximum(ids, 0).astype(np.uint32), ids < 0)
    return attributes
