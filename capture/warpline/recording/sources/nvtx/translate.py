"""Turns NVTX records of the agent into ranges and marks, on a track for each thread and domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import Flag
from warpline.model.torch_names import range_attributes, torch_names
from warpline.model.track_factory import thread_title
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.session import LATEST_NS
from warpline.recording.sources.nvtx import records
from warpline.recording.sources.nvtx.pairing import (
    match_push_pop,
    match_start_end,
    push_pop_records,
    push_pop_serials,
)
from warpline.recording.spool.columns import take
from warpline.recording.spool.reader import Records, SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import distinct, take_records
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer[Any]]

STEP_CATEGORY = "ProfileStep"
UNKNOWN_NAME = "(began before the recording)"
_PAYLOADS = {1: np.uint64, 2: np.int64, 3: np.float64, 4: np.uint32, 5: np.int32, 6: np.float32}


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add the ranges, marks and thread names that programs set through NVTX or ``warpline.annotate``."""
    for spool in spools:
        if spool.header.producer == "agent":
            _Process(translation, spool, builder).translate()
    add_agent_source(
        translation,
        spools,
        builder,
        name="nvtx",
        never_used=english("no recorded process made an NVTX call or used warpline.annotate"),
    )


def processes_with_steps(spools: Sequence[SpoolFile]) -> frozenset[int]:
    """Ids of the processes that marked steps, by the category of ``warpline.Profiler``."""
    pids: set[int] = set()
    for spool in spools:
        categories = spool.records(records.NVTX_CATEGORY, records.nvtx_category).values
        numbers = [row["category"] for row in categories if spool.text(int(row["name"])) == STEP_CATEGORY]
        started = spool.records(records.NVTX_START, records.nvtx_start).values
        if numbers and np.isin(started["category"], numbers).any():
            pids.add(spool.header.pid)
    return frozenset(pids)


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """Ranges of one process as columns [n]; ``thread`` are indexes of ``translation.threads``."""

    thread: Int64Array
    domain: Integers
    start_ns: Int64Array
    stop_ns: Int64Array
    name: Int64Array
    flags: npt.NDArray[np.uint8]
    attributes: npt.NDArray[np.void]
    """Records with attributes; ``row`` is the index of each range's record, −1 for none."""
    row: Int64Array
    end_thread: Int64Array | None = None

    def take(self, rows: Int64Array) -> _Batch:
        """Some of the ranges, in the order of ``rows``."""
        return _Batch(
            thread=self.thread[rows],
            domain=self.domain[rows],
            start_ns=self.start_ns[rows],
            stop_ns=self.stop_ns[rows],
            name=self.name[rows],
            flags=self.flags[rows],
            attributes=self.attributes,
            row=self.row[rows],
            end_thread=None if self.end_thread is None else self.end_thread[rows],
        )


class _Process:
    """One process's spool file."""

    def __init__(self, translation: Translation, spool: SpoolFile, builder: CaptureBuilder) -> None:
        self._translation = translation
        self._spool = spool
        self._builder = builder
        self._pid = spool.header.pid
        domains = spool.records(records.NVTX_DOMAIN, records.nvtx_domain).values
        self._domains = {
            int(domain): spool.text(name) for domain, name in domains[["domain", "name"]].tolist()
        }
        categories = spool.records(records.NVTX_CATEGORY, records.nvtx_category).values
        self._categories = {
            (int(domain), int(category)): spool.text(name)
            for domain, category, name in categories[["domain", "category", "name"]].tolist()
        }

    def translate(self) -> None:
        self._thread_names()
        # Thread by thread, to use little memory.
        for serial in push_pop_serials(self._spool):
            self._add(self._push_pop(serial))
        self._add(self._started(), started=True)
        self._add(self._marks())

    def _thread_names(self) -> None:
        named = self._spool.records(records.NVTX_THREAD_NAME, records.nvtx_thread_name).values
        if self._translation.session.is_cut:
            # Names of threads that ended before the ring are left over.
            named = named[np.isin(named["tid"], self._translation.threads.thread_ids)]
        for tid, name in named[["tid", "name"]].tolist():
            thread = int(self._translation.threads.lookup(self._pid, tid, self._spool.header.monotonic_ns)[0])
            text = self._spool.text(name)
            index = self._translation.thread_index(thread)
            self._builder.update_thread(index, name=text)
            self._builder.update_track(self._translation.thread_track(thread), title=thread_title(text, tid))

    def _push_pop(self, serial: int) -> _Batch:
        translation = self._translation
        resumes = translation.pauses[:, 1] + translation.start_ns
        since = max(translation.start_ns, self._spool.header.monotonic_ns)
        pushes_and_pops = push_pop_records(self._spool, serial)
        ranges = match_push_pop(pushes_and_pops, since, translation.stop_ns, resumes)
        self._builder.add_skipped(english("NVTX pops"), ranges.unbalanced, english("they had no push"))
        rich = self._spool.records(
            records.NVTX_RANGE_ATTRIBUTES, records.nvtx_range_attributes, free=serial
        ).values
        threads = translation.threads.lookup(self._pid, ranges.tid[:1], ranges.start_ns)
        stop_ns = self._before_death(threads, ranges.start_ns, ranges.stop_ns, ranges.flags)
        name = ranges.name
        name[np.flatnonzero(ranges.flags & Flag.CUT_START)] = -1
        return self._inside_ring(
            _Batch(
                thread=threads,
                domain=ranges.domain,
                start_ns=ranges.start_ns,
                stop_ns=stop_ns,
                name=name,
                flags=ranges.flags,
                attributes=rich,
                row=ranges.attributes,
            )
        )

    def _before_death(
        self, threads: Int64Array, start_ns: Int64Array, stop_ns: Int64Array, flags: npt.NDArray[np.uint8]
    ) -> Int64Array:
        """Stops of ranges, where unfinished ranges end with their thread."""
        lives = self._translation.threads.threads
        result = stop_ns.copy()
        for row in np.flatnonzero(flags & Flag.CUT_END).tolist():
            death = lives[int(threads[row])].death_ns
            if death is not None:
                result[row] = max(int(start_ns[row]), min(int(result[row]), death))
        return result

    def _started(self) -> _Batch:
        starts = _with_valid_times(self._spool.records(records.NVTX_START, records.nvtx_start))
        ends = _with_valid_times(self._spool.records(records.NVTX_END, records.nvtx_end))
        matched = match_start_end(starts.values, ends.values, ends.tid, self._translation.stop_ns)
        self._builder.add_skipped(
            english("NVTX range ends"),
            matched.unmatched_ends,
            english("their start was not recorded in this process"),
        )
        lookup = self._translation.threads.lookup
        end_thread = np.where(matched.end_tid >= 0, matched.end_tid, starts.tid)
        return self._inside_ring(
            _Batch(
                thread=lookup(self._pid, starts.tid, matched.start_ns),
                domain=starts.values["domain"],
                start_ns=matched.start_ns,
                stop_ns=matched.stop_ns,
                name=starts.values["name"].astype(np.int64),
                flags=matched.flags,
                attributes=starts.values,
                row=matched.row,
                end_thread=self._thread_numbers(lookup(self._pid, end_thread, matched.stop_ns)),
            )
        )

    def _inside_ring(self, batch: _Batch) -> _Batch:
        """Drop ranges that ended before the ring; those that cross its start are cut and flagged."""
        start_ns = self._translation.start_ns
        if not self._translation.session.is_cut or not (batch.start_ns < start_ns).any():
            return batch
        kept = batch.take(np.flatnonzero(batch.stop_ns >= start_ns))
        is_early = kept.start_ns < start_ns
        return replace(
            kept,
            start_ns=np.maximum(kept.start_ns, start_ns),
            flags=kept.flags | np.where(is_early, Flag.CUT_START, 0).astype(np.uint8),
        )

    def _thread_numbers(self, threads: Int64Array) -> Int64Array:
        """The capture's thread indexes."""
        present, inverse = np.unique(threads, return_inverse=True)
        numbers = np.array([self._translation.thread_index(thread) for thread in present.tolist()], np.int64)
        return numbers[inverse] if len(present) else np.empty(0, np.int64)

    def _marks(self) -> _Batch:
        marks = _with_valid_times(self._spool.records(records.NVTX_MARK, records.nvtx_range_attributes))
        time_ns = marks.values["time_ns"].astype(np.int64)
        return _Batch(
            thread=self._translation.threads.lookup(self._pid, marks.tid, time_ns),
            domain=marks.values["domain"],
            start_ns=time_ns,
            stop_ns=time_ns,
            name=marks.values["name"].astype(np.int64),
            flags=np.full(len(time_ns), Flag.INSTANT, np.uint8),
            attributes=marks.values,
            row=np.arange(len(time_ns)),
        )

    def _add(self, batch: _Batch, *, started: bool = False) -> None:
        if not len(batch.thread):
            return
        code = (batch.thread << 16) | batch.domain
        is_single = bool((code == code[0]).all())
        codes, group = (code[:1], code) if is_single else distinct(code)
        for number, track_code in enumerate(codes.tolist()):
            thread, domain = track_code >> 16, track_code & 0xFFFF
            part = batch if is_single else batch.take(np.flatnonzero(group == number))
            text = self._domains.get(domain, "") if domain else ""
            translation = self._translation
            track = translation.thread_child(
                thread,
                translation.tracks.thread_ranges(
                    translation.thread_uri(thread), text, number=domain, started=started
                ),
            )
            names, operator_attributes = self._names(part.name)
            self._builder.add_events(
                track,
                "range",
                self._translation.capture_time(part.start_ns),
                part.stop_ns - part.start_ns,
                names,
                flags=part.flags,
                attributes={**self._attributes(part, domain, text), **operator_attributes},
            )

    def _names(self, names: Int64Array) -> tuple[npt.NDArray[np.uint32], dict[str, npt.ArrayLike]]:
        """String ids of the capture, and the attributes that PyTorch appends to names of operators."""
        unknown = names < 0
        numbers, inverse = distinct(np.maximum(names, 0) if unknown.any() else names)
        texts = torch_names(map(self._spool.text, numbers.tolist()))
        ids = self._builder.strings(texts.names)[inverse]
        if unknown.any():
            ids[unknown] = self._builder.string(UNKNOWN_NAME)
        if not (texts.sequence >= 0).any() and not (texts.call >= 0).any() and not any(texts.sizes):
            return ids, {}
        sizes = self._builder.strings(texts.sizes)[inverse]
        return ids, {**range_attributes(texts.sequence[inverse], texts.call[inverse], sizes)}

    def _attributes(self, part: _Batch, domain: int, text: str) -> dict[str, npt.ArrayLike]:
        result: dict[str, npt.ArrayLike] = {}
        if text:
            result["domain"] = self._builder.string(text)
        if part.end_thread is not None:
            result["end_thread"] = part.end_thread
        if not len(part.attributes) or not (part.row >= 0).any():
            return result
        has = part.row >= 0
        values = take_records(part.attributes, part.row if has.all() else np.maximum(part.row, 0))
        has_color = has & (values["flags"] & records.HAS_COLOR != 0)
        if has_color.any():
            result["color_argb"] = np.ma.MaskedArray(values["color_argb"], ~has_color)
        has_category = has & (values["flags"] & records.HAS_CATEGORY != 0)
        if has_category.any():
            numbers, inverse = distinct(values["category"])
            texts = [self._categories.get((domain, int(number)), str(number)) for number in numbers.tolist()]
            result["category"] = np.ma.MaskedArray(self._builder.strings(texts)[inverse], ~has_category)
        has_payload = has & (values["payload_type"] != 0)
        if has_payload.any():
            result["payload"] = np.ma.MaskedArray(self._payloads(values, has_payload), ~has_payload)
        return result

    def _payloads(self, values: npt.NDArray[np.void], has: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
        result = np.zeros(len(values), np.uint32)
        for code in np.unique(values["payload_type"][has]).tolist():
            rows = np.flatnonzero(has & (values["payload_type"] == code))
            raw = np.ascontiguousarray(values["payload"][rows])
            dtype = np.dtype(_PAYLOADS.get(code, np.uint64))
            decoded = raw.view(dtype)[:: 8 // dtype.itemsize]
            is_small = dtype.kind in "iu" and decoded.min() >= 0
            payloads, inverse = distinct(decoded) if is_small else np.unique(decoded, return_inverse=True)
            result[rows] = self._builder.strings(map(str, payloads.tolist()))[inverse]
        return result


def _with_valid_times(table: Records) -> Records:
    """Drop the records with invalid times, from a damaged file."""
    time_ns = table.values["time_ns"]
    good = (time_ns > 0) & (time_ns < LATEST_NS)
    return table if good.all() else take(table, good)
