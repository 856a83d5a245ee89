"""The tree of rows made from a capture's tracks, in display order. No window, no pixels."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n, translated
from warpline.model.links import LAUNCH
from warpline.model.roles import role_of
from warpline_app.timeline.model.core_load import counter_title
from warpline_app.timeline.model.name_rows import NameGroup, NameGroups
from warpline_app.timeline.model.row import Content, TimelineRow
from warpline_app.timeline.model.row_defaults import (
    curve_lanes,
    fold_counters,
    fold_idle,
    open_by_default,
    sort_children,
    sort_top,
    tells_utilization,
)

if TYPE_CHECKING:
    from warpline.model import Track
    from warpline.storage import Capture

NAME_ROWS = 4
"""Kernel name rows of a stream before "n more…"."""
LEAST_SHARE = 0.01
"""Names with a smaller share of a stream's work have no row before "n more…"."""
INDEX_AT_ONCE = 60_000
"""Streams up to this size have their names indexed at once, others in the background."""
PROJECTION = "projection"
"""Role of a GPU's row for host ranges projected onto its streams."""

JOINED = "streams"
"""Role of a GPU's row for the events of all its streams."""


class RowTree:
    """All rows of a capture. ``root`` has the key ``""`` and is not shown."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.index = NameGroups(capture)
        self.root = TimelineRow(key="", title="", content=Content.CURVE)
        self.index_late: Callable[[TimelineRow], None] | None = None
        """Callback that indexes a large stream's names in the background, then calls `indexed`."""
        self._by_key: dict[str, TimelineRow] = {}
        top = sort_top([self._row(index) for index in capture.children(-1)])
        self._adopt(self.root, fold_idle(capture, self.root, top))
        open_by_default(self.root, capture)

    def set_heading(self, key: str, heading: TimelineRow | None) -> None:
        """Replace a top-level row that belongs to no track, and the rows below it; None removes them."""
        for row in [row for row in self.root.children if row.key == key]:
            for gone in row.walk():
                self._by_key.pop(gone.key, None)
            self.root.children.remove(row)
        if heading is not None:
            heading.parent = self.root
            self.root.children.insert(0, heading)
            self._register(heading)

    def keep_places(self, before: RowTree) -> None:
        """Keep the rows of an earlier tree of the same recording where and as they were; new rows follow."""
        self._keep_places(self.root, before.root)

    def let_go(self) -> None:
        """Drop the rows' references to the tree, so that its capture is freed with it, not at a later collection."""
        self.index_late = None
        for row in self.root.walk():
            row.make_children = None

    def _keep_places(self, parent: TimelineRow, before: TimelineRow) -> None:
        places = {row.key: (index, row) for index, row in enumerate(before.children)}
        parent.children.sort(key=lambda row: places.get(row.key, (len(places), row))[0])
        for row in parent.children:
            if row.key in places:
                former = places[row.key][1]
                row.is_open = former.is_open
                self._keep_places(row, former)

    def get(self, key: str) -> TimelineRow | None:
        """The row of a key; children of streams are made on demand."""
        row = self._by_key.get(key)
        if row is None and "#" in key:
            owner = self._by_key.get(key.partition("#")[0])
            if owner is not None:
                self.open(owner)
                for folded in owner.children:
                    if key not in self._by_key and folded.content is Content.MORE:
                        self.open(folded)
                row = self._by_key.get(key)
        return row

    def open(self, row: TimelineRow) -> None:
        """Make a row's children, if they are made on demand."""
        if row.make_children is None:
            return
        if self.index_late is not None and self._is_late(row):
            if not row.children:
                waiting = TimelineRow(
                    key=f"{row.key}#waiting",
                    title=tr("indexing names…", "timeline"),
                    content=Content.MORE,
                    role="more",
                )
                self._adopt(row, [waiting])
                self.index_late(row)
            return
        make, row.make_children = row.make_children, None
        self._adopt(row, make())

    def _is_late(self, row: TimelineRow) -> bool:
        if row.role == PROJECTION:
            return not all(map(self.index.has_projected, row.streams))
        if row.role == JOINED:
            return row.count > INDEX_AT_ONCE and not self.index.has_joined(row.streams)
        return row.count > INDEX_AT_ONCE and not self.index.has(row.track)

    def index_names(self, row: TimelineRow, is_cancelled: Callable[[], bool] | None) -> None:
        """Compute what a row's children are made of; call it in a thread. Raises Cancelled."""
        if row.role == PROJECTION:
            for stream in row.streams:
                self.index.projected(stream, is_cancelled)
        elif row.role == JOINED:
            self.index.joined(row.streams, is_cancelled)
        else:
            self.index.groups(row.track, is_cancelled, NAME_ROWS)

    def row_of_event(self, event_row: int) -> TimelineRow | None:
        """The row that draws an event."""
        track = int(self.capture.track_of_row(event_row))
        return self.row_of_track(track)

    def row_of_track(self, track: int) -> TimelineRow | None:
        """The row of a track: its own, or the one it was merged into."""
        while track >= 0:
            found = self._by_key.get(self.capture.tracks[track].uri)
            if found is not None:
                return found
            track = self.capture.tracks[track].parent
        return None

    # building

    def _adopt(self, parent: TimelineRow, children: list[TimelineRow]) -> None:
        parent.children = children
        for child in children:
            child.parent = parent
            self._register(child)

    def _register(self, row: TimelineRow) -> None:
        self._by_key[row.key] = row
        for child in row.children:
            child.parent = row
            self._register(child)

    def _row(self, index: int) -> TimelineRow:
        capture = self.capture
        track = capture.tracks[index]
        role = role_of(track.role)
        lanes = tuple(capture.track_lanes(index))
        row = TimelineRow(
            key=track.uri,
            title=translated(track.title) or track.uri,
            content=Content.LANES if lanes else Content.CURVE,
            role=track.role,
            family=role.family,
            track=index,
            lanes=lanes,
            is_group=role.is_group or (not lanes and track.parent < 0 and track.role != "counter"),
            count=int(capture.lanes.count[list(lanes)].sum()) if lanes else 0,
        )
        children = self._children_of(track, row)
        counters = capture.counters_of_tracks.get(index, ())
        # Where the program's slices are known, a core without any must not show its system load instead.
        is_idle_core = track.role == "core" and "cpu_slice" in capture.kinds
        if len(counters) == 1 and not lanes and not children and not is_idle_core:
            row.content, row.counter, row.family = Content.COUNTER, counters[0].index, "kernel"
            row.is_utilization = tells_utilization(track.title)
        else:
            children += [
                TimelineRow(
                    key=f"{track.uri}#counter={counter.index}",
                    title=counter_title(capture, counter),
                    content=Content.COUNTER,
                    role="counter",
                    family="kernel",
                    track=index,
                    counter=counter.index,
                    is_utilization=tells_utilization(counter.name or track.title),
                )
                for counter in counters
            ]
        children = sort_children(capture, track, children)
        row.cores = sum(child.role == "core" for child in children)
        row.children = fold_counters(row, fold_idle(capture, row, children))
        row.count += sum(child.count for child in children)
        if not lanes and row.content is Content.CURVE:
            row.lanes = tuple(curve_lanes(row.role, children))
        if track.role == "stream" and lanes:
            row.make_children = lambda: self._stream_children(row)
        return row

    def _children_of(self, track: Track, row: TimelineRow) -> list[TimelineRow]:
        """Child rows of a track. A thread's state is drawn on the thread's row; a single context is skipped.

        A context without streams (a profiler's annotations) does not count as another one.
        """
        capture = self.capture
        children: list[TimelineRow] = []
        indexes = capture.children(track.index)
        contexts = [child for child in indexes if self._has_stream(child)]
        for child in indexes:
            role = capture.tracks[child].role
            if track.role == "thread" and role == "state" and not row.lanes:
                row.lanes = tuple(capture.track_lanes(child))
                row.content = Content.LANES if row.lanes else Content.CURVE
                row.count += int(capture.lanes.count[list(row.lanes)].sum()) if row.lanes else 0
                self._by_key[capture.tracks[child].uri] = row
            elif role == "context" and len(contexts) < 2 and not capture.track_lanes(child):
                children.extend(self._row(below) for below in capture.children(child))
            else:
                children.append(self._row(child))
        streams = [child for child in children if child.role == "stream"]
        if len(streams) > 1 and not any(child.role == JOINED for child in children):
            lanes = tuple(lane for stream in streams for lane in stream.lanes)
            everything = TimelineRow(
                key=f"{track.uri}#streams",
                title=tr("All streams", "timeline"),
                content=Content.CURVE,
                role=JOINED,
                family="kernel",
                track=track.index,
                lanes=lanes,
                is_open=False,
                streams=tuple(stream.track for stream in streams if stream.count),
                count=sum(stream.count for stream in streams),
            )
            everything.make_children = lambda: self._joined_rows(everything)
            children.insert(children.index(streams[0]), everything)
        felt = tuple(stream.track for stream in streams if stream.count)
        if felt and "range" in capture.kinds and LAUNCH in capture.links.kinds:
            children.append(self._projection(track, felt))
        return children

    def _joined_rows(self, row: TimelineRow) -> list[TimelineRow]:
        """One row with the events of all streams, on as many lines as run at once."""
        groups = self.index.joined(row.streams)
        if not groups:
            return []
        events = self._group_row(row, groups[0])
        events.title = tr("Kernels, copies and sets", "timeline")
        events.more_groups = tuple(groups[1:])
        events.count = row.count
        return [events]

    def _projection(self, track: Track, streams: tuple[int, ...]) -> TimelineRow:
        """Host ranges projected onto streams; computed when the row is expanded."""
        row = TimelineRow(
            key=f"{track.uri}#nvtx",
            title=tr("Ranges on the GPU", "timeline"),
            content=Content.MORE,
            role=PROJECTION,
            family="range",
            track=track.index,
            is_open=False,
            streams=streams,
        )
        row.make_children = lambda: self._projected_rows(row)
        return row

    def _projected_rows(self, row: TimelineRow) -> list[TimelineRow]:
        rows = []
        for stream in row.streams:
            title = translated(self.capture.tracks[stream].title)
            for depth, group in enumerate(self.index.projected(stream)):
                level = tr("level {number}", "timeline", number=depth + 1)
                rows.append(self._group_row(row, group))
                rows[-1].title = f"{title} · {level}" if depth else title
        nothing = tr("no range launched work here", "timeline")
        return rows or [
            TimelineRow(
                key=f"{row.key}=none",
                title=nothing,
                content=Content.MORE,
                role="none",
                family="range",
                track=row.track,
            )
        ]

    def _has_stream(self, track: int) -> bool:
        tracks = self.capture.tracks
        return any(tracks[child].role in {"stream", "streams"} for child in self.capture.children(track))

    def _stream_children(self, stream: TimelineRow) -> list[TimelineRow]:
        kernels, copies = self.index.groups(stream.track)
        least_ns = LEAST_SHARE * sum(group.total_ns for group in kernels)
        notable = sum(group.total_ns >= least_ns for group in kernels[:NAME_ROWS])
        shown = kernels if len(kernels) <= notable + 2 else kernels[:notable]
        rows = [self._group_row(stream, group) for group in shown]
        rest = kernels[len(shown) :]
        if rest:
            more = TimelineRow(
                key=f"{stream.key}#more=names",
                title=tr_n("{count} more kernel…", "{count} more kernels…", len(rest), "timeline"),
                content=Content.MORE,
                role="more",
                family="kernel",
                track=stream.track,
                is_open=False,
            )
            more.make_children = lambda: [self._group_row(stream, group) for group in rest]
            rows.append(more)
        return rows + [self._group_row(stream, group) for group in copies]

    @staticmethod
    def _group_row(stream: TimelineRow, group: NameGroup) -> TimelineRow:
        return TimelineRow(
            key=f"{stream.key}#{group.key}",
            title=group.title,
            content=Content.SUBSET,
            role="names",
            family=group.family,
            track=stream.track,
            group=group,
            count=group.count,
        )

    # what is shown

    def visible(
        self,
        is_open: Callable[[TimelineRow], bool],
        order: Callable[[TimelineRow], list[TimelineRow]],
        is_hidden: Callable[[TimelineRow], bool],
        keep: Callable[[TimelineRow], bool] | None = None,
    ) -> list[tuple[TimelineRow, int]]:
        """Rows from top to bottom with their indentation.

        With ``keep``, only the rows it accepts, their ancestors and descendants, even if collapsed.
        """
        # No nested function here: a recursive one is a reference cycle, which would keep the tree in memory.
        visible = _Visible(self.open, is_open, order, is_hidden, keep)
        for row in order(self.root):
            visible.add(row, 0, kept_above=False)
        return visible.rows


@dataclass
class _Visible:
    open: Callable[[TimelineRow], object]
    is_open: Callable[[TimelineRow], bool]
    order: Callable[[TimelineRow], list[TimelineRow]]
    is_hidden: Callable[[TimelineRow], bool]
    keep: Callable[[TimelineRow], bool] | None
    rows: list[tuple[TimelineRow, int]] = field(default_factory=list)

    def add(self, row: TimelineRow, depth: int, *, kept_above: bool) -> bool:
        """Add a row and those below it; returns whether it stays."""
        if self.is_hidden(row):
            return False
        place, keep = len(self.rows), self.keep
        self.rows.append((row, depth))
        kept = kept_above or keep is None or keep(row)
        below = False
        if self.is_open(row) or (keep is not None and not kept):
            if self.is_open(row):
                self.open(row)
            for child in self.order(row):
                below = self.add(child, depth + 1, kept_above=kept and keep is not None) or below
        if not kept and not below:
            del self.rows[place:]
            return False
        return True


def title_matcher(pattern: str, *, regex: bool, case: bool) -> Callable[[str], bool]:
    """A test of titles. An invalid regular expression is taken literally while it is being typed."""
    if regex:
        try:
            search = re.compile(pattern, 0 if case else re.IGNORECASE).search
            return lambda text: search(text) is not None
        except re.error:
            pass
    if case:
        return lambda text: pattern in text
    folded = pattern.casefold()
    return lambda text: folded in text.casefold()
