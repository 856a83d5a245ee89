"""Tools about single events: by name, around a time, and one with its neighbours."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.agents.session import ToolCall
from warpline.agents.texts import joined, names, not_recorded, paged, scaled, table
from warpline.agents.tool import CAPTURE, RANGE, TRACK, Tool, ToolArgument
from warpline.analysis.framework.column import Role
from warpline.model import BUILTIN_KINDS_BY_NAME
from warpline.model.errors import UsageError
from warpline.model.times import format_duration

if TYPE_CHECKING:
    from warpline.storage import Capture

_MOST_LINKS = 6
_MOST_PARENTS = 8
_MOST_FRAMES = 12
_LONGEST_VALUE = 300
_ROWS = ToolArgument("integer", default=15, least=1, most=200)
_OFFSET = ToolArgument("integer", default=0)


def _search(call: ToolCall, given: dict[str, Any]) -> str:
    reader = call.reader(given["capture"])
    capture = reader.storage
    ids = capture.strings.find(given["text"])
    is_wanted = np.zeros(len(capture.strings) + 1, bool)
    is_wanted[ids] = True
    rows = np.flatnonzero(is_wanted[np.minimum(capture.events.name, len(capture.strings))])
    if not len(rows):
        return f"no event is called like {given['text'][:80]!r}"
    called, place = np.unique(capture.events.name[rows], return_inverse=True)
    durations = capture.events.duration[rows]
    place = place.reshape(-1)
    count = np.bincount(place)
    total = np.bincount(place, weights=durations)
    by_length = np.lexsort((durations, place))
    longest = by_length[np.cumsum(count) - 1]
    order = np.argsort(-total, kind="stable")
    first = min(given["offset"], len(order))
    shown = order[first : first + given["rows"]]
    lines = table(
        [
            ["name", *names(capture.strings.get(called[shown].tolist()))],
            ["count", *map(str, count[shown].tolist())],
            scaled("total", Role.DURATION, total[shown].tolist()),
            scaled("longest", Role.DURATION, durations[longest[shown]].tolist()),
            ["event", *map(str, rows[longest[shown]].tolist())],
        ]
    )
    return joined([*lines, paged(first, len(shown), len(order), "names")])


def _events(call: ToolCall, given: dict[str, Any]) -> str:
    reader = call.reader(given["capture"])
    capture, kind = reader.storage, given["kind"]
    if kind is not None and kind not in capture.kinds and kind in BUILTIN_KINDS_BY_NAME:
        return _kind_not_recorded(kind)
    from warpline.library.selecting import range_ns

    start, stop = range_ns(given["range"])
    frame = reader.events(kind, track=given["track"], start=start, stop=stop)
    rows = frame.row
    if given["order"] == "longest":
        rows = rows[np.argsort(-capture.events.duration[rows], kind="stable")]
    else:
        rows = rows[np.argsort(capture.event_times(rows)[0], kind="stable")]
    first = min(given["offset"], len(rows))
    shown = rows[first : first + given["rows"]]
    if not len(shown):
        return "no events here"
    lines = _event_table(capture, shown)
    return joined([*lines, paged(first, len(shown), len(rows), "events")])


def _kind_not_recorded(kind: str) -> str:
    from warpline.analysis.framework.not_recorded import NOT_RECORDED

    known = NOT_RECORDED.get(kind)
    if known is None:
        return not_recorded(f"this capture has no events of kind {kind}")
    return not_recorded(known.reason, known.remedy)


def _event_table(capture: Capture, rows: np.ndarray[Any, Any]) -> list[str]:
    starts, stops = capture.event_times(rows)
    kinds, tracks = capture.kind_of_code, capture.tracks_of_rows(rows).tolist()
    return table(
        [
            ["event", *map(str, rows.tolist())],
            scaled("start", Role.TIME, (starts - capture.span[0]).tolist()),
            scaled("duration", Role.DURATION, (stops - starts).tolist()),
            ["kind", *(kinds.get(code, "?") for code in capture.events.kind[rows].tolist())],
            ["track", *(capture.tracks[track].uri for track in tracks)],
            ["name", *names(capture.strings.get(capture.events.name[rows].tolist()))],
        ]
    )


def _event(call: ToolCall, given: dict[str, Any]) -> str:
    from warpline.library.event_frame import EventFrame

    reader = call.reader(given["capture"])
    capture, row = reader.storage, given["id"]
    if row >= len(capture.events):
        raise UsageError(f"no event {row}; the last one is {len(capture.events) - 1}")
    kind = capture.kind_of_code.get(int(capture.events.kind[row]), "")
    frame = EventFrame(capture, [kind] if kind in capture.kinds else None, np.array([row], np.int64))
    values = next(frame.rows(0, 1))
    start, stop = (int(times[0]) for times in capture.event_times(np.array([row], np.int64)))
    about = (
        f"kind {kind}, {format_duration(stop - start)} from {format_duration(start - capture.span[0])}, "
        f"on {values['track']}"
    )
    lines = [f"event {row}: {values['name']}", about]
    told = ("row", "name", "kind", "track", "start_ns", "duration_ns", "flags")
    for name, value in values.items():
        if name not in told and value is not None:
            lines.append(f"{name}: {_value_text(name, value)}")
    lines += _around(capture, row)
    lines += _links(capture, row)
    return joined(lines)


def _value_text(name: str, value: Any) -> str:
    if name.endswith("_ns") and isinstance(value, int):
        return format_duration(value)
    text = str(value)
    frames = text.split("\n") if "\n" in text else text.split(";")
    if len(frames) > _MOST_FRAMES:
        text = " < ".join(frames[:_MOST_FRAMES]) + f" … {len(frames) - _MOST_FRAMES} more"
    return text if len(text) <= _LONGEST_VALUE * 4 else text[: _LONGEST_VALUE * 4] + "…"


def _around(capture: Capture, row: int) -> list[str]:
    """What an event lies in, and what was before and after it on its lane."""
    lines, parent = [], capture.parent_of_row(row)
    for _ in itertools.repeat(None, _MOST_PARENTS):
        if parent is None:
            break
        lines.append(f"in: {_named(capture, parent)}")
        parent = capture.parent_of_row(parent)
    for word, other in (("before", capture.previous_event(row)), ("after", capture.next_event(row))):
        if other is not None:
            lines.append(f"{word}: {_named(capture, other)}")
    return lines


def _links(capture: Capture, row: int) -> list[str]:
    lines = []
    for word, (rows, kinds) in (("leads to", capture.links_from(row)), ("caused by", capture.links_to(row))):
        for other, kind in list(zip(rows.tolist(), kinds.tolist(), strict=True))[:_MOST_LINKS]:
            end = _named(capture, other) if 0 <= other < len(capture.events) else "outside the capture"
            lines.append(f"{word} ({capture.links.kind_name(kind)}): {end}")
        if len(rows) > _MOST_LINKS:
            lines.append(f"{word}: {len(rows) - _MOST_LINKS} more")
    return lines


def _named(capture: Capture, row: int) -> str:
    from warpline.analysis.findings.why import event_line

    return f"[event {row}] {event_line(capture, row)}"


TOOLS = (
    Tool(
        name="search",
        description="Names of events that contain a text: count, total time, longest event.",
        run=_search,
        arguments={"capture": CAPTURE, "text": ToolArgument("string"), "rows": _ROWS, "offset": _OFFSET},
        required=("text",),
    ),
    Tool(
        name="events",
        description="Events of a range (around a time), of a kind or on tracks.",
        run=_events,
        arguments={
            "capture": CAPTURE,
            "range": RANGE,
            "track": TRACK,
            "kind": ToolArgument("string"),
            "order": ToolArgument("string", default="start", choices=("start", "longest")),
            "rows": _ROWS,
            "offset": _OFFSET,
        },
    ),
    Tool(
        name="event",
        description="One event, the N of [event N]: attributes, stack, what it lies in, links both ways.",
        run=_event,
        arguments={"capture": CAPTURE, "id": ToolArgument("integer", most=2**62)},
        required=("id",),
    ),
)
