"""Importer for memory snapshots of PyTorch (``torch.cuda.memory._dump_snapshot``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import Int64Array, clean_text
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.pairing import match_borders
from warpline.interchange.framework.stack_tables import StackChains, stack_column
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.interchange.torch_memory.plain_pickle import PickleError, PlainPickle
from warpline.interchange.torch_memory.snapshot import (
    ALLOC,
    FREE,
    OUT_OF_MEMORY,
    REQUESTED,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    Snapshot,
)
from warpline.model import AttributeSpec, Flag, ImportFormatError, KindSpec
from warpline.model.kinds import BUILTIN_KINDS_BY_NAME
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.model.track_factory import TrackSpec
from warpline.model.tracks import Packing

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_STACK = AttributeSpec("stack", "stack", "Stack")
_ALLOCATION = KindSpec(
    "allocation",
    english("Allocation"),
    "memory",
    "memory",
    (AttributeSpec("address", "uint64", "Address"), AttributeSpec("bytes", "int64", "Size", "bytes"), _STACK),
)
_NO_LAST = (1 << 62) // 1000


class SnapshotImporter:
    """Allocations and segments from their beginning to their end, with stacks, and the memory in use over time."""

    name = "torch-memory"
    title = english("PyTorch memory snapshot")
    patterns = ("*.pickle", "*.pkl")
    position = 45

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        is_pickle = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
        return CERTAIN if is_pickle and b"segments" in head[:64] else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        sink = EventSink(builder, options)
        snapshot = Snapshot(StackChains(builder))
        size = max(1, path.stat().st_size)
        with path.open("rb") as raw:

            def tick() -> None:
                check_cancelled(cancelled)
                progress(raw.tell() / size, path.name)

            try:
                content = PlainPickle(unpacked(raw, path), snapshot.replace, tick).load()
            except (PickleError, *UNPACKING_ERRORS) as error:
                raise ImportFormatError(
                    tr("{path}: cannot be read: {reason}", path=path, reason=error)
                ) from error
        builder.add_kind(_ALLOCATION)
        known = BUILTIN_KINDS_BY_NAME["memory"]
        builder.add_kind(KindSpec(known.name, known.title, known.category, known.color, (_STACK,)))
        content = content if isinstance(content, dict) else {}
        traces = content.get("device_traces")
        lengths = [len(part) for part in traces if isinstance(part, list)] if isinstance(traces, list) else []
        columns = snapshot.columns()
        has_times = bool((columns["time"] >= 0).all())
        if not has_times:
            builder.add_warning(english("entries have no times; they are drawn 1 µs apart, in order"))
            columns["time"] = np.arange(len(columns["time"]))
        first = 0
        for device, length in enumerate(lengths):
            part = {name: column[first : first + length] for name, column in columns.items()}
            first += length
            blocks = [block[1:] for block in snapshot.blocks if block[0] == device]
            if len(part["time"]) or blocks:
                _Device(sink, device, part).add(blocks)
        _add_annotations(sink, content.get("external_annotations"))
        return sink.summary(0 if has_times else None)


class _Device:
    """Adds what happened in the memory of one GPU."""

    def __init__(self, sink: EventSink, number: int, part: dict[str, Int64Array]) -> None:
        self._sink = sink
        self._number = number
        self._part = part
        self._gpu = sink.gpu(number)
        self._time = np.where(np.abs(part["time"]) < _NO_LAST, part["time"], 0) * 1000
        self._action = part["action"]

    def _track(self, path: str, title: str) -> int:
        uri = f"{self._sink.specs.gpu(self._number).uri}/memory/{path}"
        return self._sink.track(
            TrackSpec(uri=uri, title=title, role="memory", device=self._number, packing=Packing.PACK),
            self._gpu,
        )

    def add(self, blocks: list[tuple[int, int, int, int]]) -> None:
        """Add lifetimes, moments and totals."""
        self._add_lives(self._track("allocations", english("Allocations")), (ALLOC,), (FREE,), blocks)
        segments = ((SEGMENT_ALLOC, SEGMENT_MAP), (SEGMENT_FREE, SEGMENT_UNMAP))
        self._add_lives(self._track("segments", english("Segments")), *segments, [])
        self._add_moments(sum(size for _address, size, *_stack in blocks))
        self._sink.skip(
            english("requested releases"),
            int((self._action == REQUESTED).sum()),
            english("the memory was in use until the release was complete"),
        )

    def _add_lives(
        self,
        track: int,
        begins: tuple[int, ...],
        ends: tuple[int, ...],
        blocks: list[tuple[int, int, int, int]],
    ) -> None:
        part, time = self._part, self._time
        is_begin = np.isin(self._action, begins)
        chosen = np.flatnonzero(is_begin | np.isin(self._action, ends))
        low, high = (int(time.min()), int(time.max())) if len(time) else (0, 0)
        keys = np.unique(part["address"][chosen], return_inverse=True)[1].reshape(-1)
        order = np.arange(len(chosen))
        pairs = match_borders(keys, order, is_begin[chosen], np.zeros(len(chosen), np.int64))
        closed = pairs.end >= 0
        begun = chosen[pairs.begin]
        until = np.where(closed, time[chosen[np.maximum(pairs.end, 0)]] if len(chosen) else 0, high)
        # Releases without an allocation: it is older than the history.
        ended = np.setdiff1d(order[~is_begin[chosen]], pairs.end[closed])
        old = chosen[ended]
        seen = set(part["address"][begun[~closed]].tolist())
        alive = [block for block in blocks if block[0] not in seen]
        rest = np.array(alive, np.int64).reshape(-1, 4)
        names = np.r_[part["name"][begun], part["name"][old], rest[:, 3]]
        names = np.where(names == 0, self._sink.builder.string(english("no stack")), names)
        self._sink.add(
            track,
            "allocation",
            np.r_[time[begun], np.full(len(old) + len(rest), low)],
            np.maximum(
                np.r_[until, time[old], np.full(len(rest), high)],
                np.r_[time[begun], np.full(len(old) + len(rest), low)],
            ),
            names.astype(np.uint32),
            flags=np.r_[
                np.where(closed, 0, int(Flag.CUT_END)),
                np.full(len(old), int(Flag.CUT_START)),
                np.full(len(rest), int(Flag.CUT_START | Flag.CUT_END)),
            ].astype(np.uint8),
            attributes={
                "address": np.r_[part["address"][begun], part["address"][old], rest[:, 0]].astype(np.uint64),
                "bytes": np.r_[part["size"][begun], part["size"][old], rest[:, 1]],
                "stack": stack_column(np.r_[part["stack"][begun], np.full(len(old), -1), rest[:, 2]]),
            },
        )

    def _add_moments(self, in_use_bytes: int) -> None:
        """Allocations and releases one by one, and the totals; those end with what the snapshot says is in use."""
        part, builder = self._part, self._sink.builder
        for begins, ends, title in (
            ((ALLOC,), (FREE,), english("Allocated memory")),
            ((SEGMENT_ALLOC, SEGMENT_MAP), (SEGMENT_FREE, SEGMENT_UNMAP), english("Reserved memory")),
        ):
            index = np.flatnonzero(np.isin(self._action, begins + ends))
            if not len(index):
                continue
            is_end = np.isin(self._action[index], ends)
            totals = np.cumsum(np.where(is_end, -part["size"][index], part["size"][index]))
            is_allocated = begins == (ALLOC,)
            start = in_use_bytes - int(totals[-1]) if is_allocated and in_use_bytes else 0
            totals += max(start, -int(totals.min()), 0)
            spec = self._sink.specs.gpu_counter(self._number, title, title)
            track = self._sink.track(spec, self._gpu)
            self._sink.add_counter(track, title, "bytes", self._time[index], totals.astype(np.float64))
            if is_allocated:
                names = np.where(is_end, builder.string("release"), builder.string("allocation"))
                attributes: dict[str, Any] = {
                    "operation": is_end.astype(np.uint8),
                    "address": part["address"][index].astype(np.uint64),
                    "bytes": part["size"][index],
                    "total_allocated_bytes": totals,
                    "stack": stack_column(part["stack"][index]),
                    "device": np.full(len(index), builder.string(f"GPU {self._number}"), np.uint32),
                }
                moments = self._track("events", english("Memory events"))
                self._sink.add(
                    moments, "memory", self._time[index], None, names.astype(np.uint32), attributes=attributes
                )
        lacking = np.flatnonzero(self._action == OUT_OF_MEMORY)
        if len(lacking):
            name = builder.string(english("out of memory"))
            self._sink.add(
                self._track("oom", english("Out of memory")), "diagnostic", self._time[lacking], None, name
            )


def _add_annotations(sink: EventSink, values: Any) -> None:
    """Ranges that the program marked (``record_function`` with ``_record_memory_history``)."""
    rows = []
    for value in values if isinstance(values, list) else []:
        time = value.get("time_us") if isinstance(value, dict) else None
        if isinstance(time, int) and abs(time) < _NO_LAST:
            name = sink.builder.string(clean_text(str(value.get("name", ""))))
            rows.append((time * 1000, int(value.get("stage") == "START"), name))
    if not rows:
        return
    moments, begins, names = np.array(rows, np.int64).T
    pairs = match_borders(np.zeros(len(moments), np.int64), moments, begins == 1, names)
    closed = pairs.end >= 0
    start = moments[pairs.begin]
    stop = np.where(closed, moments[np.maximum(pairs.end, 0)], int(moments.max()))
    process = sink.process("PyTorch")
    track = sink.track(sink.specs.process_ranges(process.uri, ""), row=process)
    flags = np.where(closed, 0, int(Flag.CUT_END)).astype(np.uint8)
    sink.add(
        track, "range", start, np.maximum(start, stop), names[pairs.begin].astype(np.uint32), flags=flags
    )


importer = SnapshotImporter()
