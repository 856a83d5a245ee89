"""States of threads and what cores ran, as Warpline's own export writes them into traces of this format.

Their rows have made-up numbers there, so the arguments tell whose they are: ``tid`` (and ``pid`` on the row of a core),
``core`` on the row of a core. `export.chrome_json.args` writes them.
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

STATE, SLICE = "thread_state", "cpu_slice"
_NUMBERS = ("pid", "tid", "core", "cpu", "woken_by", "flags")


class SchedulingArgs(msgspec.Struct, gc=False):
    """Arguments of states and of slices of a core."""

    pid: Int64 = NO_INTEGER
    tid: Int64 = NO_INTEGER
    core: Int64 = NO_INTEGER
    cpu: Int64 = NO_INTEGER
    woken_by: Int64 = NO_INTEGER
    flags: Int64 = NO_INTEGER
    reason: str = ""


def fill_scheduling(group: Group, args: Arguments) -> bool:
    """Add whose they are and what is told of them; False when some do not say whose they are."""
    for name in _NUMBERS:
        group.numbers[name] = args.integers(name)
    group.texts["reason"] = args.texts("reason")
    nobody = [np.ma.getmaskarray(group.numbers[name]) for name in ("tid", "core")]
    return not (nobody[0] & nobody[1]).any()


def extract_scheduling(rows: list[Any], losses: Counter[Loss]) -> dict[str, Group]:
    """Events of one of the two categories; those of others who use such a category are ranges."""
    name = rows[0].cat
    ours = [row for row in rows if b'"tid"' in bytes(row.args) or b'"core"' in bytes(row.args)]
    found: dict[str, Group] = {}
    if ours:
        kept, group = spans(ours, losses)
        args = decode_args(kept, SchedulingArgs, losses)
        if fill_scheduling(group, args):
            found[name] = group
        else:
            ours = []
    if len(ours) < len(rows):
        known = set(map(id, ours))
        found[SLICES] = extract_slices([row for row in rows if id(row) not in known], losses)
    return found


def add_scheduling(target: TraceTarget, kind: str, group: Group, rows: dict[Any, int]) -> None:
    """Add states or slices to the tracks of their threads and cores.

    ``rows`` gets, for each row of the trace, the number under which its events are registered for flows.
    """
    builder, tracks, numbers = target.builder, target.tracks, group.numbers
    names = builder.strings(group.name.table)[group.name.codes]
    reason = builder.strings(group.texts["reason"].table)[group.texts["reason"].codes]
    flags = (np.ma.filled(numbers["flags"], 0) & 0xFF).astype(np.uint8)
    stop = group.start + group.duration
    owner = (np.ma.filled(numbers[name], NO_INTEGER) for name in ("pid", "tid", "core"))
    places, codes = distinct_rows(group.thread.astype(np.int64), *owner)
    for code, (row, pid, tid, core) in enumerate(places):
        index = np.flatnonzero(codes == code)
        key = group.threads[row]
        thread = None if tid == NO_INTEGER else tracks.thread(key[0] if pid == NO_INTEGER else pid, tid)
        attributes: dict[str, Any] = {}
        if kind == STATE:
            attributes["cpu"] = numbers["cpu"][index]
            attributes["woken_by"] = numbers["woken_by"][index]
            attributes["reason"] = np.ma.MaskedArray(reason[index], reason[index] == 0)
        elif thread is not None:
            attributes["process"], attributes["thread"] = thread.process.index, thread.index
        if core != NO_INTEGER:
            cores = tracks.add_track(tracks.specs.cores())
            track = tracks.add_track(tracks.specs.core(core), cores)
        else:
            assert thread is not None, "one of the two is told"
            track = tracks.sub_track(thread, "state" if kind == STATE else "cpu")
        first = builder.add_events(
            track,
            kind,
            group.start[index],
            group.duration[index],
            names[index],
            flags=flags[index],
            attributes=attributes,
        )
        number = rows.setdefault(key, -2 - len(rows))
        target.slices.add(number, group.start[index], stop[index], np.arange(first, first + len(index)))
