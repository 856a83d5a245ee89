"""Adds what ROCm's profilers recorded to a capture: kernels, copies, calls of HIP and HSA, markers, allocations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import (
    MAX_TIME_NS,
    MaskedColumn,
    clean_text,
    distinct_rows,
    integers,
    scalar_text,
)
from warpline.interchange.framework.copies import copy_codes
from warpline.interchange.framework.event_sink import EventSink, Int64Array
from warpline.model import AttributeSpec, KindSpec, links
from warpline.recording.symbols.demangle import demangle

Numbers = Sequence[Any]
_PAYLOAD = AttributeSpec("payload", "string", "Payload")
_AXES = ("x", "y", "z")
_MARKER = re.compile(r"marker|roctx", re.IGNORECASE)


class RocmWork:
    """The target of one file. Columns are lists of equal length; None is an unknown number."""

    def __init__(self, sink: EventSink) -> None:
        self.sink = sink
        self._builder = sink.builder
        for kind, category in (("kernel", "gpu"), ("memcpy", "gpu"), ("memset", "gpu"), ("cuda_api", "api")):
            self._builder.add_kind(KindSpec(kind, "", category, kind, (_PAYLOAD,)))

    def names(self, texts: Sequence[Any]) -> npt.NDArray[np.uint32]:
        """String ids of names."""
        return self._builder.strings([_readable(clean_text(scalar_text(text))) for text in texts])

    def optional(self, texts: Sequence[Any]) -> Any:
        """String ids with empty texts masked."""
        ids = self.names(texts)
        return np.ma.MaskedArray(ids, ids == 0)

    def add_calls(
        self, pids: Numbers, tids: Numbers, start: Numbers, stop: Numbers, names: Sequence[Any],
        keys: Numbers, categories: Sequence[Any], payloads: Sequence[Any],
    ) -> None:  # fmt: skip
        """Add calls and markers of threads. ``keys`` identify the calls: GPU work refers to its call by key."""
        categories = [scalar_text(category) for category in categories]
        is_marker = np.array([_MARKER.search(category) is not None for category in categories], bool)
        threads = [
            self.sink.thread(pid, tid, is_first=pid == tid)
            for pid, tid in zip(_ids(pids), _ids(tids), strict=True)
        ]
        ids = np.full(len(threads), -1, np.int64)
        strings, correlation = self.names(names), integers(keys)
        begins, ends = _times(start), _times(stop)
        for marker, path, kind in ((False, "api", "cuda_api"), (True, "ranges", "range")):
            index = np.flatnonzero(is_marker == marker)
            if not len(index):
                continue
            title = "" if marker else english("HIP API")
            tracks = np.array(
                [self.sink.thread_track(threads[row], path, title) for row in index.tolist()], np.int64
            )
            attributes: dict[str, Any] = {"payload": self.optional([payloads[row] for row in index.tolist()])}
            if marker:
                attributes["category"] = self.optional([categories[row] for row in index.tolist()])
            else:
                attributes["correlation"] = correlation[index]
            ids[index] = self.sink.add(
                tracks, kind, begins[index], ends[index], strings[index], attributes=attributes
            )
        calls = ~is_marker
        self.sink.link(links.LAUNCH, "from", correlation[calls], ids[calls])

    def add_work(
        self, kind: str, pids: Numbers, gpus: Numbers, streams: Numbers, start: Numbers, stop: Numbers,
        names: Sequence[Any], keys: Numbers, attributes: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """Kernels, copies and fills (``memset``) of streams; ``keys`` name the calls that launched them."""
        rows, codes = distinct_rows(*(np.array(_ids(column), np.int64) for column in (pids, gpus, streams)))
        tracks = [
            self.sink.stream(max(gpu, 0), self.sink.process(pid), stream if stream >= 0 else None)
            for pid, gpu, stream in rows
        ]
        correlation = integers(keys)
        columns: dict[str, Any] = {"correlation": correlation, **attributes}
        if kind == "memcpy":
            columns["copy_kind"] = np.array([copy_codes(scalar_text(name))[0] for name in names], np.uint8)
        ids = self.sink.add(
            np.array(tracks, np.int64)[codes],
            kind,
            _times(start),
            _times(stop),
            self.names(names),
            attributes=columns,
        )
        self.sink.link(links.LAUNCH, "to", correlation, ids)

    def add_allocations(
        self, pids: Numbers, tids: Numbers, start: Numbers, names: Sequence[Any], *,
        is_release: Sequence[bool], address: Numbers, size: Numbers, device: Sequence[Any],
    ) -> None:  # fmt: skip
        """Allocations and releases of threads."""
        threads = [self.sink.thread(pid, tid) for pid, tid in zip(_ids(pids), _ids(tids), strict=True)]
        self.sink.add(
            np.array([self.sink.thread_track(thread, "memory") for thread in threads], np.int64),
            "memory",
            _times(start),
            None,
            self.names(names),
            attributes={
                "operation": np.array(is_release, np.uint8),
                "address": unsigned(address),
                "bytes": integers(size),
                "device": self.optional(device),
            },
        )


def unsigned(values: Numbers) -> MaskedColumn:
    """int64 with negative numbers masked."""
    column = integers(values)
    return np.ma.MaskedArray(np.ma.getdata(column), np.ma.getmaskarray(column) | (np.ma.getdata(column) < 0))


def uint32(values: Numbers) -> MaskedColumn:
    """As `unsigned`, with numbers beyond 32 bits masked."""
    column = unsigned(values)
    return np.ma.MaskedArray(
        np.ma.getdata(column), np.ma.getmaskarray(column) | (np.ma.getdata(column) >= 1 << 32)
    )


def launch_shape(
    grid: Sequence[Numbers], block: Sequence[Numbers], *, in_threads: Sequence[bool]
) -> dict[str, Any]:
    """Attributes of the size of a launch; a grid counted in threads (HSA) becomes blocks."""
    result: dict[str, Any] = {}
    for axis, sizes, threads in zip(_AXES, grid, block, strict=True):
        grids, blocks = uint32(sizes), uint32(threads)
        per_block = np.where(np.array(in_threads, bool), np.maximum(np.ma.getdata(blocks), 1), 1)
        count = -(-np.ma.getdata(grids) // per_block)
        result[f"grid_{axis}"] = np.ma.MaskedArray(count, np.ma.getmaskarray(grids))
        result[f"block_{axis}"] = blocks
    return result


def _ids(values: Numbers) -> list[int]:
    """Numbers of processes, threads, GPUs and streams; -1 for unknown ones."""
    return [value if type(value) is int and abs(value) < 1 << 53 else -1 for value in values]


def _times(values: Numbers) -> Int64Array:
    column = integers(values)
    return np.where(np.ma.getmaskarray(column), 2 * MAX_TIME_NS - 1, np.ma.getdata(column))


def _readable(name: str) -> str:
    """The readable name of a kernel: older tools write its mangled symbol, with the suffix of its descriptor."""
    return demangle(name.removesuffix(".kd")) if name.startswith("_Z") else name
