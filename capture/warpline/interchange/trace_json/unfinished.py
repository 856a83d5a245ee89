"""Collects what needs the whole trace: B/E pairs, asynchronous events, flows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, forms
from warpline.interchange.framework.columns import Coder
from warpline.interchange.framework.pairing import FlowLinks, SliceIndex, match_borders, match_flows
from warpline.interchange.trace_json.piece_columns import Group, ThreadKey
from warpline.interchange.trace_json.tracks import ThreadEntry, TraceTracks
from warpline.model import Flag

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Notes = Counter[tuple[str, str]]
"""Irregularities and their counts; each text has a field ``{count}``."""


class SliceRegistry:
    """The events of each thread, for flows that bind to them, and the last time of each thread."""

    def __init__(self) -> None:
        self._parts: defaultdict[int, list[tuple[Int64Array, Int64Array, Int64Array]]] = defaultdict(list)
        self._reach: dict[int, int] = {}

    def add(self, thread: int, start: Int64Array, stop: Int64Array, ids: Int64Array) -> None:
        """Register events of a thread (its index in the capture)."""
        self._parts[thread].append((start, stop, ids))
        self.reach(thread, int(stop.max()))

    def reach(self, thread: int, time_ns: int) -> None:
        """Note that the thread was active at this time."""
        self._reach[thread] = max(self._reach.get(thread, time_ns), time_ns)

    def last_ns(self, thread: int) -> int:
        """The last known time of a thread."""
        return self._reach[thread]

    def index(self, thread: int) -> SliceIndex:
        """An index of the thread's events."""
        parts = self._parts.get(thread)
        if not parts:
            empty = np.empty(0, np.int64)
            return SliceIndex.of(empty, empty, empty)
        start, stop, ids = (np.concatenate(column) for column in zip(*parts, strict=True))
        return SliceIndex.of(start, stop, ids)


class PendingBorders:
    """Begins and ends (B, E) of all threads."""

    def __init__(self) -> None:
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []
        self._threads: dict[int, ThreadEntry] = {}

    def add(
        self, group: Group, threads: Mapping[int, ThreadEntry], builder: CaptureBuilder, slices: SliceRegistry
    ) -> None:
        """Keep the borders of a group; ``threads`` maps codes to threads."""
        indexes = np.full(len(group.threads), -1)
        last = np.full(len(group.threads), np.iinfo(np.int64).min)
        np.maximum.at(last, group.thread, group.start)
        for code, thread in threads.items():
            indexes[code] = thread.index
            self._threads[thread.index] = thread
            slices.reach(thread.index, int(last[code]))
        payload = group.texts["payload"]
        self._parts.append(
            (
                indexes[group.thread],
                group.start,
                group.of_phase("B"),
                builder.strings(group.name.table)[group.name.codes],
                builder.strings(group.category.table)[group.category.codes],
                builder.strings(payload.table)[payload.codes],
            )
        )

    def finish(self, builder: CaptureBuilder, tracks: TraceTracks, slices: SliceRegistry) -> Notes:
        """Add the pairs as ranges."""
        notes: Notes = Counter()
        if not self._parts:
            return notes
        thread, time, begin, name, category, payload = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        self._parts.clear()
        end_name = np.where(~begin & (name == 0), -1, name.astype(np.int64))
        pairs = match_borders(thread, time, begin, end_name)
        order = np.argsort(thread[pairs.begin], kind="stable")
        opens, closes = pairs.begin[order], pairs.end[order]
        unclosed = closes < 0
        if len(opens):
            # One batch, as in `TraceTarget.add_slices`.
            threads, counts = np.unique(thread[opens], return_counts=True)
            until = np.repeat([slices.last_ns(index) for index in threads.tolist()], counts)
            start = time[opens]
            stop = np.where(unclosed, until, time[np.maximum(closes, 0)])
            texts = _merged(builder, payload[opens], np.where(unclosed, 0, payload[np.maximum(closes, 0)]))
            rows = [tracks.sub_track(self._threads[index], "ranges") for index in threads.tolist()]
            id_of_first = builder.add_events(
                np.repeat(rows, counts),
                "range",
                start,
                stop - start,
                name[opens],
                flags=np.where(unclosed, np.uint8(Flag.CUT_END), np.uint8(0)).astype(np.uint8),
                attributes={
                    "category": np.ma.MaskedArray(category[opens], category[opens] == 0),
                    "payload": np.ma.MaskedArray(texts, texts == 0),
                },
            )
            ids, at = np.arange(id_of_first, id_of_first + len(start)), 0
            for index, count in zip(threads.tolist(), counts.tolist(), strict=True):
                part = slice(at, at + count)
                slices.add(index, start[part], stop[part], ids[part])
                at += count
        open_until_the_end = forms(
            "{count:,} event has no end (B without E); it is drawn until the end of its thread",
            "{count:,} events have no end (B without E); they are drawn until the end of their thread",
        )
        notes[open_until_the_end] += int(unclosed.sum())
        builder.add_skipped(
            english("ends of events (E)"), pairs.lone_ends, english("no event was open on the thread")
        )
        other_name = forms(
            "{count:,} end has another name than the event it closes",
            "{count:,} ends have other names than the events they close",
        )
        notes[other_name] += pairs.renamed
        return notes


def _merged(
    builder: CaptureBuilder, begins: npt.NDArray[np.uint32], ends: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    """Merges the arguments of begins and ends (string ids, 0 for none) into one object each."""
    both = begins.astype(np.int64) << 32 | ends
    distinct, codes = np.unique(both, return_inverse=True)
    texts = [_merged_text(builder, pair >> 32, pair & 0xFFFFFFFF) for pair in distinct.tolist()]
    return np.array(texts, np.uint32)[codes]


def _merged_text(builder: CaptureBuilder, begin: int, end: int) -> int:
    if not begin or not end or begin == end:
        return begin or end
    first, second = builder.text(begin), builder.text(end)
    if first.endswith("}") and second.startswith("{"):
        return builder.string(first[:-1].rstrip() + ", " + second[1:].lstrip())
    return begin


class PendingAsync:
    """Asynchronous events: nestable (b, n, e) and legacy (S, T, p, F)."""

    def __init__(self) -> None:
        self._keys = Coder()
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []
        self._places = Coder()

    def add(self, group: Group, builder: CaptureBuilder) -> None:
        """Keep a group of asynchronous events."""
        assert group.phases is not None, "a group of several phases"
        phases = [group.phases.table[code] for code in group.phases.codes.tolist()]
        names = [group.name.table[code] for code in group.name.codes.tolist()]
        categories = [group.category.table[code] for code in group.category.codes.tolist()]
        # Legacy events match by category, name and id; nestable ones by category and id.
        keys = [
            (category, name if phase in "STpF" else None, identity)
            for phase, name, category, identity in zip(phases, names, categories, group.ids, strict=True)
        ]
        places = [
            (group.threads[code], category)
            for code, category in zip(group.thread.tolist(), categories, strict=True)
        ]
        n = len(group)
        self._parts.append(
            (
                np.fromiter(map(self._keys.__getitem__, keys), np.int64, n),
                group.start,
                np.where(group.of_phase("bS"), 0, np.where(group.of_phase("eF"), 1, 2)),
                builder.strings(group.name.table)[group.name.codes],
                builder.strings(group.texts["payload"].table)[group.texts["payload"].codes],
                np.fromiter(map(self._places.__getitem__, places), np.int64, n),
            )
        )

    def finish(self, builder: CaptureBuilder, tracks: TraceTracks) -> Notes:
        """Add pairs, steps and instants as ranges, on a track per process and category."""
        notes: Notes = Counter()
        if not self._parts:
            return notes
        key, time, phase, name, payload, place = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        self._parts.clear()
        borders = np.flatnonzero(phase < 2)
        names = name[borders].astype(np.int64)
        names[(names == 0) & (phase[borders] == 1)] = -1
        pairs = match_borders(key[borders], time[borders], phase[borders] == 0, names, strict=True)
        opens = borders[pairs.begin]
        closes = np.where(pairs.end >= 0, borders[np.maximum(pairs.end, 0)], -1)
        unclosed = closes < 0
        last_of_key = np.full(len(self._keys), np.iinfo(np.int64).min)
        np.maximum.at(last_of_key, key, time)
        stop = np.where(unclosed, last_of_key[key[opens]], time[np.maximum(closes, 0)])
        payload[opens] = _merged(
            builder, payload[opens], np.where(unclosed, 0, payload[np.maximum(closes, 0)])
        )
        moments = np.flatnonzero(phase == 2)
        rows = np.r_[opens, moments]
        durations = np.r_[stop - time[opens], np.zeros(len(moments), np.int64)]
        flags = np.r_[
            np.where(unclosed, int(Flag.CUT_END), 0), np.full(len(moments), int(Flag.INSTANT), np.int64)
        ].astype(np.uint8)
        for number, ((thread_key, _tid), category) in enumerate(self._places):
            part = np.flatnonzero(place[rows] == number)
            if not len(part):
                continue
            process = tracks.process(thread_key)
            track = tracks.add_track(tracks.specs.process_async(process.uri, category), process=process)
            chosen = rows[part]
            category_id = builder.string(category)
            builder.add_events(
                track,
                "range",
                time[chosen],
                durations[part],
                name[chosen],
                flags=flags[part],
                attributes={
                    "category": np.ma.MaskedArray(
                        np.full(len(chosen), category_id, np.uint32), np.full(len(chosen), category_id == 0)
                    ),
                    "payload": np.ma.MaskedArray(payload[chosen], payload[chosen] == 0),
                },
            )
        open_until_the_last = forms(
            "{count:,} asynchronous event has no end; it is drawn until the last event with its id",
            "{count:,} asynchronous events have no end; they are drawn until the last event with their id",
        )
        notes[open_until_the_last] += int(unclosed.sum())
        builder.add_skipped(
            english("ends of asynchronous events (e, F)"),
            pairs.lone_ends,
            english("no begin with the same id, category and name"),
        )
        return notes


class PendingFlows:
    """Flow points (s, t, f) of all threads."""

    def __init__(self) -> None:
        self._keys = Coder()
        self._threads = Coder()
        self._parts: list[tuple[Int64Array, ...]] = []
        self._with_arguments = 0

    def add(self, group: Group) -> None:
        """Keep a group of flow points."""
        has_arguments = np.array([text != "" for text in group.texts["payload"].table], bool)
        self._with_arguments += int(has_arguments[group.texts["payload"].codes].sum())
        names = [group.name.table[code] for code in group.name.codes.tolist()]
        categories = [group.category.table[code] for code in group.category.codes.tolist()]
        keys = list(zip(categories, names, group.ids, strict=True))
        n = len(group)
        codes = np.fromiter(map(self._keys.__getitem__, keys), np.int64, n)
        phases = np.where(group.of_phase("s"), 0, np.where(group.of_phase("t"), 1, 2))
        table = np.fromiter(map(self._threads.__getitem__, group.threads), np.int64, len(group.threads))
        bind = np.array([text == "e" for text in group.texts["bind"].table])[group.texts["bind"].codes]
        # An end binds to the next event, or with bp: "e" to the event around it.
        self._parts.append(
            (codes, group.start, phases, ((phases < 2) | bind).astype(np.int64), table[group.thread])
        )

    def finish(
        self,
        builder: CaptureBuilder,
        slices: SliceRegistry,
        link_kind: Callable[[str], str],
        row_of: Callable[[ThreadKey], int],
        wanted: Callable[[ThreadKey, ThreadKey], bool] | None = None,
    ) -> Notes:
        """Add links between the events of the points; ``row_of`` gives a thread's number in the registry.

        ``wanted`` selects links by thread (from, to); the others are dropped without a note.
        """
        notes: Notes = Counter()
        if not self._parts:
            return notes
        key, time, phase, inside, thread = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        self._parts.clear()
        kinds = [link_kind(category) for category, _name, _identity in self._keys]
        has_kind = np.array([kind != "" for kind in kinds])[key]
        key, time, phase, inside, thread = (column[has_kind] for column in (key, time, phase, inside, thread))
        links: FlowLinks = match_flows(key, time, phase.astype(np.uint8))
        if wanted is not None:
            links = _between(links, thread, list(self._threads), wanted)
        if not len(key) or (wanted is not None and not len(links.source)):
            return notes
        events = self._events(time, inside, thread, slices, row_of)
        source, target = events[links.source], events[links.target]
        usable = (source >= 0) & (target >= 0) & (source != target)
        kind_of = np.array(kinds)[key[links.source]]
        for kind in dict.fromkeys(kinds):
            chosen = usable & (kind_of == kind)
            if kind and chosen.any():
                builder.add_links(kind, source[chosen], target[chosen])
        ends_early = forms(
            "{count:,} arrow ends before it starts, because the clocks of host and device differ",
            "{count:,} arrows end before they start, because the clocks of host and device differ",
        )
        notes[ends_early] += links.backward
        if wanted is None:
            self._count_losses(builder, links.loose, int((~usable).sum()))
        return notes

    def _events(
        self,
        time: Int64Array,
        inside: Int64Array,
        thread: Int64Array,
        slices: SliceRegistry,
        row_of: Callable[[ThreadKey], int],
    ) -> Int64Array:
        """The event of each point, around it or next to it; -1 for none."""
        events = np.full(len(time), -1, np.int64)
        keys = list(self._threads)
        for code in np.unique(thread).tolist():
            part = np.flatnonzero(thread == code)
            lookup = slices.index(row_of(keys[code]))
            within = lookup.enclosing(time[part])
            after = lookup.following(time[part])
            prefer_within = inside[part] == 1
            first = np.where(prefer_within, within, after)
            events[part] = np.where(first >= 0, first, np.where(prefer_within, after, within))
        return events

    def _count_losses(self, builder: CaptureBuilder, loose: int, unusable: int) -> None:
        builder.add_skipped(
            english("arguments of flow points (s, t, f)"),
            self._with_arguments,
            english("arrows have no arguments"),
        )
        builder.add_skipped(
            english("flow points (s, t, f)"), loose, english("no other point has the same id")
        )
        builder.add_skipped(
            english("flows"), unusable, english("one end is on no event, or both ends are on the same event")
        )


def _between(
    links: FlowLinks,
    thread: Int64Array,
    keys: list[ThreadKey],
    wanted: Callable[[ThreadKey, ThreadKey], bool],
) -> FlowLinks:
    pairs = thread[links.source] * len(keys) + thread[links.target]
    distinct, codes = np.unique(pairs, return_inverse=True)
    chosen = np.array(
        [wanted(keys[pair // len(keys)], keys[pair % len(keys)]) for pair in distinct.tolist()], bool
    )[codes.reshape(-1)]
    return FlowLinks(links.source[chosen], links.target[chosen], links.loose, 0)
