"""The initial row tree: order, collapsed and expanded rows, and the lanes that represent a group.

The rows that answer "what was the hardware waiting for" come first: the GPU's streams, then the main thread. Rows that
repeat it (one per core, counters, threads that only show when they ran) are a click away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import tr_n
from warpline.model.roles import role_of
from warpline_app.timeline.model.row import Content, TimelineRow

if TYPE_CHECKING:
    from warpline.model import Track
    from warpline.storage import Capture

FOLD_FROM = 10
"""A row with at least this many children of a role collapses the idle ones into "n more…"."""
FOLD_COUNTERS = 3
"""A row with at least this many counters beside other rows collapses them into one row."""
ORDERED_UP_TO = 64
"""This many threads or streams of a parent are ordered by busy time."""
_NUMBER = re.compile(r"(\d+)(?:\.\d+)?$")
OPEN_CORES = 4
"""Up to this many cores are expanded where nothing else was recorded."""
OPEN_UP_TO = 1_000_000
"""The busiest stream of a single GPU with few streams is expanded if it has at most this many events."""
GPU_ROWS = 8
"""GPUs beside each other are expanded until they have this many rows; the first one always."""
SHOWN_STREAMS = 4
"""A GPU with more streams collapses the least busy ones into "n more…"."""


# order


def sort_top(rows: Sequence[TimelineRow]) -> list[TimelineRow]:
    """Rows without a parent, or those of a rank, in display order: GPUs with events first, so that both they and the
    threads that feed them are on the first screen.
    """

    def place(row: TimelineRow) -> int:
        if _is_idle_gpu(row):
            return 4
        top_place = role_of(row.role).top_place
        if top_place is not None:
            return top_place
        return 5 if row.children else 9

    return sorted(rows, key=place)


def _is_idle_gpu(row: TimelineRow) -> bool:
    return row.role == "gpu" and not row.count


def sort_children(capture: Capture, track: Track, children: Sequence[TimelineRow]) -> list[TimelineRow]:
    """Child rows of a track: in a process steps and the main thread first, in a GPU utilization and streams; counters
    last. Threads and streams come by busy time unless the capture orders them.
    """
    if track.role == "process":
        busy = _busy_of(capture, children, "thread")
        return sorted(
            children,
            key=lambda row: (
                row.role == "counter",
                row.role != "phases",
                not _is_main_thread(capture, row),
                -busy.get(row.track, 0),
            ),
        )
    if track.role in {"gpu", "context"}:
        busy = _busy_of(capture, children, "stream")
        return sorted(
            children,
            key=lambda row: (
                9 if row.role == "counter" and not row.is_utilization else role_of(row.role).gpu_place,
                row.role == "stream",
                -busy.get(row.track, 0),
            ),
        )
    return sort_top(children) if track.role == "rank" else list(children)


def _busy_of(capture: Capture, rows: Sequence[TimelineRow], role: str) -> dict[int, int]:
    """Busy ns by track of the rows of a role; empty where the capture gives an order or has too many of them.

    Profilers that give no order sort by the number of the thread or stream.
    """
    same = [row for row in rows if row.role == role]
    keys = {row.track: capture.tracks[row.track].sort_key for row in same}
    numbered = [
        track for track, key in keys.items() if _NUMBER.findall(capture.tracks[track].uri)[-1:] == [str(key)]
    ]
    is_given = len(set(keys.values())) > 1 and len(numbered) <= len(keys) // 2
    if is_given or not 1 < len(same) <= ORDERED_UP_TO:
        return {}
    return dict(zip((row.track for row in same), _busy_ns(capture, same), strict=True))


def _busy_ns(capture: Capture, rows: Iterable[TimelineRow]) -> list[int]:
    return [sum(capture.busy_ns(lane, *capture.span) for lane in row.lanes[:1]) for row in rows]


def _is_main_thread(capture: Capture, row: TimelineRow) -> bool:
    track = capture.tracks[row.track]
    if row.role != "thread" or track.thread is None:
        return False
    thread = capture.threads[track.thread]
    return thread.tid == capture.processes[thread.process].pid


def tells_utilization(title: str) -> bool:
    """Whether a counter of this English title is a utilization."""
    return "utili" in title.casefold() and "mem" not in title.casefold()


# what is folded


def fold_idle(capture: Capture, parent: TimelineRow, children: Sequence[TimelineRow]) -> list[TimelineRow]:
    """Collapse the idle ones of many similar children, and the least busy streams, into one row "n more…"."""
    result = list(children)
    for role in dict.fromkeys(child.role for child in children):
        share = role_of(role).idle_share
        same = [child for child in children if child.role == role]
        idle: list[TimelineRow] = []
        if share and len(same) >= FOLD_FROM:
            limit = max(child.count for child in same) * share
            idle = [child for child in same if child.count <= limit]
        if role == "stream" and SHOWN_STREAMS < len(same) <= ORDERED_UP_TO:
            busy = {id(row): busy_ns for row, busy_ns in zip(same, _busy_ns(capture, same), strict=True)}
            idle = sorted(same, key=lambda row: busy[id(row)], reverse=True)[SHOWN_STREAMS:]
        if len(idle) < 3:
            continue
        title = tr_n("{count} more…", "{count} more…", len(idle), "timeline")
        if role == "process":
            title = tr_n("{count} more process…", "{count} more processes…", len(idle), "timeline")
        more = _more(parent, role, title, idle)
        folded = {id(child) for child in idle}
        result = [child for child in result if id(child) not in folded]
        last = max((i for i, child in enumerate(result) if child.role == role), default=-1)
        result.insert(last + 1, more)
    return result


def fold_counters(parent: TimelineRow, children: Sequence[TimelineRow]) -> list[TimelineRow]:
    """Collapse counters beside other rows into one row, except GPU utilization."""
    counters = [child for child in children if child.role == "counter" and not child.is_utilization]
    if len(counters) < FOLD_COUNTERS or len(counters) == len(children):
        return list(children)
    folded = {id(child) for child in counters}
    rest = [child for child in children if id(child) not in folded]
    return [
        *rest,
        _more(
            parent,
            "counters",
            tr_n("{count} counter", "{count} counters", len(counters), "timeline"),
            counters,
        ),
    ]


def _more(parent: TimelineRow, what: str, title: str, rows: list[TimelineRow]) -> TimelineRow:
    more = TimelineRow(
        key=f"{parent.key}#more={what}",
        title=title,
        content=Content.MORE,
        role="more",
        family=rows[0].family,
        track=parent.track,
        is_open=False,
        count=sum(row.count for row in rows),
    )
    more.children = rows
    return more


# what is open


def open_by_default(root: TimelineRow, capture: Capture) -> None:
    """Expand informative rows without flooding the window; fewer with a GPU, so that its rows are visible."""
    rows = list(root.walk())
    has_streams = any(row.role == "stream" and row.count for row in rows)
    has_more = has_streams or any(row.role == "thread" and row.count for row in rows)
    gpus = sum(1 for row in rows if row.role == "gpu")
    threads, processes = (1, 1) if has_streams else (4, 4)
    gpu_rows: dict[int, int] = {}
    rank = _ranks(rows)
    for row in rows:
        if row.role == "cores":
            row.is_open = not has_more and len(row.children) <= OPEN_CORES
        elif row.role in {"core", "python"}:
            row.is_open = False
        elif row.role == "thread":
            is_first = has_streams and _is_main_thread(capture, row)
            row.is_open = _weight(row)[0] > 0 and (is_first or rank[id(row)] < threads)
        elif row.role == "stream":
            is_lone = gpus < 2 and _streams_beside(row) < SHOWN_STREAMS
            row.is_open = is_lone and rank[id(row)] < 1 and row.count <= OPEN_UP_TO
        elif row.role == "process":
            row.is_open = rank[id(row)] < processes
        elif row.role == "gpu":
            before = gpu_rows.get(id(row.parent), 0)
            gpu_rows[id(row.parent)] = before + len(row.children)
            row.is_open = not before or before + len(row.children) <= GPU_ROWS
        elif row.content is Content.MORE:
            row.is_open = row.key.endswith("#more=counters") and not has_streams


def _streams_beside(row: TimelineRow) -> int:
    return sum(other.role == "stream" for other in (row.parent.children if row.parent else ()))


def _ranks(rows: Iterable[TimelineRow]) -> dict[int, int]:
    """By id of each row: the number of similar siblings with more content, or as much and an earlier place."""
    alike: dict[tuple[int, str], list[TimelineRow]] = {}
    for row in rows:
        alike.setdefault((id(row.parent), row.role), []).append(row)
    ranks: dict[int, int] = {}
    for siblings in alike.values():
        siblings.sort(key=_weight, reverse=True)
        ranks |= {id(row): rank for rank, row in enumerate(siblings)}
    return ranks


def _weight(row: TimelineRow) -> tuple[int, int]:
    """The number of descendants that show activity, not only running times; then the number of events."""
    return sum(1 for child in row.children if role_of(child.role).shows_work), row.count


# what a group's curve is made of


def curve_lanes(role: str, children: Sequence[TimelineRow]) -> Iterator[int]:
    """The lanes that represent a group: cores, thread states or streams; the outermost of nested ranges."""
    if role == "thread":
        tracks = [child for child in children if child.lanes and child.content is Content.LANES]
        tracks.sort(key=lambda child: 6 if (place := role_of(child.role).work_place) is None else place)
        yield from tracks[0].lanes[:1] if tracks else ()
        return
    streams = [child for child in children if child.role == "stream"]
    work = [child for child in children if child.role in {"core", "thread", "context", "process", "gpu"}]
    for child in streams or work or children:
        if child.content is Content.LANES:
            yield from child.lanes if child.role in {"stream", "core"} else child.lanes[:1]
        elif child.content is Content.CURVE and child.role != "streams":
            yield from child.lanes
