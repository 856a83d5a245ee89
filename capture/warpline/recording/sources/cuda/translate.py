"""Turns CUPTI records of the agent into kernels, copies and sets on streams, CUDA calls, and links between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, joined
from warpline.model import Flag
from warpline.model.cuda_names import copy_name
from warpline.model.kinds import SYNC_TYPES
from warpline.model.links import LAUNCH
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.sources.cuda import records
from warpline.recording.sources.cuda.calls import CallTracks
from warpline.recording.sources.cuda.gpu_clock import GpuClock, are_valid, gpu_clock
from warpline.recording.sources.cuda.gpu_tracks import GpuTracks, number_devices
from warpline.recording.sources.cuda.losses import Losses
from warpline.recording.sources.cuda.occupancy import occupancy
from warpline.recording.sources.cuda.projected_ranges import Calls, StreamWork, project_ranges
from warpline.recording.sources.cuda.takeovers import takeovers_reason
from warpline.recording.sources.host_ranges import HostRangeReader
from warpline.recording.spool.columns import join
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.record_layout import RecordLayout
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import capture_strings, distinct, take_records
from warpline.recording.symbols.demangle import demangle
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Structured = npt.NDArray[np.void]
Attributes = dict[str, npt.ArrayLike]
Describe = Callable[[Structured, int], tuple[npt.ArrayLike, Attributes]]
"""Returns names and attributes of records of one device."""

_UNKNOWN_MEMORY = 7
_ALLOCATION = 1


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add what CUPTI recorded in every process."""
    agents = [spool for spool in spools if spool.header.producer == "agent"]
    numbers = number_devices(agents, translation.device_numbers())
    losses = Losses()
    for spool in agents:
        losses.add(spool)
        _Process(translation, spool, builder, numbers).translate()
    reasons = (losses.reason(), takeovers_reason(translation, agents))
    add_agent_source(
        translation,
        spools,
        builder,
        name="cuda",
        never_used=english("no recorded process used CUDA"),
        lost=losses.total,
        why_lost=joined("; ", filter(None, reasons)),
    )
    for reason in filter(None, reasons):
        builder.add_warning(reason)


class _Process:
    """One process's spool file."""

    def __init__(
        self, translation: Translation, spool: SpoolFile, builder: CaptureBuilder, numbers: dict[str, int]
    ) -> None:
        self._translation = translation
        self._spool = spool
        self._builder = builder
        self._numbers = numbers
        self._names: dict[int, tuple[int, int]] = {}
        self._streams: dict[tuple[int, int, int], int] = {}

    def translate(self) -> None:
        sessions = self._spool.records(records.CUPTI_SESSION, records.cupti_session).values
        if not len(sessions):
            return
        session = sessions[-1]
        since_ns = self._translation.start_ns if self._translation.session.is_cut else 0
        self._clock: GpuClock = gpu_clock(self._spool, int(session["clock"]) == 0, since_ns)
        self._tracks = GpuTracks(
            translation=self._translation, builder=self._builder, spool=self._spool, numbers=self._numbers
        )
        self._scope = self._translation.process_index(self._tracks.process)
        # Keeping all GPU work in memory is only necessary to project ranges.
        self._readers = [
            reader for reader in self._translation.given(HostRangeReader) if reader.has_ranges(self._spool)
        ]
        if session["per_graph"]:
            self._builder.add_warning(
                english(
                    "CUDA graphs were recorded one event per launch: the kernels inside are not in the file. "
                    "To record them: warpline record --cuda-graphs node"
                )
            )
        work = [
            self._stream_work(records.CUPTI_KERNEL, records.cupti_kernel, "kernel", self._kernels),
            self._stream_work(records.CUPTI_MEMCPY, records.cupti_memcpy, "memcpy", self._copies),
            self._stream_work(records.CUPTI_MEMSET, records.cupti_memset, "memset", self._sets),
            self._stream_work(records.CUPTI_GRAPH, records.cupti_graph, "graph", self._graphs),
        ]
        self._synchronisations()
        self._memory()
        calls = CallTracks(self._translation, self._builder, self._spool, self._clock, self._scope)
        made = calls.add_calls()
        calls.add_overhead()
        self._annotations(made, work)

    def _stream_work(
        self,
        record_type: int,
        layout: RecordLayout,
        kind: str,
        describe: Describe,
    ) -> StreamWork:
        done: list[StreamWork] = []
        for piece in self._spool.pieces(record_type, layout):
            values = piece.values
            times = self._clock.intervals(values)
            self._builder.add_skipped(
                english("{kind} events", kind=kind),
                times.unknown,
                english("their times are invalid"),
            )
            values, start, stop = times.of(values)
            device_of, context, stream = (
                values[name].astype(np.int64) for name in ("device", "context", "stream")
            )
            if self._readers:
                correlation = values["correlation"].astype(np.int64)
                done.append(
                    StreamWork(
                        correlation=correlation,
                        device=device_of,
                        context=context,
                        stream=stream,
                        start_ns=start,
                        stop_ns=stop,
                    )
                )
            by_device: dict[int, list[tuple[tuple[int, ...], Int64Array]]] = {}
            for place, rows in _groups(device_of, context, stream):
                by_device.setdefault(place[0], []).append((place, rows))
            for device, groups in by_device.items():
                self._add_work(
                    kind, values, start, stop=stop, device=device, groups=groups, describe=describe
                )
        return join(StreamWork, done)

    def _add_work(
        self,
        kind: str,
        values: Structured,
        start: Int64Array,
        *,
        stop: Int64Array,
        device: int,
        groups: list[tuple[tuple[int, ...], Int64Array]],
        describe: Describe,
    ) -> None:
        """Add records of one device; ``groups`` are the row numbers of each of its streams."""
        tracks = [self._stream_track(*place) for place, _rows in groups]
        counts = [len(rows) for _place, rows in groups]
        rows: Int64Array | slice = slice(None)
        if counts[0] < len(values):
            rows = np.concatenate([rows for _place, rows in groups])
        part = values if isinstance(rows, slice) else take_records(values, rows)
        name, attributes = describe(part, device)
        attributes["correlation"] = part["correlation"].astype(np.int64)
        priorities = [self._tracks.priority(context, stream) for (_, context, stream), _rows in groups]
        if kind == "kernel" and any(priority is not None for priority in priorities):
            attributes["priority"] = np.ma.MaskedArray(
                np.repeat([priority or 0 for priority in priorities], counts),
                np.repeat([priority is None for priority in priorities], counts),
            )
        first = self._builder.add_events(
            np.repeat(tracks, counts),
            kind,
            self._translation.capture_time(start[rows]),
            stop[rows] - start[rows],
            name,
            attributes=attributes,
        )
        self._launched(part["correlation"], first)

    def _stream_track(self, device: int, context: int, stream: int) -> int:
        track = self._streams.get((device, context, stream))
        if track is None:
            self._tracks.know_context(context, device)
            track = self._tracks.stream_track(device, context, stream)
            self._streams[device, context, stream] = track
        return track

    def _launched(self, correlation: npt.NDArray[np.uint32], first: int) -> None:
        """Add the launched end of links. Correlation ids are unique only within a process, the links' scope."""
        known = np.flatnonzero(correlation)
        if len(known) < len(correlation):
            correlation = correlation[known]
        self._builder.add_link_keys(LAUNCH, self._scope, "to", correlation, first + known)

    def _kernels(self, part: Structured, device: int) -> tuple[npt.ArrayLike, Attributes]:
        full, mangled = self._kernel_names(part["name"])
        threads = part["block_x"].astype(np.int64) * part["block_y"] * part["block_z"]
        attributes: Attributes = {
            **{f"grid_{axis}": part[f"grid_{axis}"] for axis in "xyz"},
            **{f"block_{axis}": part[f"block_{axis}"] for axis in "xyz"},
            "registers_per_thread": part["registers"].astype(np.uint32),
            "static_shared_memory_bytes": part["static_shared_bytes"],
            "dynamic_shared_memory_bytes": part["dynamic_shared_bytes"],
            "local_memory_per_thread_bytes": part["local_per_thread_bytes"],
            "demangled_name": full,
            "mangled_name": mangled,
            **self._graph_attributes(part),
        }
        gpu = self._tracks.devices.get(device)
        if gpu is not None and gpu.multiprocessors:
            shared = part["static_shared_bytes"].astype(np.int64) + part["dynamic_shared_bytes"]
            attributes["occupancy_ratio"] = occupancy(gpu.limits, threads, part["registers"], shared)
            blocks = part["grid_x"].astype(np.float64) * part["grid_y"] * part["grid_z"] / gpu.multiprocessors
            attributes["blocks_per_sm"] = blocks
            attributes["warps_per_sm"] = blocks * threads / max(gpu.limits.threads_per_warp, 1)
        for name in ("queued", "submitted"):
            raw = part[f"{name}_ns"]
            if raw.any():
                wait = self._clock.monotonic(part["start_ns"]) - self._clock.monotonic(raw)
                attributes[f"{name}_ns"] = np.ma.MaskedArray(wait, raw == 0)
        return full, attributes

    def _kernel_names(
        self, names: npt.NDArray[np.uint32]
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """String ids of the kernels' demangled and mangled names."""
        distinct_names, inverse = distinct(names)
        for name in distinct_names.tolist():
            if name not in self._names:
                mangled = self._spool.text(name)
                full = self._builder.string(demangle(mangled))
                self._names[name] = (full, self._builder.string(mangled))
        ids = np.array([self._names[name] for name in distinct_names.tolist()], np.uint32).reshape(-1, 2)
        return ids[:, 0].take(inverse), ids[:, 1].take(inverse)

    def _copies(self, part: Structured, _device: int) -> tuple[npt.ArrayLike, Attributes]:
        kinds, inverse = distinct(part["copy_kind"])
        return self._builder.strings(map(copy_name, kinds.tolist()))[inverse], {
            "bytes": part["bytes"],
            "copy_kind": part["copy_kind"],
            "src_kind": _memory_kind(part["source_kind"]),
            "dst_kind": _memory_kind(part["destination_kind"]),
            **self._graph_attributes(part),
        }

    def _sets(self, part: Structured, _device: int) -> tuple[npt.ArrayLike, Attributes]:
        return self._builder.string("Memset"), {
            "bytes": part["bytes"],
            "value": part["value"],
            "memory_kind": _memory_kind(part["memory_kind"]),
            **self._graph_attributes(part),
        }

    def _graphs(self, part: Structured, _device: int) -> tuple[npt.ArrayLike, Attributes]:
        graphs, inverse = distinct(part["graph"])
        names = self._builder.strings(f"CUDA graph {graph}" for graph in graphs.tolist())
        return names[inverse], {"graph_id": part["graph"].astype(np.uint64)}

    def _graph_attributes(self, part: Structured) -> Mapping[str, npt.ArrayLike]:
        if not part["graph_node"].any():
            return {}
        outside = part["graph_node"] == 0
        return {
            "graph_id": np.ma.MaskedArray(part["graph"].astype(np.uint64), outside),
            "graph_node_id": np.ma.MaskedArray(part["graph_node"], outside),
        }

    def _synchronisations(self) -> None:
        values = self._spool.records(records.CUPTI_SYNC, records.cupti_sync).values
        times = self._clock.intervals(values)
        values, start, stop = times.of(values)
        names = self._builder.strings(SYNC_TYPES[code].capitalize() for code in range(len(SYNC_TYPES)))
        unknown = times.unknown
        for (context,), rows in _groups(values["context"].astype(np.int64)):
            device = self._tracks.device_of(context)
            if device is None:
                unknown += len(rows)
                continue
            part = values[rows]
            code = np.where(part["type"] < len(SYNC_TYPES), part["type"], 0)
            first = self._builder.add_events(
                self._tracks.sync_track(device, context),
                "sync",
                self._translation.capture_time(start[rows]),
                stop[rows] - start[rows],
                names[code],
                attributes={
                    "sync_type": code.astype(np.uint8),
                    "stream": np.ma.masked_equal(part["stream"].astype(np.int64), records.NOBODY),
                    "event_id": np.ma.MaskedArray(
                        part["event"].astype(np.uint64), part["event"] == records.NOBODY
                    ),
                    "correlation": part["correlation"].astype(np.int64),
                },
            )
            self._launched(part["correlation"], first)
        self._builder.add_skipped(
            english("synchronisations"), unknown, english("their CUDA context or time is unknown")
        )

    def _memory(self) -> None:
        values = self._spool.records(records.CUPTI_MEMORY, records.cupti_memory).values
        values = values[are_valid(*2 * (self._clock.monotonic(values["time_ns"]),))]
        for (device, context), rows in _groups(
            values["device"].astype(np.int64), values["context"].astype(np.int64)
        ):
            time = self._translation.capture_time(self._clock.monotonic(values["time_ns"][rows]))
            rows, time = rows[np.argsort(time, kind="stable")], np.sort(time, kind="stable")
            part = values[rows]
            is_allocation = part["operation"] == _ALLOCATION
            size = part["bytes"].astype(np.int64)
            track = self._tracks.memory_track(device, context)
            total = np.cumsum(np.where(is_allocation, size, -size))
            # Memory allocated before the ring still counts.
            first = int(np.searchsorted(time, 0)) if self._clock.since_ns else 0
            part, time, is_allocation = part[first:], time[first:], is_allocation[first:]
            size, total = size[first:], total[first:]
            names = self._builder.strings(("Release", "Allocation"))
            self._builder.add_events(
                track,
                "memory",
                time,
                0,
                names[is_allocation.astype(np.int64)],
                flags=Flag.INSTANT,
                attributes={
                    "operation": np.where(is_allocation, 0, 1).astype(np.uint8),
                    "address": part["address"],
                    "bytes": size,
                    "total_allocated_bytes": total,
                    "memory_kind": _memory_kind(part["memory_kind"]),
                },
            )
            self._builder.add_counter(track, english("Allocated"), "bytes", time, total.astype(np.float64))

    def _annotations(self, calls: Calls, work: Sequence[StreamWork]) -> None:
        """Add the host's ranges, projected onto the streams."""
        if not self._readers or not len(calls.correlation):
            return
        all_work = join(StreamWork, work)
        for reader in self._readers:
            ranges, range_names = reader.read(self._spool)
            projected = project_ranges(ranges, calls, all_work)
            names = capture_strings(self._spool, self._builder, range_names)
            streams = _groups(projected.device, projected.context, projected.stream)
            for (device, context, stream), rows in streams:
                self._builder.add_events(
                    self._tracks.annotations_track(device, context, stream),
                    "gpu_annotation",
                    self._translation.capture_time(projected.start_ns[rows]),
                    projected.stop_ns[rows] - projected.start_ns[rows],
                    names[projected.row[rows]],
                )


def _memory_kind(cupti_kind: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    """CUPTI counts memory kinds from 1 (pageable), 0 is unknown; the model counts from 0, 7 is unknown."""
    return np.where(
        (cupti_kind > 0) & (cupti_kind <= _UNKNOWN_MEMORY), cupti_kind - 1, _UNKNOWN_MEMORY
    ).astype(np.uint8)


def _groups(*columns: Int64Array) -> list[tuple[tuple[int, ...], Int64Array]]:
    """The distinct rows of columns of non-negative numbers, and the indexes of each (ascending)."""
    if not len(columns[0]):
        return []
    if all((column == column[0]).all() for column in columns):
        return [(tuple(int(column[0]) for column in columns), np.arange(len(columns[0])))]
    code = np.zeros(len(columns[0]), np.int64)
    sizes = [int(column.max()) + 1 for column in columns]
    if math.prod(sizes) < 1 << 16:
        for column, size in zip(columns, sizes, strict=True):
            code = code * size + column
    else:
        for column in columns:
            values, inverse = distinct(column)
            code = code * len(values) + inverse
    counts = np.bincount(code) if int(code.max()) < 1 << 16 else None
    # With few groups, 16-bit codes are sorted by counting.
    order = np.argsort(code if counts is None else code.astype(np.uint16), kind="stable")
    if counts is None:
        ordered = code[order]
        parts = np.split(order, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)
    else:
        parts = np.split(order, np.cumsum(counts[counts > 0])[:-1])
    return [(tuple(int(column[rows[0]]) for column in columns), rows) for rows in parts]
